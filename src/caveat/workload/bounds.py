"""Bounds of what a workload may ask for, and the one way in which a value outside them is refused.

Every message says which field of which part, what was found, what was expected and what to do next. NaN fails
every comparison and so is outside every bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from caveat.errors import InputError
from caveat.units import NS_PER_S
from caveat.workload.loadgen_schedule import MAX_QUERIES, MAX_SPAN_NS

MAX_REQUESTS = MAX_QUERIES
"""The longest plan worth playing."""

MAX_SPAN_S = MAX_SPAN_NS / NS_PER_S
"""About three years; times within it are safe in 64 bits of nanoseconds."""

MAX_TOKENS = 1 << 24
"""The longest prompt or answer that a shape may give; eight times the largest context window of 2026."""

MIN_RATE_QPS = 1e-6
MAX_RATE_QPS = 1e9
MIN_CV, MAX_CV = 0.01, 100.0
MAX_LISTED = 1_000_000
"""Entries in one list of a document: longer ones are files of their own."""


def refuse(field: str, found: object, expected: str, next: str = "") -> InputError:
    """The error for one field: raise it. `found` is shown in a few characters, whatever it is."""
    return InputError(
        f"{field}: found {_short(found)}, expected {expected}",
        code="workload",
        next=next or f"change {field} in the workload",
    )


def between(field: str, value: float, low: float, high: float, *, next: str = "") -> None:
    """Refuse a number outside low..high; `next` where it does not stand in a workload."""
    if not low <= value <= high:
        raise refuse(field, value, f"a number from {low:,.12g} to {high:,.12g}", next)


def at_most_listed(field: str, values: Sequence[object], least: int = 1) -> None:
    """Refuse a list that is empty or too long for a document."""
    if not least <= len(values) <= MAX_LISTED:
        raise refuse(field, f"{len(values):,} entries", f"{least:,} to {MAX_LISTED:,} entries")


def increasing(field: str, values: Sequence[float], *, strictly: bool = True) -> None:
    """Refuse a list that goes back (or, strictly, stands still)."""
    for place, (before, after) in enumerate(pairwise(values)):
        if not (before < after if strictly else before <= after):
            order = "above" if strictly else "not below"
            raise refuse(f"{field}[{place + 1}]", after, f"a value {order} the one before it, {_short(before)}")


def _short(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 64:
        return f"an integer of {value.bit_length():,} bits"
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # Python does not write out integers of thousands of digits, in a list for instance
        return "something too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
