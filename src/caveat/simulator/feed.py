"""Feed: the requests of a plan in the order in which they come due, made from its columns as virtual time goes on.

An open loop's requests come at their times; a dependent one when the request before it has ended and its user has
thought, and no earlier than its time. In a closed loop times are ignored: whenever a place is free, a user who has
thought goes on, else the next of the plan begins. In whole queries all of one come due together, when all of the one
before have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from caveat.errors import InputError
from caveat.simulator.instants import FS_PER_NS, NEVER_FS
from caveat.simulator.prefix import chained
from caveat.simulator.request import NO_CHAIN, Request
from caveat.workload import NO_REQUEST, Plan, PlanBlock, Queries, queries_of

Priorities = Callable[[PlanBlock], npt.NDArray[np.int64]]
"""The priority of each request of a block: the lower, the sooner."""
Models = Callable[[PlanBlock, int], npt.NDArray[np.int64]]
"""Which of several models each request of a block asks, from 0; the number is that of the block's first request."""

_MOST_TOKENS, _MOST_NS = 1 << 40, (1 << 63) - 1
_RANGES = (
    ("at_ns", 0, _MOST_NS),
    ("think_ns", 0, _MOST_NS),
    ("input_tokens", 1, _MOST_TOKENS),
    ("output_tokens", 1, _MOST_TOKENS),
)


