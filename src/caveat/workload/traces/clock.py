"""Times of a trace: which unit they are in and who says so, and how they become nanoseconds from the first request."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caveat.errors import InputError
from caveat.units import NS_PER_S
from caveat.workload.exact import Float64
from caveat.workload.plan import Int64

UNITS_NS: dict[str, int] = {"s": NS_PER_S, "ms": 1_000_000, "us": 1_000, "ns": 1}
ISO = "ISO 8601"
NO_TIME = np.iinfo(np.int64).min
"""Stands in columns of ISO times for one that cannot be read; in columns of numbers NaN does."""

_SUFFIX = re.compile(
    r"(?:^|[^a-z])(s|sec|secs|seconds|ms|msec|millis|milliseconds|us|usec|micros|microseconds|ns|nanos)$"
)
_WORDS = {"sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "millis": "ms", "milliseconds": "ms"}
_WORDS |= {"usec": "us", "micros": "us", "microseconds": "us", "nanos": "ns"}
_EPOCH_S = (9.46e8, 4.1e9)  # years 2000 to 2099 in seconds
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]")
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")

Times = npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A unit and who says so."""

    unit: str
    how: str


def unit_of(column: str, first: float, *, given: str | None, declared: str | None) -> TimeUnit:
    """The unit of a column of numbers: given, declared by the format, in the column's name, or plain from an epoch.

    InputError where none of these says it: a guess would be wrong by a factor of a thousand.
    """
    if given is not None:
        if given not in UNITS_NS:
            raise InputError(
                f"time unit: found {given[:40]!r}, expected {', '.join(UNITS_NS)}",
                code="trace-time-unit",
                next="say which of them it is",
            )
        return TimeUnit(given, "given")
    if declared is not None:
        return TimeUnit(declared, "declared by the format")
    if suffix := _SUFFIX.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()):
        return TimeUnit(_WORDS.get(suffix[1], suffix[1]), f"from the column's name, {column[:40]!r}")
    for unit, ns in UNITS_NS.items():
        if _EPOCH_S[0] <= first * ns / NS_PER_S <= _EPOCH_S[1]:
            return TimeUnit(unit, "from the size of the values, which are times since 1970")
    raise InputError(
        f"column {column[:40]!r}: found numbers like {first:g}, expected a unit of time to be known",
        code="trace-time-unit",
        next="say the unit (time_unit): s, ms, us or ns",
    )


class Clock:
    """Turns the times of one file into nanoseconds from its first request; decides the unit at the first time."""

    def __init__(self, column: str, *, given: str | None = None, declared: str | None = None) -> None:
        self._column = column
        self._given = given
        self._declared = declared
        self._first: float | int | None = None
        self.unit = TimeUnit("", "")

    def ns(self, times: Times) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Nanoseconds from the first readable time, and whether each time could be read."""
        if times.dtype == np.int64:
            return self._exact(np.asarray(times, np.int64))
        return self._scaled(np.asarray(times, np.float64))

    def _exact(self, times: Int64) -> tuple[Int64, npt.NDArray[np.bool_]]:
        known = times != NO_TIME
        if self._first is None and known.any():
            self._first, self.unit = int(times[known][0]), TimeUnit(ISO, "written out")
        return np.where(known, times - np.int64(self._first or 0), 0), known

    def _scaled(self, times: Float64) -> tuple[Int64, npt.NDArray[np.bool_]]:
        known = np.isfinite(times)
        if self._first is None and known.any():
            self._first = float(times[known][0])
            self.unit = unit_of(self._column, self._first, given=self._given, declared=self._declared)
        # The first is taken away before scaling: an epoch in nanoseconds has more digits than a float.
        scale = UNITS_NS.get(self.unit.unit, 1)
        with np.errstate(over="ignore"):
            from_first_ns = np.rint((np.where(known, times, 0.0) - (self._first or 0.0)) * scale)
        known &= np.abs(from_first_ns) < 4e18
        return np.where(known, from_first_ns, 0.0).astype(np.int64), known


def iso_ns(texts: list[str]) -> Int64:
    """ISO 8601 times as nanoseconds since 1970, UTC where no zone is written; NO_TIME where one cannot be read."""
    import pyarrow as pa

    try:
        return _cast(texts)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return np.array([_one(text) for text in texts], np.int64)


def looks_like_iso(text: str) -> bool:
    """Whether a cell begins with a date and a time."""
    return _DATE.match(text) is not None


def _cast(texts: list[str]) -> Int64:
    import pyarrow as pa

    zoned = bool(texts) and _ZONE.search(texts[0]) is not None
    kind = pa.timestamp("ns", "UTC") if zoned else pa.timestamp("ns")
    return np.asarray(pa.array(texts, pa.string()).cast(kind).cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def _one(text: object) -> int:
    import pyarrow as pa

    try:
        return int(_cast([str(text).strip()])[0])
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        return NO_TIME
