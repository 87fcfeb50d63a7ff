"""A distribution of ratios, always with its n and its range: there is no way to ask it for one factor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from caveat.units import format_number

FEWEST_FOR_QUANTILES = 5


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Ratios to/from, described. `inverted` counts those above 1.

    Without ratios everything but the counts is None. With fewer than `FEWEST_FOR_QUANTILES` the quantiles other
    than minimum, median and maximum are None: they would be interpolation and nothing else.
    """

    n: int
    inverted: int
    median: float | None = None
    min: float | None = None
    max: float | None = None
    p10: float | None = None
    p25: float | None = None
    p75: float | None = None
    p90: float | None = None

    @property
    def words(self) -> str:
        """The distribution for people: the range and n come first, the median never alone."""
        if self.min is None or self.max is None or self.median is None:
            return "no pairs"
        if self.n == 1:
            return f"one pair, at {format_number(self.median)}; one pair is not a distribution"
        sentence = f"{format_number(self.min)} to {format_number(self.max)} over {self.n} pairs"
        middle = f"median {format_number(self.median)}"
        if self.p10 is not None and self.p90 is not None:
            middle += f", middle four fifths {format_number(self.p10)} to {format_number(self.p90)}"
        return f"{sentence} ({middle}); {self.inverted} above 1"


def distribution(ratios: Iterable[float]) -> Distribution:
    """Describe finite ratios, in any order. ValueError for one that is not finite: it is a mistake of the caller."""
    values = sorted(ratios)
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a ratio is not a finite number")
    inverted = sum(value > 1 for value in values)
    if not values:
        return Distribution(n=0, inverted=0)
    outer: dict[str, float] = {}
    if len(values) >= FEWEST_FOR_QUANTILES:
        outer = {f"p{percent}": quantile(values, percent / 100) for percent in (10, 25, 75, 90)}
    return Distribution(
        n=len(values),
        inverted=inverted,
        median=quantile(values, 0.5),
        min=values[0],
        max=values[-1],
        **outer,
    )


def quantile(ascending: Sequence[float], share: float) -> float:
    """The quantile at `share` (0 to 1) of sorted values, linear between the two neighbours.

    Definition 7 of Hyndman and Fan (1996): position (n - 1) * share. At one half it is the usual median.
    """
    position = (len(ascending) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ascending) - 1)
    low, high = ascending[below], ascending[above]
    # Bounded by the neighbours: rounding must not push a quantile outside the data or out of order.
    return min(max(low + (high - low) * (position - below), low), high)
