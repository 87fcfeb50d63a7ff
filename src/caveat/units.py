"""Units: the few that figures are stored in, and how a value with its unit is written for people.

Documents hold times in seconds; samples hold integer nanoseconds. Conversion happens once, at the border,
with the functions here. Unit strings are UCUM, as in OpenTelemetry's conventions.
"""

from __future__ import annotations

import math
from enum import StrEnum

NS_PER_S = 1_000_000_000
MS_PER_S = 1_000


class Unit(StrEnum):
    """UCUM strings of the units in which rows are stored."""

    SECOND = "s"
    TOKEN = "{token}"  # noqa: S105  (a unit, not a secret)
    REQUEST = "{request}"
    TOKENS_PER_SECOND = "{token}/s"
    SAMPLES_PER_SECOND = "{sample}/s"
    REQUESTS_PER_SECOND = "{request}/s"
    TASKS_PER_SECOND = "{task}/s"
    TOKENS_PER_SAMPLE = "{token}/{sample}"
    RATIO = "1"
    PERCENT = "%"
    WATT = "W"
    JOULE = "J"


_WORDS: dict[Unit, str] = {
    Unit.SECOND: "s",
    Unit.TOKEN: "tokens",
    Unit.REQUEST: "requests",
    Unit.TOKENS_PER_SECOND: "tokens/s",
    Unit.SAMPLES_PER_SECOND: "samples/s",
    Unit.REQUESTS_PER_SECOND: "requests/s",
    Unit.TASKS_PER_SECOND: "tasks/s",
    Unit.TOKENS_PER_SAMPLE: "tokens/sample",
    Unit.RATIO: "",
    Unit.PERCENT: "%",
    Unit.WATT: "W",
    Unit.JOULE: "J",
}


def seconds_from_ns(ns: float) -> float:
    """Nanoseconds to seconds."""
    return ns / NS_PER_S


def seconds_from_ms(ms: float) -> float:
    """Milliseconds to seconds."""
    return ms / MS_PER_S


def unit_words(unit: Unit) -> str:
    """The unit as people write it: `tokens/s`, not `{token}/s`."""
    return _WORDS[unit]


def format_number(value: float) -> str:
    """A number for people: thousands grouped, whole from 1,000 on, below that four significant digits, three under 1.

    Never scientific between 0.0001 and 10 to the 15th.
    """
    size = abs(value)
    if not math.isfinite(value) or size == 0:
        return f"{size if size == 0 else value:g}"  # zero without a sign
    if round(size, 1) >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    return f"{value:.4g}" if size >= 1 else f"{value:.3g}"


# unit, its length in seconds, and from how many of it on the next one is used (three digits stay readable).
_SCALES: tuple[tuple[str, float, float], ...] = (
    ("ns", 1e-9, 1000),
    ("µs", 1e-6, 1000),
    ("ms", 1e-3, 1000),
    ("s", 1.0, 600),
    ("min", 60.0, 600),
    ("h", 3600.0, math.inf),
)


def format_seconds(seconds: float) -> str:
    """A time for people, three significant digits on a scale of its own: `70.1 ms`, `2 s`, `20 min`."""
    if seconds == 0 or not math.isfinite(seconds):
        return f"{abs(seconds) if seconds == 0 else seconds:g} s"
    for name, length_s, end in _SCALES:
        number = float(f"{seconds / length_s:.3g}")  # rounded first: 999.6 ms is 1 s
        if abs(number) < end:
            return f"{number:,.10g} {name}"
    raise AssertionError("the last scale has no end")


def format_quantity(value: float, unit: Unit) -> str:
    """A value with its unit, for people. Times choose their own scale."""
    if unit is Unit.SECOND:
        return format_seconds(value)
    words = unit_words(unit)
    return f"{format_number(value)} {words}" if words else format_number(value)


def format_interval(low: float, high: float, unit: Unit) -> str:
    """`200 to 204 ms`: a unit that both ends have stands once."""
    first, last = format_quantity(low, unit), format_quantity(high, unit)
    number, _, name = last.partition(" ")
    return f"{first.removesuffix(f' {name}')} to {last}" if name and number else f"{first} to {last}"
