"""A set of samples that requests are made of: which sample each request asks, in passes over the whole set.

As MLPerf's performance sets: every sample once, shuffled, then again. The same sample has the same lengths and the
same text in every pass. The shuffle is ours: LoadGen's depends on the C++ library that it was built with, so an order
that must be LoadGen's is given as a list, taken from its log.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.workload.bounds import at_most_listed, between, refuse
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream

MAX_SAMPLES = 10_000_000


class SampleSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`size` samples, issued in shuffled passes.

    size    how many samples there are
    seed    of the shuffle alone; lengths come from the workload's own seed
    each    samples of one query: they are neighbours in the set, and the queries are shuffled
    order   sample of request 0, 1, ... in place of the shuffle; begins again at its end
    """

    size: int
    seed: int = 0
    each: int = 1
    order: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        between("samples.size", self.size, 1, MAX_SAMPLES)
        between("samples.each", self.each, 1, self.size)
        Stream(self.seed)
        if self.size % self.each:
            raise refuse("samples.size", self.size, f"whole queries of {self.each}")
        if self.order is not None:
            at_most_listed("samples.order", self.order)
            for place, sample in enumerate(self.order):
                if not 0 <= sample < self.size:
                    raise refuse(f"samples.order[{place}]", sample, f"a sample from 0 to {self.size - 1:,}")

    def words(self) -> str:
        """The order for people."""
        order = "in a given order" if self.order is not None else "in shuffled passes"
        return f"set of {self.size:,} samples {order}"

    def passes(self) -> Iterator[Int64]:
        """Samples in the order in which they are asked, one pass after the other without end."""
        if self.order is not None:
            given = np.array(self.order, np.int64)
            while True:
                yield given
        stream = Stream(self.seed)
        within = np.arange(self.each, dtype=np.int64)
        while True:
            queries = np.argsort(stream.uniforms(self.size // self.each), kind="stable")
            yield (queries[:, None] * self.each + within).ravel()


class SampleOrder:
    """The samples of one plan, as many at a time as are asked for."""

    def __init__(self, samples: SampleSet) -> None:
        self._passes = samples.passes()
        self._left = np.empty(0, np.int64)

    def take(self, count: int) -> Int64:
        """The samples of the next requests."""
        parts, found = [self._left], len(self._left)
        while found < count:
            parts.append(next(self._passes))
            found += len(parts[-1])
        joined = np.concatenate(parts)
        self._left = joined[count:]
        return joined[:count]
