"""The paired-scenario analysis: what a second scenario keeps of the rate of the first, one system at a time.

The answer is the list of pairs and their distribution, whole and by group. It is a private analysis of pairs, not a
comparison of results, and every form of it carries the sentence that says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec

from caveat.compare.distribution import Distribution, distribution
from caveat.compare.pair import Pair
from caveat.compare.pairs import pairs_of
from caveat.errors import UsageError
from caveat.figures import TABLE, Figure, Run
from caveat.units import Unit

FORMAT = "caveat-discount/1"
ALIASES = {"precision": "weight_precision"}
DIFFERS = "differs between the sides"

_GROUP_KEYS = {row.key: row for row in TABLE if row.kind not in ("lengths", "numbers")}


class Discount(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of one system under two scenarios, with the distribution of their ratios.

    `groups` maps each value of the condition `by` (as text) to the distribution of its pairs; empty without `by`.
    `excluded` maps a reason to the number of candidates left out for it; `candidates` counts all.
    """

    pairs: tuple[Pair, ...]
    summary: Distribution
    excluded: dict[str, int]
    candidates: int
    from_scenario: str
    to_scenario: str
    by: str | None = None
    groups: dict[str, Distribution] = {}

    @property
    def basis(self) -> str:
        """What this is and what it is not; stands wherever the numbers stand."""
        return basis(self.from_scenario, self.to_scenario)


def basis(from_scenario: str, to_scenario: str) -> str:
    """The sentence that goes with every ratio of two scenarios."""
    return (
        f"A private analysis of pairs: each ratio is derived as one system's {to_scenario} figure divided by its own "
        f"{from_scenario} figure. It is not a comparison of results and not a claim to be cited, and no single "
        f"factor leads from {from_scenario} to {to_scenario}."
    )


def discount(
    runs: Iterable[Run], *, from_scenario: str = "offline", to_scenario: str = "server", by: str | None = None
) -> Discount:
    """Pair the runs (heads of the ledger, already filtered) and describe the ratios to/from.

    Raises UsageError for a scenario or a condition that does not exist.
    """
    key = group_key(by) if by is not None else None
    paired = pairs_of(runs, from_scenario=from_scenario, to_scenario=to_scenario)
    return Discount(
        pairs=paired.pairs,
        summary=distribution(pair.ratio for pair in paired.pairs),
        excluded=paired.excluded,
        candidates=paired.candidates,
        from_scenario=from_scenario,
        to_scenario=to_scenario,
        by=key,
        groups=_groups(paired.pairs, key) if key else {},
    )


def group_key(name: str) -> str:
    """The condition that a word given to `by` means. Raises UsageError with the nearest names."""
    key = ALIASES.get(name, name.replace("-", "_"))
    if key in _GROUP_KEYS:
        return key
    near = difflib.get_close_matches(key, [*_GROUP_KEYS, *ALIASES], n=3) or ["accelerator", "accelerators", "round"]
    raise UsageError(
        f"pairs cannot be grouped by {name!r}: no single-valued condition is called so", next=" or ".join(near)
    )


def group_value(pair: Pair, key: str) -> str:
    """Under which value of a condition a pair counts, as text; a word of its own where its sides disagree."""
    return DIFFERS if pair.differs(key) else _known_side(pair, key).conditions.text(key)


def _known_side(pair: Pair, key: str) -> Figure:
    return pair.right if pair.left.conditions.state(key) != "known" else pair.left


def _groups(pairs: Iterable[Pair], key: str) -> dict[str, Distribution]:
    ratios: dict[str, list[float]] = {}
    places: dict[str, tuple[float, str]] = {}
    for pair in pairs:
        value = group_value(pair, key)
        number = None if pair.differs(key) else _known_side(pair, key).conditions.number(key)
        ratios.setdefault(value, []).append(pair.ratio)
        # Numbers in their own order and before words.
        places.setdefault(value, (float("inf") if number is None else number, value))
    return {value: distribution(ratios[value]) for value in sorted(ratios, key=places.__getitem__)}


def as_json(found: Discount) -> dict[str, Any]:
    """The analysis as plain data, format `caveat-discount/1`. Ratios are to/from; null is unknown.

    In `pairs`, `model` is the benchmark with its track, `system` the platform's short name, `system_name` the name
    in full, `headroom` p99 / limit of the side `to`.
    """
    return {
        "format": FORMAT,
        "derived": True,
        "basis": found.basis,
        "scenarios": {"from": found.from_scenario, "to": found.to_scenario},
        "unit": Unit.TOKENS_PER_SECOND.value,
        "pairs": [_pair_json(pair) for pair in found.pairs],
        "summary": msgspec.to_builtins(found.summary),
        "by": found.by,
        "groups": [{"value": value, **msgspec.to_builtins(summary)} for value, summary in found.groups.items()],
        "candidates": found.candidates,
        "excluded": [{"reason": reason, "count": count} for reason, count in found.excluded.items()],
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    c = pair.conditions
    return {
        "submitter": c.get("submitter"),
        "system": c.get("platform") or c.get("system"),
        "system_name": c.get("system"),
        "model": c.get("benchmark"),
        "round": c.get("round"),
        "division": c.get("division"),
        "accelerator": c.get("accelerator"),
        "accelerators": c.get("accelerators"),
        "from": _side_json(pair.left),
        "to": _side_json(pair.right),
        "ratio": pair.ratio,
        "headroom": msgspec.to_builtins(pair.headroom),
        "tokens_per_sample": _lengths_json(pair),
        "twin_of": pair.twin_of,
        "flags": list(pair.flags),
    }


def _side_json(side: Figure) -> dict[str, Any]:
    return {"id": side.id, "value": side.row.value, "metric": side.metric.key}


def _lengths_json(pair: Pair) -> dict[str, Any] | None:
    found = pair.tokens_per_sample
    return {"from": found.left, "to": found.right, "counted_in": found.counted_in} if found else None
