"""What the cells of a table row say about the conditions of its run: texts, counts as claims, accuracy reached."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from caveat.errors import Problem
from caveat.facts import Benchmark, accelerator_family, benchmark_named, claimed_counts
from caveat.figures import TABLE, Claim, Value
from caveat.importers.mlperf.place import Place
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.stated_text import stated_count
from caveat.importers.mlperf.summary_values import number
from caveat.importers.mlperf.techniques import multi_node_means, stated_techniques

_TEXTS = (
    "submitter",
    "system",
    "platform",
    "accelerator_stated",
    "engine",
    "operating_system",
    "host_processor",
    "result_id",
)
_WORDS = ("availability", "division", "system_type", "weight_precision")
_COUNTS = ("nodes", "accelerators_per_node", "host_processors_per_node")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_ALLOWED = {row.key: row.allowed for row in TABLE if row.allowed}

_OF_ACCELERATORS = (
    "accelerator",
    "accelerator_stated",
    "accelerators",
    "accelerators_per_node",
    "accelerator_memory",
    "accelerator_interconnect",
)

# Names in the accuracy column that are not the checker's own keys.
_SCORE_ALIASES = {"gsm8k_accuracy": "gsm8k", "mbxp_accuracy": "mbxp", "e2e_accuracy": "accuracy"}
_SCORE = re.compile(r"([A-Za-z0-9_]{1,40})\s*:\s*([-+0-9.eE]{1,40})(?![\w.])")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of one row: values by key, keys that do not apply, and the claims behind counts."""

    values: dict[str, Value | None]
    not_applicable: tuple[str, ...] = ()
    claims: dict[str, tuple[Claim, ...]] = {}
    problems: tuple[Problem, ...] = ()


def conditions_said(cells: Mapping[str, str], place: Place, benchmark: Benchmark, path: str, line: int | None) -> Said:
    """Everything that the cells disclose. A cell that cannot be read leaves its condition undisclosed."""
    values: dict[str, Value | None] = {key: cells.get(key) for key in _TEXTS}
    values.update({key: stated_count(cells.get(key)) for key in _COUNTS})
    words = {key: cells[key].lower() for key in _WORDS if key in cells}
    values.update({key: word for key, word in words.items() if _fits(key, word)})
    scores, tokens = accuracy_reached(cells.get("accuracy", ""), benchmark)
    values |= {
        "accelerator": accelerator_family(cells.get("accelerator_stated", "")),
        "accuracy": dict(scores),
        "accuracy_tokens_per_sample": tokens,
        "location": place.location,
        "model_submitted": _other_model(place.model, benchmark),
        "power_run": _FLAGS.get(cells.get("power_run", "").lower()),
        "power_w": _watts(cells),
        "review": "reviewed",
        **_techniques(cells, stated_count(cells.get("nodes"))),
    }
    claims = _accelerator_claims(cells)
    values["accelerators"] = claims[0].value if claims else None
    absent = _OF_ACCELERATORS if _without_accelerators(cells) else ()
    return Said(
        values={**values, **dict.fromkeys(absent)},
        not_applicable=absent,
        claims={"accelerators": claims} if claims and not absent else {},
        problems=tuple(_unknown(key, word, path, line) for key, word in words.items() if not _fits(key, word)),
    )


def accuracy_reached(text: str, benchmark: Benchmark) -> tuple[dict[str, float], float | None]:
    """(score by the checker's key, mean output tokens a sample) from `ROUGE1: 44.45  TOKENS_PER_SAMPLE: 301.1`.

    A number without a name, as the Endpoints harness gives it, belongs to the only key of its benchmark.
    """
    keys = {key.lower(): key for key in benchmark.accuracy_targets}
    bare = number(text)
    if bare is not None:
        return ({next(iter(keys.values())): bare} if len(keys) == 1 else {}), None
    scores: dict[str, float] = {}
    tokens: float | None = None
    for name, digits in _SCORE.findall(text):
        word, value = name.lower(), number(digits)
        key = keys.get(_SCORE_ALIASES.get(word, word))
        if value is not None and word == "tokens_per_sample" and value > 0:
            tokens = value
        elif value is not None and key is not None:
            scores.setdefault(key, value)
    return scores, tokens


def _techniques(cells: Mapping[str, str], nodes: int | None) -> dict[str, Value | None]:
    """What the software column and the data types say was used; see `techniques`."""
    texts = [cells[key] for key in ("engine", "weight_precision") if key in cells]
    means = multi_node_means(texts) if nodes is not None and nodes > 1 else None
    return {**stated_techniques(texts), "multi_node": means}


def _fits(key: str, word: str) -> bool:
    return key not in _ALLOWED or word in _ALLOWED[key]


def _unknown(key: str, word: str, path: str, line: int | None) -> Problem:
    expected = f"one of {', '.join(_ALLOWED[key])}"
    return problem("word-unknown", path, detail=key, line=line, found=word, expected=expected)


def _other_model(folder: str, benchmark: Benchmark) -> str | None:
    """The folder's name where it is no name of the benchmark: the open division files other models under it."""
    named = benchmark_named(folder)
    return None if named is not None and named.id == benchmark.id else folder


def _watts(cells: Mapping[str, str]) -> float | None:
    watts = number(cells.get("power_value", "")) if cells.get("power_unit", "").lower() == "watts" else None
    return watts if watts is not None and watts > 0 else None


def _without_accelerators(cells: Mapping[str, str]) -> bool:
    """Whether the row says that there are none, which is more than saying nothing."""
    said = [stated_count(cells[key]) for key in ("accelerators_per_node", "total_accelerators") if key in cells]
    return bool(said) and not any(said) and "accelerator_stated" not in cells


def _accelerator_claims(cells: Mapping[str, str]) -> tuple[Claim, ...]:
    """How many accelerators each cell claims that the whole system has; the product of the counts comes first."""
    nodes, each = stated_count(cells.get("nodes")), stated_count(cells.get("accelerators_per_node"))
    total = stated_count(cells.get("total_accelerators"))
    claims = []
    if nodes and each:
        claims.append(Claim(nodes * each, "nodes x accelerators per node"))
    if total:
        claims.append(Claim(total, "total accelerators"))
    for key, source in (
        ("accelerator_stated", "accelerator text"),
        ("platform", "platform name"),
        ("system", "system name"),
    ):
        claims += [Claim(claimed, source) for claimed in claimed_counts(cells.get(key, ""))]
    return tuple(claims)
