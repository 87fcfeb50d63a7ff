"""Pairs: one system under two scenarios. Which runs belong together, which may not be paired, and why not.

The refusals stand in `REFUSALS`, read from top to bottom. Rows of the 99 and 99.9 accuracy tracks that are one run
filed twice (twins) count once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from caveat.compare.pair import Pair
from caveat.errors import UsageError
from caveat.facts import benchmark_named
from caveat.figures import SCENARIOS, Figure, Run, primary_figure
from caveat.units import Unit

__all__ = ["REFUSALS", "Pair", "Paired", "benchmark_base", "pairs_of"]

# These say that sources or schedules differ, not that the run broke a rule: flagged, not refused.
_CONTESTED = frozenset({"sources agree", "schedule"})
_SIX_DIGITS = 1e-5  # relative: a published value has six significant digits, the log of the same run more


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs, and what was not paired: `excluded` maps a reason to a count, most frequent first.

    Counted are candidates, not runs: a candidate is one system with one benchmark (both its runs together), or a
    run of which it is not known what it belongs to. So `len(pairs) + sum(excluded.values()) == candidates`.
    """

    pairs: tuple[Pair, ...]
    excluded: dict[str, int]
    candidates: int


def pairs_of(runs: Iterable[Run], *, from_scenario: str = "offline", to_scenario: str = "server") -> Paired:
    """Pair the runs of two scenarios of one system. The order of the runs does not matter.

    One system means: same round, division, submitter, platform and model folder. Raises UsageError where a
    scenario is no scenario, or both are the same.
    """
    all_runs = {run.id: run for run in runs}.values()
    _check_scenarios(all_runs, from_scenario, to_scenario)
    places: dict[tuple[str, ...], list[Run]] = {}
    excluded: Counter[str] = Counter()
    for run in all_runs:
        scenario, place = run.conditions.words("scenario"), _place(run)
        if scenario is None:
            excluded["scenario undisclosed"] += 1
        elif scenario in (from_scenario, to_scenario):
            if place is None:
                excluded["system or benchmark undisclosed"] += 1
            else:
                places.setdefault(place, []).append(run)
    couples = [_couple(found, from_scenario, to_scenario) for found in places.values()]
    excluded.update(couple for couple in couples if isinstance(couple, str))
    kept, twins = _counted_once([couple for couple in couples if isinstance(couple, Pair)])
    excluded.update(twins)
    return Paired(
        pairs=tuple(sorted(kept, key=lambda pair: pair.order)),
        excluded=dict(sorted(excluded.items(), key=lambda item: (-item[1], item[0]))),
        candidates=len(kept) + excluded.total(),
    )


def _check_scenarios(runs: Iterable[Run], from_scenario: str, to_scenario: str) -> None:
    if from_scenario == to_scenario:
        raise UsageError(
            f"both sides of a pair are {from_scenario!r}, expected two scenarios",
            next="name another scenario to pair with",
        )
    present = {run.conditions.words("scenario") for run in runs}
    for name in (from_scenario, to_scenario):
        if name not in SCENARIOS and name not in present:
            raise UsageError(f"no scenario is called {name!r}", next=f"one of {', '.join(SCENARIOS)}")


def _place(run: Run) -> tuple[str, ...] | None:
    """What both sides of a pair share; None where it is not known what the run belongs to.

    A published subject is a path that names everything, its last folder but one the scenario. v5.0 filed tight
    limits as a model of its own, so that word does not count. A run of one's own is known by its conditions.
    """
    *head, scenario, last = ("", *run.subject.split("/"))
    if scenario in SCENARIOS:
        return (*(part.replace("-interactive", "") for part in head), last)
    c = run.conditions
    system = c.words("platform") or c.words("system")
    work = c.words("benchmark") or c.words("dataset")
    if system is None or work is None:
        return None
    return ("", *(c.words(key) or "" for key in ("round", "division", "submitter", "model")), system, work)


def _couple(runs: Sequence[Run], from_scenario: str, to_scenario: str) -> Pair | str:
    """The pair that the runs of one place make, or the reason why they make none."""
    sides = [[run for run in runs if run.conditions.words("scenario") == name] for name in (from_scenario, to_scenario)]
    for name, side in zip((from_scenario, to_scenario), sides, strict=True):
        if not side:
            return f"no {name} run"
        if len(side) > 1:
            return "several runs of one scenario"
    left, right = (primary_figure(side[0]) for side in sides)
    if left is None or right is None:
        return "value not recorded"
    reasons = (refusal(left, right) for refusal in REFUSALS)
    return next((reason for reason in reasons if reason), Pair(left=left, right=right))


