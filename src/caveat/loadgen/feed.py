"""Feed: turns the plan's columns into requests that are due, a little ahead of time.

Three stages. A row is *read* when its time comes within the horizon and becomes a Ticket; a ticket is *prepared*
(its bytes are made) while the loop has time; it is *due* when the clock says so, or when the request that it waits
for has ended and its user has thought. At the moment of sending nothing is left to do but to write.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from caveat.loadgen.tickets import Slice, Ticket, tickets
from caveat.units import NS_PER_S
from caveat.workload import NO_REQUEST, Plan, Queries

HORIZON_NS = NS_PER_S
PREPARED_AHEAD = 512
PREPARED_BYTES = 32 << 20
READ_AHEAD = 256


class Source(Protocol):
    """Where the plan comes from: the plan itself, or a pipe."""

    def poll(self) -> Slice | None:
        """The next requests, or None where there are none (yet, or ever: see `ended`)."""
        ...

    def ended(self) -> bool:
        """Whether no more will come."""
        ...


class PlanSource:
    """A plan in this process."""

    __slots__ = ("_blocks", "_ended", "_next")

    def __init__(self, plan: Plan) -> None:
        self._blocks = plan.blocks()
        self._next = 0
        self._ended = False

    def poll(self) -> Slice | None:
        """The next block that is not empty."""
        for block in self._blocks:
            if len(block):
                first, self._next = self._next, self._next + len(block)
                return Slice(range(first, self._next), block)
        self._ended = True
        return None

    def ended(self) -> bool:
        """Whether the last block was given."""
        return self._ended


class EndTimes:
    """When each request ended, eight bytes a request; kept only where some wait for others."""

    __slots__ = ("_chunks",)
    _SIZE = 4096

    def __init__(self) -> None:
        self._chunks: dict[int, array[int]] = {}

    def put(self, number: int, end_ns: int) -> None:
        """Remember one."""
        chunk = self._chunks.get(number // self._SIZE)
        if chunk is None:
            chunk = self._chunks[number // self._SIZE] = array("q", bytes(8 * self._SIZE))
        chunk[number % self._SIZE] = end_ns

    def get(self, number: int) -> int:
        """The instant; 0 where it has not ended."""
        chunk = self._chunks.get(number // self._SIZE)
        return chunk[number % self._SIZE] if chunk is not None else 0


class Feed:
    """The tickets of one offer, in the order in which they become due.

    Instants are those of `time.monotonic_ns`; `start_ns` is the plan's time 0. In a closed loop times are ignored
    and a ticket is due as soon as a place is free; with `queries` no new one is, once there were enough.
    """

    def __init__(
        self,
        source: Source,
        make: Callable[[Ticket], bytes],
        start_ns: int,
        *,
        closed: bool,
        queries: Queries | None = None,
    ) -> None:
        self._source, self._make, self._start_ns, self._closed = source, make, start_ns, closed
        self._queries = queries
        self._made = self._first_ns = self._latest_ns = 0  # with queries: how many, and when the first and the latest
        self._rows: Iterator[Ticket] = iter(())
        self._next: Ticket | None = None  # read, but still beyond the horizon
        self._due: list[Ticket] = []  # a heap of those that have a time
        self._roots: deque[Ticket] = deque()  # a closed loop's, which have none
        self._waiting: dict[int, list[Ticket]] = {}  # by the request that they wait for
        self._unprepared: deque[Ticket] = deque()
        self._prepared_bytes = self._prepared = 0
        self._ends: EndTimes | None = None

    def next_ns(self) -> int | None:
        """When the next ticket that waits for nothing is due."""
        return self._due[0].ready_ns if self._due else None

    def pop(self, now_ns: int) -> Ticket | None:
        """The next ticket that is due, with its bytes; in a closed loop a new one where no user goes on."""
        if self._due and self._due[0].ready_ns <= now_ns:
            ticket = heapq.heappop(self._due)  # in a closed loop: somebody goes on before somebody new comes
        elif self._roots and not self._enough():
            ticket = self._new(now_ns)
        else:
            return None
        if ticket.payload is None:
            ticket.payload = self._make(ticket)  # too late to be early: the lateness shows in the sample
        else:
            self._prepared -= 1
            self._prepared_bytes -= len(ticket.payload)
        return ticket

    def over(self) -> bool:
        """Whether nothing is left that could ever be due. What waits for a request in flight is left."""
        if self._enough():
            return True
        return not (self._due or self._roots or self._waiting or self._next) and self._source.ended()

    def _enough(self) -> bool:
        queries = self._queries
        return queries is not None and queries.enough(self._made, self._latest_ns - self._first_ns)

    def _new(self, now_ns: int) -> Ticket:
        self._made += 1
        self._first_ns = self._first_ns or now_ns
        self._latest_ns = now_ns
        return self._roots.popleft()

    def ended(self, number: int, end_ns: int) -> bool:
        """A request has ended, well or not: those that wait for it become due when their users have thought.

        Returns whether there were any.
        """
        if self._ends is None:
            return False
        self._ends.put(number, end_ns)
        waiting = self._waiting.pop(number, ())
        for ticket in waiting:
            self._push(ticket, end_ns)
        return bool(waiting)

    def read(self, now_ns: int) -> None:
        """Take in the rows that come within the horizon."""
        while (ticket := self._next or self._row()) is not None:
            if self._is_far(ticket, now_ns):
                self._next = ticket
                return
            self._next = None
            self._take(ticket)

    def prepare(self) -> bool:
        """Make the bytes of the next ticket in the order of the plan. Returns whether another could be made now."""
        if self._prepared >= PREPARED_AHEAD or self._prepared_bytes >= PREPARED_BYTES:
            return False
        while self._unprepared:
            ticket = self._unprepared.popleft()
            if ticket.payload is None:
                ticket.payload = self._make(ticket)
                self._prepared += 1
                self._prepared_bytes += len(ticket.payload)
                break
        return bool(self._unprepared)

    def _is_far(self, ticket: Ticket, now_ns: int) -> bool:
        if self._closed:
            return len(self._roots) >= READ_AHEAD
        return ticket.scheduled_ns > now_ns + HORIZON_NS

    def _row(self) -> Ticket | None:
        ticket = next(self._rows, None)
        while ticket is None:
            piece = self._source.poll()
            if piece is None:
                return None
            self._rows = tickets(piece, self._start_ns)
            if len(piece.block.after) and self._ends is None:
                self._ends = EndTimes()
            ticket = next(self._rows, None)
        return ticket

    def _take(self, ticket: Ticket) -> None:
        self._unprepared.append(ticket)
        if ticket.after == NO_REQUEST:
            self._take_root(ticket)
            return
        assert self._ends is not None  # a block with `after` made it
        end_ns = self._ends.get(ticket.after)
        if end_ns:
            self._push(ticket, end_ns)
        else:
            self._waiting.setdefault(ticket.after, []).append(ticket)

    def _take_root(self, ticket: Ticket) -> None:
        if self._closed:
            self._roots.append(ticket)
        else:
            ticket.ready_ns = ticket.scheduled_ns
            heapq.heappush(self._due, ticket)

    def _push(self, ticket: Ticket, end_ns: int) -> None:
        ready_ns = end_ns + ticket.think_ns
        ticket.ready_ns = ready_ns if self._closed else max(ready_ns, ticket.scheduled_ns)
        heapq.heappush(self._due, ticket)
