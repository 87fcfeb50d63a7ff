"""Spread: a distribution of times in 2 kB, however many there are. For the generator's view of itself only."""

from __future__ import annotations

from collections.abc import Iterable

_SUB_BITS = 3
_SUB = 1 << _SUB_BITS
_BUCKETS = (64 - _SUB_BITS) * _SUB


class Spread:
    """Counts in buckets that are an eighth of a power of two wide: quantiles are at most 12.5 % too high.

    Times are whole nanoseconds; below zero counts as zero. Figures never come from here: they come from samples.
    """

    __slots__ = ("_counts", "count", "largest_ns")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.largest_ns = 0

    def add(self, ns: int) -> None:
        """One more time."""
        if ns < _SUB:
            bucket = max(ns, 0)
        else:
            shift = ns.bit_length() - _SUB_BITS - 1
            bucket = (shift << _SUB_BITS) + (ns >> shift)
        self._counts[bucket] += 1
        self.count += 1
        if ns > self.largest_ns:
            self.largest_ns = ns

    def quantile(self, share: float) -> int | None:
        """The upper end of the bucket that holds this share of all times; None of nothing."""
        wanted = share * self.count
        reached = 0
        for bucket, count in enumerate(self._counts):
            reached += count
            if count and reached >= wanted:
                return min(_upper(bucket), self.largest_ns)
        return None

    def counts(self) -> dict[int, int]:
        """Buckets that are not empty, to be merged elsewhere."""
        return {bucket: count for bucket, count in enumerate(self._counts) if count}

    def merge(self, counts: Iterable[tuple[int, int]], largest_ns: int) -> None:
        """Take in what another process counted."""
        for bucket, count in counts:
            self._counts[bucket] += count
            self.count += count
        self.largest_ns = max(self.largest_ns, largest_ns)


def _upper(bucket: int) -> int:
    if bucket < 2 * _SUB:
        return bucket
    shift = (bucket >> _SUB_BITS) - 1
    return ((bucket - (shift << _SUB_BITS) + 1) << shift) - 1
