"""Offering: one process sends one share of a plan. Brings feed, alarm, pool and rows together on one event loop.

Open loop: an alarm rings when the next request is due, and it is sent whatever else is in flight. Closed loop: a
request is sent where a place is free, or, in whole queries, where all are. Every ticket that is taken up ends in
exactly one row.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from caveat.loadgen.alarm import alarm
from caveat.loadgen.answers import Dialect
from caveat.loadgen.connection import Connection
from caveat.loadgen.dialects import DIALECTS
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.feed import Feed, Source
from caveat.loadgen.flights import Flights
from caveat.loadgen.loop_watch import LoopWatch
from caveat.loadgen.places import Places
from caveat.loadgen.pool import Pool
from caveat.loadgen.recorder import Recorder
from caveat.loadgen.rows import Rows
from caveat.loadgen.settings import Settings, ns
from caveat.loadgen.tally import Tally
from caveat.loadgen.tickets import Ticket
from caveat.loadgen.writer import Writer
from caveat.workload import Queries

NEVER_NS = 1 << 62
SWEEP_NS = 50_000_000
FLUSH_NS = 500_000_000
REST_S = 0.1
"""A place of a closed loop whose connection failed rests so long: a dead server is not hammered through the plan."""
_PREPARE_NS = 200_000
_AHEAD_S = 3.0


@dataclass(frozen=True, slots=True)
class Order:
    """What one process is to do. `concurrency` is its own share, None an open loop; `queries`: a closed one in them."""

    endpoint: Endpoint
    settings: Settings
    concurrency: int | None
    make: Callable[[Ticket], bytes]
    secrets: tuple[str, ...]
    keeps_text: bool = False
    queries: Queries | None = None


class Offering:
    """Runs on one event loop, once."""

    def __init__(self, order: Order, source: Source, writer: Writer, cancelled: Callable[[], bool]) -> None:
        self._order, self._source, self._writer, self._cancelled = order, source, writer, cancelled
        self._loop = asyncio.get_running_loop()
        self._dialect: Dialect = DIALECTS[order.endpoint.dialect]
        self.watch = LoopWatch(self._loop, self._beat)
        self.tally = Tally()
        self._rows = Rows()
        self._recorder = Recorder(self._rows, writer, self.tally, order.settings, order.secrets)
        self.due_ns = NEVER_NS  # read by every connection: what is due is sent before the loop turns again
        self._pool = Pool(self._loop, order.endpoint, order.settings.connect_timeout_s, self._connection)
        self._flights: Flights[Connection] = Flights(self._loop, self._pool, self._unsent)
        self._alarm = alarm(self._loop, self._ring)
        self._places = Places(order.concurrency, order.queries) if order.concurrency is not None else None
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._drain_until_ns = 0  # set once feeding has stopped
        self._sweep_ns = self._flush_ns = 0
        self._filling = self._preparing = False
        self._start_ns = 0
        self._feed: Feed | None = None

    def _connection(self) -> Connection:
        order = self._order
        return Connection(
            self, self.watch, self._dialect, order.settings, stream=order.endpoint.stream, keeps_text=order.keeps_text
        )

    # The course of a run

    async def open(self) -> None:
        """Resolve the name and open connections; what fails here will fail again as samples."""
        wanted = self._order.settings.connections
        if wanted is None:
            wanted = self._order.concurrency or 8
        try:
            async with asyncio.timeout(_AHEAD_S):
                await self._pool.resolve()
        except (OSError, TimeoutError):
            return
        await self._pool.open_ahead(wanted, _AHEAD_S)
        self.tally.ahead = self._pool.opened

    async def run(self, start_ns: int) -> None:
        """Send everything; returns when every request has its row. Raises what the plan or the sink raised."""
        self._start_ns = start_ns
        self._recorder.start(start_ns, closed=self._order.concurrency is not None)
        closed, queries = self._order.concurrency is not None, self._order.queries
        self._feed = Feed(self._source, self._order.make, start_ns, closed=closed, queries=queries)
        self._feed.read(start_ns)
        while self._feed.prepare():
            pass
        self.tally.begin()
        self._pool.refresh(start_ns)
        self.watch.start()
        self._alarm.at(start_ns)
        await self._over

    async def close(self) -> None:
        """Leave nothing open, whatever happened before; what is still in flight gets its row."""
        self.watch.stop()
        self._alarm.close()
        await self._flights.close()
        self._pool.close()
        self._writer.put(self._rows.take())

    def opened(self) -> int:
        """Connections made so far."""
        return self._pool.opened

    # Sending

    def _ring(self) -> None:
        now_ns = time.monotonic_ns()
        if not self.watch.marked:
            self.watch.enter(now_ns)
        self.fire(now_ns)

    def fire(self, now_ns: int) -> None:
        """Send all that is due and can be sent; set the alarm for the next."""
        if self._filling or self._over.done() or now_ns < self._start_ns:
            return  # called from within (the loop below goes on), or nothing may be sent yet
        self._filling = True
        try:
            self._send_due(now_ns)
        except Exception as error:  # the plan is foreign code
            self._stop_with(error)
        finally:
            self._filling = False

    def _send_due(self, now_ns: int) -> None:
        feed = self._feed
        assert feed is not None
        places = self._places
        while not self._drain_until_ns and (places is None or places.any()):
            ticket = feed.pop(now_ns) or self._read_more(feed, now_ns)
            if ticket is None:
                break
            if places is not None:
                ticket.ready_ns = max(ticket.ready_ns, places.take(now_ns), self._start_ns)
            self._send(ticket, now_ns)
            now_ns = time.monotonic_ns()
        self._set_alarm(feed)
        if not len(self._flights):
            self._end_if_over()

    def _read_more(self, feed: Feed, now_ns: int) -> Ticket | None:
        feed.read(now_ns)
        return feed.pop(now_ns)

    def _set_alarm(self, feed: Feed) -> None:
        next_ns = feed.next_ns()
        if next_ns is None or self._drain_until_ns or (self._places is not None and not self._places.free):
            self.due_ns = NEVER_NS
        elif next_ns != self.due_ns:
            self.due_ns = next_ns
            self._alarm.at(next_ns)

    def _send(self, ticket: Ticket, now_ns: int) -> None:
        self.tally.sent += 1
        self.tally.late.add(now_ns - ticket.ready_ns)
        self._flights.send(ticket, now_ns)
        in_flight = len(self._flights)
        if in_flight > self.tally.in_flight_most:
            self.tally.in_flight_most = in_flight

    def in_flight(self) -> int:
        """Requests that were taken up and are not over."""
        return len(self._flights)

    # Ends

    def ended(self, connection: Connection, error: str, text: str | bytes, *, reusable: bool) -> None:
        """A request is over: its row, then the connection's next."""
        ticket = connection.ticket
        assert ticket is not None
        self._flights.flying.discard(connection)
        if error and not self._drain_until_ns and self._flights.sent_again(connection, error, self._order.make):
            return
        self._recorder.ended(connection, ticket, error, text, draining=self._drain_until_ns > 0)
        end_ns = connection.end_ns
        connection.ticket = None
        if reusable:
            self._pool.put(connection)
        self._after_end(ticket, end_ns, frees_place=True)

    def _unsent(self, ticket: Ticket, error: str, text: str) -> None:
        """No connection could be made. In a closed loop its place rests for a moment."""
        now_ns = time.monotonic_ns()
        self._recorder.unsent(ticket, error, text, now_ns, draining=self._drain_until_ns > 0)
        rests = self._places is not None and error != "cancelled"
        self._after_end(ticket, now_ns, frees_place=not rests)
        if rests:
            self._loop.call_later(REST_S, self._place_rested)

    def _after_end(self, ticket: Ticket, end_ns: int, *, frees_place: bool) -> None:
        assert self._feed is not None
        released = self._feed.ended(ticket.number, end_ns)
        if self._places is not None:
            self._places.free += frees_place
            self.fire(time.monotonic_ns())
        elif released:
            self.fire(time.monotonic_ns())
        elif not self._flights.flying:
            self._loop.call_soon(self._end_if_over)

    def _place_rested(self) -> None:
        assert self._places is not None
        self._places.free += 1
        self.fire(time.monotonic_ns())

    def lost(self, connection: Connection) -> None:
        """An idle connection was closed by the server: the pool finds out when it is taken."""

    def _end_if_over(self) -> None:
        if self._over.done() or len(self._flights) or self._feed is None:
            return
        if self._drain_until_ns or self._feed.over():
            self._over.set_result(None)

    def _stop_with(self, error: BaseException) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    # Every 5 ms

    def _beat(self, now_ns: int) -> None:
        self.tally.window(now_ns)
        if not self._preparing:
            self._prepare()
        if now_ns >= self._sweep_ns:
            self._sweep_ns = now_ns + SWEEP_NS
            self._sweep(now_ns)
        if now_ns >= self._flush_ns:
            self._flush_ns = now_ns + FLUSH_NS
            self._writer.put(self._rows.take())

    def _prepare(self) -> None:
        """Make a few requests ahead, and go on in the next turn: never long enough to hold up what comes in."""
        feed = self._feed
        assert feed is not None
        self._preparing = False
        if self._over.done() or self._drain_until_ns:
            return
        now_ns = time.monotonic_ns()
        try:
            feed.read(now_ns)
            while more := feed.prepare():
                if time.monotonic_ns() - now_ns > _PREPARE_NS:
                    break
            self._set_alarm(feed)
        except Exception as error:  # the plan and the prompts are foreign code
            self._stop_with(error)
            return
        if more:
            self._preparing = True
            self._loop.call_soon(self._prepare)

    def _sweep(self, now_ns: int) -> None:
        self._flights.check(now_ns)
        if not self._drain_until_ns and (self._cancelled() or self._writer.failed()):
            self._drain_until_ns = now_ns + (0 if self._writer.failed() else ns(self._order.settings.drain_s))
            self.due_ns = NEVER_NS
        if self._drain_until_ns and now_ns >= self._drain_until_ns:
            self._flights.cancel()
        elif not self._drain_until_ns:
            self.fire(now_ns)  # also finds out that all is over, or that a late pipe has brought more
        self._end_if_over()
