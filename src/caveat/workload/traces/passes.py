"""Passes over long columns a slice at a time, so that what is counted of a trace needs no memory that grows with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caveat.workload.exact import Float64
from caveat.workload.plan import Int64, Whole
from caveat.workload.summary import LengthCounts

AT_ONCE = 1 << 17
"""Entries of one slice: 1 MB of int64."""


def slices(count: int, at_once: int = AT_ONCE, *, more: int = 0) -> Iterator[slice]:
    """Slices that cover `count` entries in order, each reaching `more` entries into the next."""
    for start in range(0, count, at_once):
        yield slice(start, min(start + at_once + more, count))


def counts_of(values: Whole) -> LengthCounts:
    """How often each value occurs; memory grows with the different values only."""
    counts = LengthCounts()
    for some in slices(len(values)):
        counts.add(values[some])
    return counts


def gaps_in_slices(t_ns: Int64) -> Iterator[Int64]:
    """The gaps between times in order, slice by slice."""
    for some in slices(len(t_ns), more=1):
        gaps = np.diff(t_ns[some])
        if len(gaps):
            yield gaps


def in_order(t_ns: Int64) -> bool:
    """Whether no time is before the one that precedes it."""
    return not any(bool((gaps < 0).any()) for gaps in gaps_in_slices(t_ns))


def rank_correlation(a: Whole, b: Whole) -> float | None:
    """Spearman's correlation with mean ranks for ties; None where one of them does not vary.

    Exact: the ranks come from the counts of the different values, and the pairs are read once more.
    """
    if len(a) < 3:
        return None
    ranks = [_MeanRanks(counts_of(values)) for values in (a, b)]
    if not all(one.variance > 0 for one in ranks):
        return None
    tied = 0.0
    for some in slices(len(a)):
        tied += float(ranks[0].away(a[some]) @ ranks[1].away(b[some]))
    return tied / len(a) / float(np.sqrt(ranks[0].variance * ranks[1].variance))


class _MeanRanks:
    """Mean ranks of the different values, as distances from the middle rank, and their variance over all entries."""

    def __init__(self, counted: LengthCounts) -> None:
        self._values, counts = counted.table()
        count = int(counts.sum())
        self._away: Float64 = np.cumsum(counts) - 0.5 * (counts + 1) - 0.5 * (count - 1)
        self.variance = float(counts @ (self._away * self._away)) / count

    def away(self, values: Whole) -> Float64:
        """Rank of each value less the middle one."""
        return np.asarray(self._away[np.searchsorted(self._values, values)], np.float64)
