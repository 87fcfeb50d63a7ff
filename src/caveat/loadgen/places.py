"""Places: what a closed loop keeps in flight, one by one or in whole queries."""

from __future__ import annotations

from caveat.workload import Queries


class Places:
    """`free` of `concurrency` places. With queries, a query's requests begin together, once all places are free."""

    __slots__ = ("_begun", "_concurrency", "_queries", "_query_ns", "free")

    def __init__(self, concurrency: int, queries: Queries | None) -> None:
        self._concurrency, self._queries = concurrency, queries
        self.free = concurrency
        self._begun = 0  # requests of the present query that were sent,
        self._query_ns = 0  # and when it began

    def any(self) -> bool:
        """Whether a request may be sent: a place is free, or the present query is not yet sent whole."""
        if self._queries is None:
            return self.free > 0
        if self.free == self._concurrency:
            self._begun = 0
        return self._begun < self._queries.samples

    def take(self, now_ns: int) -> int:
        """Take one; returns when its request became due: now, or with the others of its query."""
        self.free -= 1
        if self._queries is None:
            return now_ns
        if not self._begun:
            self._query_ns = now_ns
        self._begun += 1
        return self._query_ns
