"""Arrivals whose times are no part of the plan: everything at once, and closed loops, which go on as answers end.

The same record as in arrivals.py: `times`, `expected`, `words` and `rate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import between
from caveat.workload.loadgen_schedule import MAX_QUERIES, MAX_SPAN_NS
from caveat.workload.plan import Int64, Queries
from caveat.workload.streams import CHUNK, Stream

_MAX_CONCURRENCY = 1_000_000
_MAX_SAMPLES_A_QUERY = 4096


class Burst(msgspec.Struct, frozen=True, tag="burst", tag_field="kind", forbid_unknown_fields=True):
    """Everything at 0."""

    def words(self) -> str:
        """The process for people."""
        return "all at once"

    def rate(self) -> None:
        """No rate was asked for."""
        return

    def expected(self, duration_s: float) -> float:
        """As many as one likes; the number of requests is the limit."""
        return 0.0

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Zeros without end."""
        return _zeros()


class Concurrency(msgspec.Struct, frozen=True, tag="concurrency", tag_field="kind", forbid_unknown_fields=True):
    """A closed loop: always this many requests in flight. Times are no part of the plan.

    requests  always in flight
    """

    requests: int

    def __post_init__(self) -> None:
        between("concurrency.requests", self.requests, 1, _MAX_CONCURRENCY)

    def words(self) -> str:
        """The process for people."""
        return f"concurrency({self.requests})"

    def rate(self) -> None:
        """The target sets the rate."""
        return

    def expected(self, duration_s: float) -> float:
        """As many as the target completes; the number of requests is the limit."""
        return 0.0

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Zeros without end: a closed loop ignores times."""
        return _zeros()


class Streams(msgspec.Struct, frozen=True, tag="streams", tag_field="kind", forbid_unknown_fields=True):
    """LoadGen's stream scenarios: one query of `samples` in flight, the next when the slowest of the last has ended.

    They end by themselves: after `min_queries` queries, a last one that began `min_duration_ns` after the first, and
    whole sets where `equal_issue_samples` is the size of one. Times are no part of the plan.

    samples              of one query
    min_duration_ns      no query is the last before this
    min_queries          so many queries at least
    equal_issue_samples  whole passes over a set of this size; 0 is any number
    """

    samples: int = 1
    min_duration_ns: int = 600 * NS_PER_S
    min_queries: int = 100
    equal_issue_samples: int = 0

    def __post_init__(self) -> None:
        between("streams.samples", self.samples, 1, _MAX_SAMPLES_A_QUERY)
        between("streams.min_duration_ns", self.min_duration_ns, 0, MAX_SPAN_NS)
        between("streams.min_queries", self.min_queries, 1, MAX_QUERIES)
        between("streams.equal_issue_samples", self.equal_issue_samples, 0, MAX_QUERIES)

    def queries(self) -> Queries:
        """How the loop goes on and ends."""
        return Queries(
            samples=self.samples,
            least=self.min_queries * self.samples,
            duration_ns=self.min_duration_ns,
            step=math.lcm(self.samples, max(1, self.equal_issue_samples)),
        )

    def words(self) -> str:
        """The process for people."""
        return f"one query of {self.samples} in flight" if self.samples > 1 else "one query in flight"

    def rate(self) -> None:
        """The target sets the rate."""
        return

    def expected(self, duration_s: float) -> float:
        """As many as the target completes; the number of requests is the limit."""
        return 0.0

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Zeros without end: a closed loop ignores times."""
        return _zeros()


def _zeros() -> Iterator[Int64]:
    zeros = np.zeros(CHUNK, np.int64)
    while True:
        yield zeros
