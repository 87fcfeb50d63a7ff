"""Which rounds of a model's benchmark MLCommons lists as compatible, as a dated table of ranges.

The table covers the language models of the datacenter suite. It ends at `LAST_ROUND`: a newer round is unknown,
neither compatible nor incompatible.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from caveat.facts.benchmarks import benchmark_named
from caveat.facts.sources import COMPATIBILITY

AS_OF = "2026-04-28"
LAST_ROUND = "v6.0"
SOURCE = COMPATIBILITY

_ROUND = re.compile(r"v[0-9]{1,3}\.[0-9]{1,3}")
_TABLE = f"MLCommons compatibility table of {AS_OF}"


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds `first` to `last`, both included, whose results of `model` are compatible with each other."""

    model: str
    first: str
    last: str
    note: str | None = None


class Compatibility(msgspec.Struct, frozen=True, kw_only=True):
    """Whether two rounds of a benchmark may be compared, and the sentence that says why."""

    answer: Literal["same", "yes", "no", "unknown"]
    reason: str


_SPAN_NOTE = "the span includes changes of the checker and of optional scenarios"

RANGES: tuple[Range, ...] = (
    Range(model="gptj", first="v3.1", last="v5.0"),
    Range(model="llama2-70b", first="v4.0", last="v6.0", note=_SPAN_NOTE),
    Range(model="mixtral-8x7b", first="v4.1", last="v6.0", note=_SPAN_NOTE),
    Range(model="llama3.1-405b", first="v5.0", last="v6.0"),
    Range(model="llama3.1-8b", first="v5.1", last="v6.0"),
    Range(model="deepseek-r1", first="v5.1", last="v6.0"),
    Range(
        model="gpt-oss-120b",
        first="v6.0",
        last="v6.0",
        note="the table says GPT-OSS-20B where results say gpt-oss-120b; read as the same row",
    ),
    Range(model="qwen3-vl-235b-a22b", first="v6.0", last="v6.0", note="the table's row is called Qwen3"),
)
"""One row per model of the table, in the order in which the models came."""


def compatible(model: str, round_a: str, round_b: str) -> Compatibility:
    """Whether results of `model` from two rounds are compatible. Takes a model, a benchmark id or an alias."""
    if round_a == round_b:
        return Compatibility(answer="same", reason=f"both are {round_a}")
    row = _range_of(model)
    if row is None:
        return _unknown(f"{model} is not in the {_TABLE}")
    for name in (round_a, round_b):
        if not _ROUND.fullmatch(name):
            return _unknown(f"{name!r} is not the name of a round")
        if _order(name) > _order(LAST_ROUND):
            return _unknown(f"{name} is newer than the {_TABLE}, which ends at {LAST_ROUND}")
    for name in (round_a, round_b):
        if not _order(row.first) <= _order(name) <= _order(row.last):
            span = row.first if row.first == row.last else f"{row.first} to {row.last}"
            reason = f"{name} is outside {span}, the compatible rounds of {row.model} in the {_TABLE}"
            return Compatibility(answer="no", reason=reason)
    note = f"; {row.note}" if row.note else ""
    return Compatibility(answer="yes", reason=f"compatible per MLCommons table of {AS_OF}{note}")


def _range_of(model: str) -> Range | None:
    benchmark = benchmark_named(model)
    name = benchmark.model if benchmark else model.strip().lower()
    return next((row for row in RANGES if row.model == name), None)


def _order(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name[1:].split("."))


def _unknown(reason: str) -> Compatibility:
    return Compatibility(answer="unknown", reason=reason)
