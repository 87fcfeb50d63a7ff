"""What a condition of each kind may hold, the one way to write it down, and how people read it.

A kind is one word in the table of conditions: text, number, count, seconds, flag, technique, lengths, numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from caveat.errors import DocumentError
from caveat.figures.frozen import FrozenDict
from caveat.figures.printable import printable
from caveat.units import format_number, format_seconds

Value = bool | int | float | str | dict[str, float]
Scalar = bool | int | float | str
Kind = Literal["text", "number", "count", "seconds", "flag", "technique", "lengths", "numbers"]

TECHNIQUE_STATES = ("on", "off")
LENGTH_STATISTICS = ("mean", "p50", "p90", "p99", "max", "n")
COUNT_END = 2**63  # counts fit into a signed 64-bit column
_SHOWN = 60  # characters of a foreign value that an error repeats


class Condition(msgspec.Struct, frozen=True):
    """One line of the table. `allowed`, where given, lists every value that may occur."""

    key: str
    group: str
    kind: Kind
    meaning: str
    unit: str = ""
    allowed: tuple[str, ...] = ()


def normal(row: Condition, value: Value) -> Any:
    """The one way to write a value: counts are int, numbers and seconds float, mappings frozen, zero has no sign.

    JSON and Python know several spellings of one number (8, 8.0); ids must not. What cannot be a value of this
    kind is given back as it is, for `checked` to refuse.
    """
    if isinstance(value, dict):
        return FrozenDict({part: _float(number) for part, number in value.items()})
    if row.kind in ("number", "seconds"):
        return _float(value)
    if row.kind == "count" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _float(number: Value) -> Any:  # a float, or whatever else it was
    if isinstance(number, bool) or not isinstance(number, int | float):
        return number
    try:
        return float(number) + 0.0  # -0.0 becomes 0.0
    except OverflowError:  # an integer beyond every float
        return math.inf


def checked(row: Condition, value: Value) -> Value:
    """The value in its normal form. Raises DocumentError where it does not fit its line of the table."""
    value = normal(row, value)
    expected = _CHECKS[row.kind](value)
    if expected:
        raise DocumentError(f"{row.key}: found {shortened(value)}, expected {expected}")
    if row.allowed and value not in row.allowed:
        raise DocumentError(f"{row.key}: found {shortened(value)}, expected one of {', '.join(row.allowed)}")
    return value


def shortened(value: object) -> str:
    """A foreign value for an error message: its repr, no longer than a reader wants."""
    text = repr(dict(value)) if isinstance(value, dict) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _check_text(value: Value) -> str:
    if not isinstance(value, str) or not value.strip():
        return "a text that is not empty"
    return "" if is_unicode(value) else "a text that UTF-8 can write (no lone surrogates)"


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can write the text. File names that are not UTF-8 reach Python as texts that it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_number(value: Value) -> str:
    return "" if _is_finite(value) else "a finite number"


def _check_count(value: Value) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < COUNT_END
    return "" if good else "a whole number that is not negative"


def _check_seconds(value: Value) -> str:
    good = isinstance(value, float) and math.isfinite(value) and value >= 0
    return "" if good else "a time in seconds that is not negative"


def _check_flag(value: Value) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _check_technique(value: Value) -> str:
    return "" if value in TECHNIQUE_STATES else "on or off (undisclosed is the absence of a value)"


def _check_lengths(value: Value) -> str:
    good = (
        isinstance(value, dict)
        and value
        and all(part in LENGTH_STATISTICS and _is_finite(v) and v >= 0 for part, v in value.items())
    )
    return "" if good else f"token lengths by statistic ({', '.join(LENGTH_STATISTICS)})"


def _check_numbers(value: Value) -> str:
    good = (
        isinstance(value, dict) and value and all(not _check_text(part) and _is_finite(v) for part, v in value.items())
    )
    return "" if good else "finite numbers by name"


_CHECKS: dict[Kind, Callable[[Value], str]] = {
    "text": _check_text,
    "number": _check_number,
    "count": _check_count,
    "seconds": _check_seconds,
    "flag": _check_flag,
    "technique": _check_technique,
    "lengths": _check_lengths,
    "numbers": _check_numbers,
}


def format_value(row: Condition, value: Value) -> str:
    """One value of one condition for people: one printable line, whoever wrote the value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{printable(part)} {_format_part(number)}" for part, number in value.items())
    if isinstance(value, str):
        return printable(value)
    if row.kind == "seconds":
        return format_seconds(value)
    return f"{value:,}" if isinstance(value, int) else format_number(value)


def _format_part(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1e5 else f"{number:.6g}"