class Feed:
    """`next_fs` is when the next request comes due, NEVER_FS where none does for now.

    `every` is the number of the plan's prefix blocks in one entry of the caches; 0: nobody looks at prefixes.
    Raises InputError for a length out of range and for a request that waits for one that comes after it.
    """

    __slots__ = (
        "_block_tokens",
        "_closed",
        "_ends",
        "_every",
        "_fresh",
        "_heap",
        "_models",
        "_priorities",
        "_queries",
        "_row",
        "_rows",
        "_vacancies",
        "_waiting",
        "next_fs",
    )

    def __init__(
        self, plan: Plan, *, every: int = 0, priorities: Priorities | None = None, models: Models | None = None
    ) -> None:
        self._closed = plan.concurrency is not None
        if plan.concurrency is not None and plan.concurrency < 1:
            raise InputError(f"plan: concurrency: found {plan.concurrency}, expected a number from 1")
        self._block_tokens = plan.block_tokens
        self._every, self._priorities, self._models = every, priorities, models
        self._ends: list[int] | None = None  # by number, -1: not ended; only where some wait for others
        self._heap: list[tuple[int, int, Request]] = []  # dependents that have a time: (instant, number, request)
        self._waiting: dict[int, list[tuple[Request, int]]] = {}  # by the request that they wait for, with think time
        self._fresh = plan.concurrency or 0  # a closed loop's places that nobody has taken yet
        self._vacancies: list[int] = []  # instants at which others are free
        queries = queries_of(plan) if self._closed else None
        self._queries = _QueryPace(queries, self._fresh) if queries is not None else None
        self._rows = self._read(plan)
        self._row: Request | None = next(self._rows, None)  # the next that waits for nothing
        self.next_fs = NEVER_FS
        self._look()

    def pop(self) -> Request:
        """The request that is due at `next_fs`."""
        heap, row = self._heap, self._row
        if heap and heap[0][0] <= self.next_fs and (self._closed or row is None or heap[0][0] <= row.due_fs):
            request = heappop(heap)[2]
        else:
            assert row is not None  # or nothing would be due
            request = row
            self._row = next(self._rows, None)
        if self._closed:
            if self._fresh:
                self._fresh -= 1
            else:
                heappop(self._vacancies)
            if self._queries is not None:
                self._queries.made += 1
            request.due_fs = self.next_fs
            self._look()
        elif heap:
            self._look()
        else:
            self.next_fs = NEVER_FS if self._row is None else self._row.due_fs
        return request

    def ended(self, number: int, end_fs: int) -> None:
        """A request ends at this instant, well or not: its place is free, and who waits for it can think."""
        if self._closed:
            heappush(self._vacancies, end_fs)
        if self._ends is not None:
            self._ends[number] = end_fs
            for request, think_fs in self._waiting.pop(number, ()):
                self._due(request, end_fs + think_fs)
        elif not self._closed:
            return
        self._look()

    def stop(self) -> None:
        """Nothing comes due any more."""
        self._rows = iter(())
        self._row = None
        self._heap.clear()
        self._waiting.clear()
        self.next_fs = NEVER_FS

    def _look(self) -> None:
        heap, row = self._heap, self._row
        soonest = heap[0][0] if heap else NEVER_FS
        if not self._closed:
            self.next_fs = soonest if row is None else min(soonest, row.due_fs)
        elif self._queries is not None:
            self.next_fs = NEVER_FS if row is None else self._queries.next_fs(self._fresh, self._vacancies)
        elif not (self._fresh or self._vacancies):
            self.next_fs = NEVER_FS
        else:
            free_fs = 0 if self._fresh else self._vacancies[0]
            self.next_fs = free_fs if row is not None else max(free_fs, soonest)

    def _due(self, request: Request, ready_fs: int) -> None:
        request.due_fs = ready_fs if self._closed else max(ready_fs, request.due_fs)
        heappush(self._heap, (request.due_fs, request.number, request))

    def _read(self, plan: Plan) -> Iterator[Request]:
        """The requests that wait for nothing; the others on the way are put where they wait."""
        number = 0
        for block in plan.blocks():
            if len(block.after) and self._ends is None:
                self._ends = [-1] * number
            if self._ends is not None:
                self._ends.extend([-1] * len(block))
                yield from self._roots(block, number)
            else:
                yield from self._requests(block, number)
            number += len(block)

    def _roots(self, block: PlanBlock, first: int) -> Iterator[Request]:
        after, think_ns = _column(block.after, NO_REQUEST, len(block)), _column(block.think_ns, 0, len(block))
        for request, before, think in zip(self._requests(block, first), after, think_ns, strict=True):
            if before == NO_REQUEST:
                yield request
                continue
            if not 0 <= before < request.number:
                raise InputError(
                    f"plan: request {request.number}: found that it waits for {before}, expected one before it"
                )
            assert self._ends is not None  # made before
            end_fs = self._ends[before]
            if end_fs >= 0:
                self._due(request, end_fs + think * FS_PER_NS)
            else:
                self._waiting.setdefault(before, []).append((request, think * FS_PER_NS))

    def _requests(self, block: PlanBlock, first: int) -> Iterator[Request]:
        _check(block, first)
        count, every = len(block), self._every
        priorities = None if self._priorities is None else self._priorities(block)
        models = None if self._models is None else self._models(block, first)
        ends = _column(block.prefix_ends, 0, count)
        ids = block.prefix_blocks.tolist() if every else []
        begin = 0
        rows = zip(
            range(first, first + count),
            block.at_ns.tolist(),
            block.input_tokens.tolist(),
            block.output_tokens.tolist(),
            _column(block.session, NO_REQUEST, count),
            _column(block.turn, NO_REQUEST, count),
            ends,
            [0] * count if priorities is None else priorities.tolist(),
            [0] * count if models is None else models.tolist(),
            strict=True,
        )
        for number, at_ns, prompt, output, session, turn, end, priority, model in rows:
            chain = NO_CHAIN
            if every and end > begin:
                chain = chained(ids[begin : min(end, begin + prompt // self._block_tokens)], every)
            begin = max(begin, end)
            yield Request(number, at_ns * FS_PER_NS, prompt, output, chain, session, turn, at_ns, priority, model)


class _QueryPace:
    """When the next request of a loop in whole queries comes due."""

    __slots__ = ("_first_fs", "_places", "_query_fs", "_rule", "_until", "made")

    def __init__(self, rule: Queries, places: int) -> None:
        self._rule, self._places = rule, places
        self._first_fs = self._query_fs = -1
        self._until = self.made = 0  # requests that will have been made when the present query is whole; and that were

    def next_fs(self, fresh: int, vacancies: Sequence[int]) -> int:
        """With the query under way, or with the next one where all places are free and more are wanted."""
        if self.made < self._until:
            return self._query_fs
        if fresh + len(vacancies) < self._places:
            return NEVER_FS
        if self.made and self._rule.enough(self.made, (self._query_fs - self._first_fs) // FS_PER_NS):
            return NEVER_FS
        self._query_fs = max(vacancies, default=0)
        if self._first_fs < 0:
            self._first_fs = self._query_fs
        self._until = self.made + self._rule.samples
        return self._query_fs


def _column(values: npt.NDArray[np.int64], default: int, count: int) -> list[int]:
    """An array as a list: reading its items one by one is slow."""
    found: list[int] = values.tolist() if len(values) else [default] * count
    return found


def _check(block: PlanBlock, first: int) -> None:
    for name, low, high in _RANGES:
        values = getattr(block, name)
        wrong = np.flatnonzero((values < low) | (values > high))
        if len(wrong):
            at = int(wrong[0])
            found = f"found {values[at]}, expected a number from {low} to {high:,}"
            raise InputError(f"plan: request {first + at}: {name}: {found}")