def _another_unit(left: Figure, right: Figure) -> str | None:
    return None if left.metric.unit == right.metric.unit else "partner in another unit"


def _not_tokens(left: Figure, right: Figure) -> str | None:
    return None if left.metric.unit is Unit.TOKENS_PER_SECOND else "not a rate of tokens"


def _tokens_assumed(left: Figure, right: Figure) -> str | None:
    assumed = any(side.metric.token_source.startswith("assumed") for side in (left, right))
    return "tokens assumed, not counted" if assumed else None


def _tokens_by_others(left: Figure, right: Figure) -> str | None:
    return None if left.metric.token_source == right.metric.token_source else "tokens counted by different parties"


def _no_quantity(left: Figure, right: Figure) -> str | None:
    return None if min(left.row.value, right.row.value) > 0 else "value not recorded"


def _not_valid(left: Figure, right: Figure) -> str | None:
    failed = [check.aspect for side in (left, right) for check in side.validity if check.outcome == "fail"]
    broken = sorted(set(failed) - _CONTESTED)
    return f"not valid: {', '.join(broken)}" if broken else None


def _power_on_one_side(left: Figure, right: Figure) -> str | None:
    power = {side.conditions.get("power_run") is True for side in (left, right)}
    return "power run with performance run" if len(power) > 1 else None


REFUSALS: tuple[Callable[[Figure, Figure], str | None], ...] = (
    _another_unit,
    _not_tokens,
    _tokens_assumed,
    _tokens_by_others,
    _no_quantity,
    _not_valid,
    _power_on_one_side,
)


def benchmark_base(benchmark: str) -> str:
    """The benchmark without its accuracy track: `llama2-70b` of `llama2-70b-99.9`. Unknown names stay."""
    known = benchmark_named(benchmark)
    return known.model if known else benchmark


def _counted_once(pairs: Sequence[Pair]) -> tuple[list[Pair], Counter[str]]:
    """The pairs with twins taken out, the stricter track kept; and the reasons for those taken out."""
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        c = pair.conditions
        place = (c.words(key) or "" for key in ("round", "division", "submitter", "platform", "system"))
        groups.setdefault((*place, benchmark_base(c.words("benchmark") or "")), []).append(pair)
    kept: list[Pair] = []
    twins: Counter[str] = Counter()
    for group in groups.values():
        singles, found = _singles(group)
        kept.extend(singles)
        twins.update(found)
    return kept, twins


def _singles(group: Iterable[Pair]) -> tuple[list[Pair], list[str]]:
    """One group's pairs without twins. The strictest track comes first: '99.9' sorts after '99'."""
    strictest_first = sorted(group, key=lambda pair: (_track(pair), pair.order), reverse=True)
    singles: list[Pair] = []
    reasons: list[str] = []
    for pair in strictest_first:
        for at, stricter in enumerate(singles):
            by = _twin_by(stricter, pair)
            if by:
                name = pair.conditions.words("benchmark")
                singles[at] = msgspec.structs.replace(stricter, twin_of=name, twin_by=by)
                reasons.append(f"twin of {stricter.conditions.words('benchmark')}")
                break
        else:
            singles.append(pair)
    return singles, reasons


def _track(pair: Pair) -> str:
    return pair.conditions.words("accuracy_track") or ""


def _twin_by(one: Pair, other: Pair) -> Literal["log", "values"] | None:
    """How two pairs of one platform and model are known to be the same runs; None where they are not.

    Logs decide where they are known. Elsewhere it is taken for one run if both values agree in all published digits.
    """
    by_log = True
    for mine, theirs in ((one.left, other.left), (one.right, other.right)):
        prints = mine.conditions.words("fingerprint"), theirs.conditions.words("fingerprint")
        known = None not in prints
        same = prints[0] == prints[1] if known else _same_value(mine, theirs)
        if not same:
            return None
        by_log = by_log and known
    return "log" if by_log else "values"


def _same_value(one: Figure, other: Figure) -> bool:
    return math.isclose(one.row.value, other.row.value, rel_tol=_SIX_DIGITS)
