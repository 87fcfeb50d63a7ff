"""Axis: one quantity of a profile as counted bins, none for fewer requests than the threshold; and drawing from it.

Values are rounded before they are binned: above 16, to 16 steps an octave (4.4 %). A value that enough requests have
in common keeps its exact place, so a limit of 1,024 tokens stays one. Bins are finer toward both ends of the
distribution, where percentiles are asked for and fewer requests are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec
import numpy as np

from caveat.workload.bounds import refuse
from caveat.workload.exact import Float64
from caveat.workload.plan import Int64

EXACT_TO = 16
STEPS_AN_OCTAVE = 16
_BODY = 24
_MOST_BINS = 1500
_MAX_VALUE = 1 << 62

Bin = tuple[int, int, int]
"""From, to (both included), and how many requests."""


class Axis(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """Bins in order; within one, every whole number is equally likely."""

    bins: tuple[Bin, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.bins) <= 2 * _MOST_BINS:
            raise refuse("profile: axis", f"{len(self.bins):,} bins", f"1 to {2 * _MOST_BINS:,}")
        for low, high, count in self.bins:
            if not (0 <= low <= high <= _MAX_VALUE and 0 < count < 1 << 40):
                raise refuse("profile: axis", [low, high, count], "[from, to, count] in order and above 0")

    @cached_property
    def ends(self) -> tuple[Int64, Int64]:
        """From and to of each bin."""
        bins = np.array(self.bins, np.int64).reshape(-1, 3)
        return bins[:, 0].copy(), bins[:, 1].copy()

    @cached_property
    def sums(self) -> Float64:
        """Requests up to and including each bin."""
        return np.cumsum(np.array([one[2] for one in self.bins], np.float64))

    def values(self, first: Int64, last: Int64, sums: Float64, u: Float64) -> Int64:
        """One value for each u, from the bins `first` to `last` in proportion to weights, given as running sums."""
        low, high = self.ends
        before = np.append(0.0, sums[:-1])
        rank = before[first] + u * (sums[last] - before[first])
        chosen = np.clip(np.searchsorted(sums, rank, side="right"), first, last)
        weight = sums[chosen] - before[chosen]
        within = np.divide(rank - before[chosen], weight, out=np.full_like(u, 0.5), where=weight > 0)
        width = high[chosen] - low[chosen] + 1
        offset = np.minimum(np.maximum(np.floor(within * width).astype(np.int64), 0), width - 1)
        values: Int64 = np.add(low[chosen], offset)
        return values

    def drawn(self, u: Float64) -> Int64:
        """One value for each u from all bins."""
        first = np.zeros(len(u), np.int64)
        return self.values(first, first + len(self.bins) - 1, self.sums, u)


def axis_of(values: Int64, min_count: int) -> tuple[Axis, Int64]:
    """The axis of some values (at least `min_count`, none negative), and the bin of each value."""
    bins = list(_merged(_rounded(values, min_count), len(values), min_count))
    return Axis(tuple(bins)), _places(bins, values)


def _rounded(values: Int64, min_count: int) -> list[Bin]:
    """Values that are common enough exactly, the rest by rounding steps; in order of their lower ends."""
    found, counts = np.unique(values, return_counts=True)
    common = counts >= max(min_count, len(values) // _MOST_BINS)
    edges = _edges(int(found[-1]))
    steps = np.searchsorted(edges, found[~common], side="right") - 1
    sums = np.bincount(steps, weights=counts[~common], minlength=len(edges)).astype(np.int64)
    exact = [
        (value, value, count) for value, count in zip(found[common].tolist(), counts[common].tolist(), strict=True)
    ]
    ranges = [(int(edges[s]), int(edges[s + 1]) - 1, int(sums[s])) for s in np.flatnonzero(sums)]
    return sorted(exact + ranges)


def _edges(most: int) -> Int64:
    """Lower ends of the rounding steps, and one beyond the last."""
    octaves = max(1, int(most).bit_length() + 1)
    exponents = np.arange(STEPS_AN_OCTAVE * octaves + 1) / STEPS_AN_OCTAVE
    geometric = np.ceil(2.0**exponents - 1e-9)
    whole = np.append(np.arange(EXACT_TO + 1), geometric[geometric > EXACT_TO])
    return np.unique(np.minimum(whole, float(1 << 62)).astype(np.int64))


def _merged(items: list[Bin], total: int, min_count: int) -> Iterator[Bin]:
    """Neighbours joined until each bin is large enough for its place; a common value stays by itself if it can."""
    low, high, held, done = 0, 0, 0, 0
    last: Bin | None = None
    for item in items:
        if held and item[0] == item[1] and held >= min_count and item[2] >= min_count:
            if last is not None:
                yield last
            last, done, held = (low, high, held), done + held, 0
        low, high, held = (low if held else item[0]), max(item[1], high if held else 0), held + item[2]
        if held >= _enough(done + held, total, min_count) or (item[0] == item[1] == low and held >= min_count):
            if last is not None:
                yield last
            last, done, held = (low, high, held), done + held, 0
    if held and last is not None and held < min_count:
        last = (last[0], max(last[1], high), last[2] + held)
    elif held:
        if last is not None:
            yield last
        last = (low, high, held)
    if last is not None:
        yield last


def _enough(done: int, total: int, min_count: int) -> int:
    """How many requests a bin needs: a share of those beyond it on the nearer side, and never below the threshold."""
    return max(min_count, min(done, total - done) // _BODY, total // _MOST_BINS)


def _places(bins: list[Bin], values: Int64) -> Int64:
    """The bin of each value: an exact one if there is, else the range that holds it."""
    low = np.array([b[0] for b in bins], np.int64)
    high = np.array([b[1] for b in bins], np.int64)
    place = np.maximum(np.searchsorted(low, values, side="right") - 1, 0)
    # An exact value inside a range splits it: what lies above the value still belongs to the range before.
    outside = (values > high[place]) & (place > 0)
    while outside.any():
        place[outside] -= 1
        outside = (values > high[place]) & (place > 0)
    return place
