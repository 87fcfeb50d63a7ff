"""Evidence: what the figures at hand show of a caveat, computed each time, with where it comes from.

Numbers keep their type until a page is written; tables hold finished cells. Quantiles interpolate linearly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from caveat.figures import Figure, Run
from caveat.units import format_number

Number = int | float | str | None  # None: cannot be computed from the figures at hand
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

NO_ROUND = "no round"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


class Table(msgspec.Struct, frozen=True):
    """A table of finished cells. Cells may hold text from outside: whoever prints the table escapes it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger shows: numbers by name, tables, and how many figures (or runs) of which round were counted.

    `rules` are tables of what the rules say; they stand on the page without any figure.
    """

    numbers: Mapping[str, Number] = {}
    tables: tuple[Table, ...] = ()
    counted: Mapping[str, int] = {}
    rules: tuple[Table, ...] = ()

    @property
    def n(self) -> int:
        """How many figures or runs were counted."""
        return sum(self.counted.values())


def rounds_of(items: Iterable[Figure | Run]) -> dict[str, int]:
    """How many of these belong to each round, rounds in order of their names."""
    counts = Counter(item.conditions.words("round") or NO_ROUND for item in items)
    return {name: counts[name] for name in sorted(counts)}


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, in order of first occurrence."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies (linear interpolation). ValueError for no values."""
    if not values:
        raise ValueError("no quantile of nothing")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def percent(share: float) -> str:
    """A share for people, with two significant digits below a tenth: `32 %`, `8.9 %`, `2 %`, `0.38 %`.

    What lies below the whole is never rounded up to it: `over 99 %`.
    """
    size = abs(100 * share)
    if 99.5 <= size < 100:
        return "over 99 %"
    digits = 0 if size >= 9.95 or size == 0 else 1 if size >= 0.95 else 2
    number = f"{100 * share:.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} %"


def number_words(value: Number) -> str:
    """A number of the evidence for people; texts stay as they are."""
    if value is None or isinstance(value, str):
        return value or "unknown"
    return f"{value:,}" if isinstance(value, int) else format_number(value)


def whole(value: float) -> str:
    """A count for people: `1,024`."""
    return f"{value:,.0f}"


def span(values: Sequence[float], words: Callable[[float], str] = format_number) -> str:
    """Smallest and largest of some values: `0.38 to 1.06`, or the one value; empty for none."""
    if not values:
        return ""
    low, high = words(min(values)), words(max(values))
    return low if low == high else f"{low} to {high}"


def plain(text: str) -> str:
    """One line without control, direction or zero-width characters, so that text from outside cannot act."""
    return " ".join(_CONTROL.sub(" ", text).split())
