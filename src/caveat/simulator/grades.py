"""Grades: what a model is made from, what may be claimed for it, and how its intervals fared on what it had not seen.

Shares are read from `coverage.json`, which the validation benchmarks write; none is typed in here. Where fewer than
the nominal share of held-out values fell inside, the intervals of that grade and figure are moved out on both sides by
the factor that would have caught it (the smallest order statistic of the misses; conformalised quantile regression,
Romano, Patterson, Candès 2019, on logarithms).
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
    "C": "token times to about a factor, to rule out what cannot be; no first-token times",
}


class Coverage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How intervals of one grade for one figure fared on held-out values.

    `coverage` is the share of `tested` values inside the `nominal` interval as made, `widened_by` the factor by
    which both ends move out so that the nominal share is inside (1 where it was), `median_error` the median of
    |predicted / seen - 1|. `source` names the benchmark and what was held out.
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

    @property
    def words(self) -> str:
        """For people, beside an interval."""
        said = (
            f"{self.coverage:.0%} of {self.tested} held-out values of {self.systems} systems fell inside such an "
            f"interval (asked for: {self.nominal:.0%})"
        )
        return said if self.widened_by == 1 else f"{said}; it is therefore widened by a factor of {self.widened_by:.2f}"


class Coverages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was measured, as the file holds it."""

    format: str
    entries: tuple[Coverage, ...]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out value with the interval that was predicted for it, and the system that it is of."""

    seen: float
    predicted: Interval
    system: str


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
    )


def coverages(document: bytes | None = None) -> tuple[Coverage, ...]:
    """What was measured, from the file of the package. InputError where it cannot be read."""
    return _shipped() if document is None else _decode(document)


def coverage_of(grade: Grade, figure: str) -> Coverage | None:
    """The entry for one grade and figure; None where nothing was measured, and then nothing may be claimed."""
    return next((one for one in coverages() if (one.grade, one.figure) == (grade, figure)), None)


def widened(predicted: Interval, measured: Coverage | None) -> Interval:
    """The interval as it may be shown: both ends moved out by what was measured. Unchanged where nothing was."""
    factor = 1.0 if measured is None else measured.widened_by
    return Interval(low=predicted.low / factor, median=predicted.median, high=predicted.high * factor)


def statement(grade: Grade, figure: str) -> str:
    """What stands beside a predicted figure: the grade, what it rests on, and what was measured of it."""
    measured = coverage_of(grade, figure)
    said = "not validated: its coverage was never measured" if measured is None else measured.words
    return f"grade {grade}, from {BASIS[grade]}; {said}"


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
