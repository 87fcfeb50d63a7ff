"""Grades: what a model is made from, what may be claimed for it, and how its intervals fared on what it had not seen.

Shares are read from `coverage.json`, which the validation benchmarks write; none is typed in here. An entry is of a
quantity (TTFT, TPOT, whole requests) and of its middle or its tail, by its name; a table says which metrics those are.
Where fewer than the nominal share of held-out values fell inside, the intervals of that grade and quantity are moved
out on both sides by the factor that would have caught it (the smallest order statistic of the misses; conformalised
quantile regression, Romano, Patterson, Candès 2019, on logarithms). All of it was measured on other systems than that
of a model that is asked now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from caveat.errors import InputError
from caveat.simulator.capacity import Interval

Grade = Literal["A", "B", "C"]
Quantity = Literal["ttft", "tpot", "e2e"]
Part = Literal["middle", "tail"]
NOMINAL = 0.8
FORMAT = "caveat-coverage/1"
FILE = "coverage.json"

BASIS: dict[Grade, str] = {
    "A": "the endpoint's own samples",
    "B": "published figures of the system, on a roofline of its facts",
    "C": "data sheets alone: a roofline of facts times multipliers that are believed of engines in general",
}
CLAIMS: dict[Grade, str] = {
    "A": "token times, first-token times and whole requests near the conditions that were measured",
    "B": "token times at the published lengths and other loads; first-token times only as a multiple of a step",
    "C": "token times to about a factor, to rule out what cannot be; first-token times are told without any claim",
}

METRICS_OF: dict[Quantity, tuple[str, ...]] = {
    "ttft": ("caveat-ttft", "loadgen-ttft"),
    "tpot": ("caveat-tpot", "loadgen-tpot"),
    "e2e": (
        "caveat-latency",
        "caveat-normalized-latency",
        "loadgen-latency",
        "loadgen-query-latency",
        "loadgen-multi-stream-latency",
    ),
}
"""Which metrics a quantity stands for, by how their keys begin."""
STATISTICS_OF: dict[Part, tuple[str, ...]] = {"middle": ("mean", "p50"), "tail": ("p90", "p95", "p97", "p99")}
"""Of other statistics (extremes, low percentiles) nothing was held out."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How intervals of one grade for one figure fared on held-out values.

    `figure` begins with the quantity, and names a percentile where it is of one: "ttft", "ttft p99, open loop".
    `coverage` is the share of `tested` values inside the `nominal` interval as made, `widened_by` the factor by
    which both ends move out so that the nominal share is inside (1 where it was), `median_error` the median of
    |predicted / seen - 1|. `systems` are machines with their engine, `conditions` under how many each was tried (0: not
    counted apart). `source` names the benchmark and what was held out.
    """

    grade: Grade
    figure: str
    nominal: float
    coverage: float
    tested: int
    systems: int
    widened_by: float
    median_error: float
    source: str
    conditions: int = 0

    @property
    def quantity(self) -> str:
        """The first word of its name."""
        return self.figure.replace(",", " ").split()[0]

    @property
    def of_a_metric(self) -> bool:
        """Whether it is of times that a prediction tells."""
        return self.quantity in METRICS_OF

    @property
    def part(self) -> Part:
        """The tail where its name has a percentile of it."""
        words = self.figure.replace(",", " ").split()
        return "tail" if set(words) & set(STATISTICS_OF["tail"]) else "middle"

    @property
    def words(self) -> str:
        """For people, beside an interval."""
        said = f"{self.share}, of {self.nominal:.0%} asked for"
        return said if self.widened_by == 1 else f"{said}; it is therefore widened by a factor of {self.widened_by:.2f}"

    @property
    def share(self) -> str:
        """What fell inside, of whom."""
        whom = "one engine" if self.systems == 1 else f"{self.systems} systems"
        among = f"{whom}, {self.conditions} conditions" if self.conditions else whom
        return f"{self.coverage:.0%} of {self.tested} held-out values ({among}) fell inside such an interval"


class Coverages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was measured, as the file holds it."""

    format: str
    entries: tuple[Coverage, ...]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out value with the interval that was predicted for it, the system that it is of, and under which of
    several conditions it was tried there."""

    seen: float
    predicted: Interval
    system: str
    condition: str = ""


def measure_coverage(grade: Grade, figure: str, held: Sequence[Held], source: str) -> Coverage:
    """The entry for held-out values. InputError where there are none."""
    if not held:
        raise InputError(f"coverage of {grade}, {figure}: found no held-out values, expected at least one")
    misses = sorted(_miss(one) for one in held)
    inside = sum(miss <= 0 for miss in misses) / len(misses)
    needed = misses[min(len(misses) - 1, math.ceil(NOMINAL * len(misses)) - 1)]
    errors = sorted(abs(one.predicted.median / one.seen - 1) for one in held)
    return Coverage(
        grade=grade,
        figure=figure,
        nominal=NOMINAL,
        coverage=inside,
        tested=len(held),
        systems=len({one.system for one in held}),
        widened_by=math.exp(max(0.0, needed)),
        median_error=errors[len(errors) // 2],
        source=source,
        conditions=len({one.condition for one in held if one.condition}),
    )


def coverages(document: bytes | None = None) -> tuple[Coverage, ...]:
    """What was measured, from the file of the package. InputError where it cannot be read."""
    return _shipped() if document is None else _decode(document)


def kind_of(metric: str) -> tuple[Quantity, Part] | None:
    """What a metric is of, by its key; None where no benchmark holds out anything like it."""
    definition, _, statistic = metric.partition(".")
    quantity = next((name for name, begins in METRICS_OF.items() if definition.startswith(begins)), None)
    part = next((name for name, known in STATISTICS_OF.items() if statistic in known), None)
    return None if quantity is None or part is None else (quantity, part)


def coverage_of(grade: Grade, metric: str) -> tuple[Coverage, ...]:
    """The entries for one grade and metric; none where nothing was measured, and then nothing may be claimed."""
    kind = kind_of(metric)
    if kind is None:
        return ()
    return tuple(one for one in coverages() if one.grade == grade and (one.quantity, one.part) == kind)


def factor_of(measured: Sequence[Coverage]) -> float:
    """By which both ends move out: the largest that was needed. 1 where nothing was measured."""
    return max((one.widened_by for one in measured), default=1.0)


def widened(predicted: Interval, measured: Sequence[Coverage]) -> Interval:
    """The interval as it may be shown: both ends moved out by what was measured. Unchanged where nothing was."""
    factor = factor_of(measured)
    return Interval(low=predicted.low / factor, median=predicted.median, high=predicted.high * factor)


def statement(grade: Grade, metric: str) -> str:
    """What stands beside a predicted figure: the grade, and what was measured of such intervals on other systems."""
    measured = coverage_of(grade, metric)
    if not measured:
        return f"grade {grade}: not validated: the coverage of such intervals was never measured"
    whose = "the benchmark's engine, which is not this model's" if grade == "A" else "systems that were held out"
    said = "; ".join(f"{one.share} ({one.source})" for one in measured)
    factor = factor_of(measured)
    moved = f"; with {NOMINAL:.0%} asked for, the interval is widened by a factor of {factor:.2f}" if factor > 1 else ""
    return f"grade {grade}, on {whose}: {said}{moved}"


def encode_coverages(entries: Iterable[Coverage]) -> bytes:
    """The file's bytes, by grade and figure. The same entries give the same bytes."""
    ordered = tuple(sorted(entries, key=lambda one: (one.grade, one.figure)))
    document = msgspec.json.encode(Coverages(format=FORMAT, entries=ordered))
    return msgspec.json.format(document, indent=1) + b"\n"


def _miss(one: Held) -> float:
    """How far the seen value lies outside, in logarithms; below 0 inside. Endless where no steady state was told."""
    if not (one.seen > 0 and one.predicted.low > 0):
        raise InputError(f"coverage: found a value of {one.seen} in an interval from {one.predicted.low}")
    seen = math.log(one.seen)
    above = -math.inf if math.isinf(one.predicted.high) else seen - math.log(one.predicted.high)
    below = math.inf if math.isinf(one.predicted.low) else math.log(one.predicted.low) - seen
    return max(above, below)


@cache
def _shipped() -> tuple[Coverage, ...]:
    return _decode(files("caveat.simulator").joinpath(FILE).read_bytes())


def _decode(document: bytes) -> tuple[Coverage, ...]:
    try:
        found = msgspec.json.decode(document, type=Coverages)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{FILE}: {error}", next="run the validation benchmarks again") from error
    if found.format != FORMAT:
        raise InputError(f"{FILE}: found format {found.format[:40]!r}, expected {FORMAT!r}")
    return found.entries
