"""Client: sends what LoadGen issues and tells LoadGen what came. One event loop in a thread beside LoadGen's own.

LoadGen takes the time when it is told, so it is told before anything else is done with an answer. It knows no
failures and waits for ever: every sample that it issued is told complete exactly once, whatever happens here.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from caveat.loadgen.answers import Dialect
from caveat.loadgen.connection import Connection
from caveat.loadgen.dialects import DIALECTS
from caveat.loadgen.flights import Flights
from caveat.loadgen.loop_watch import LoopWatch
from caveat.loadgen.official.counting import Counting, StartSpread
from caveat.loadgen.official.process import OfficialOrder
from caveat.loadgen.official.telling import TellingConnection
from caveat.loadgen.official.texts import Make
from caveat.loadgen.pool import Pool
from caveat.loadgen.recorder import Recorder
from caveat.loadgen.rows import Rows
from caveat.loadgen.settings import ns
from caveat.loadgen.tally import Tally
from caveat.loadgen.tickets import Ticket
from caveat.loadgen.writer import Writer
from caveat.workload import NO_REQUEST

Issued = Sequence[tuple[int, int]]
"""LoadGen's id of each sample, and its index in the library."""

_NEVER_NS = _NO_BOUND = 1 << 62
_SWEEP_NS = 50_000_000
_FLUSH_NS = 500_000_000
_AHEAD, _AHEAD_S = 8, 3.0


class Harness(Protocol):
    """LoadGen's side of an answer."""

    def first_token(self, sample: int, text: str) -> None:
        """The first token of a sample is there."""
        ...

    def complete(self, sample: int, tokens: int, text: str) -> None:
        """A sample is over. `tokens` is 0 where nobody knows, or where it failed."""
        ...


class Client:
    """Runs on one event loop, once. `take` may be called from any thread, everything else belongs to the loop."""

    due_ns = _NEVER_NS  # for connections: nothing is ever due, LoadGen keeps the time

    def __init__(
        self,
        order: OfficialOrder,
        make: Make,
        harness: Harness,
        writer: Writer,
        schedule_ns: npt.NDArray[np.int64] | None,
        secrets: Sequence[str],
    ) -> None:
        self._settings, self._endpoint, self._make = order.settings, order.endpoint, make
        self._harness, self._writer, self._schedule_ns = harness, writer, schedule_ns
        self._loop = asyncio.get_running_loop()
        self._dialect: Dialect = DIALECTS[order.endpoint.dialect]
        self.watch = LoopWatch(self._loop, self._beat)
        self.tally, self.counting, self.start_spread = Tally(), Counting(), StartSpread()
        self._rows = Rows()
        self._recorder = Recorder(self._rows, writer, self.tally, self._settings.client, secrets)
        self._pool = Pool(self._loop, order.endpoint, self._settings.client.connect_timeout_s, self._connection)
        self._flights: Flights[TellingConnection] = Flights(self._loop, self._pool, self._never_left)
        self._offline = self._settings.scenario == "offline"
        self._handed: deque[tuple[Issued, int]] = deque()
        self._waiting: deque[tuple[int, int, int]] = deque()  # number, index, when LoadGen issued it
        self._open: dict[int, int] = {}  # what LoadGen waits for: its id, by the number of the request
        self._deadline_ns = ns(order.deadline_s)
        self._start_ns = self._sweep_ns = self._flush_ns = 0
        self._sending = self._closed = False

    def _connection(self) -> TellingConnection:
        stream, keeps_text = self._endpoint.stream, self._settings.mode == "accuracy"
        return TellingConnection(
            self, self.watch, self._dialect, self._settings.client, stream=stream, keeps_text=keeps_text
        )

    # The course of a run

    async def open(self) -> None:
        """Resolve the name and open connections; what fails here will fail again as samples."""
        wanted = self._settings.client.connections
        try:
            async with asyncio.timeout(_AHEAD_S):
                await self._pool.resolve()
        except (OSError, TimeoutError):
            return
        await self._pool.open_ahead(_AHEAD if wanted is None else wanted, _AHEAD_S)
        self.tally.ahead = self._pool.opened
        self._pool.refresh(time.monotonic_ns())

    async def close(self) -> None:
        """Leave nothing open, neither here nor at LoadGen."""
        self._closed = True
        self._deadline_ns = -1
        self._send_handed()
        self.watch.stop()
        self._give_up("the run is over")
        await self._flights.close()
        self._pool.close()
        self._writer.put(self._rows.take())

    def opened(self) -> int:
        """Connections made so far."""
        return self._pool.opened

    def _begin(self, now_ns: int) -> None:
        """LoadGen's clock runs: its first query leaves at its time 0."""
        self._start_ns = now_ns
        self._writer.start(now_ns)
        self._recorder.start(now_ns, closed=self._schedule_ns is None and not self._offline)
        self.tally.begin()
        self._pool.refresh(now_ns)
        self.watch.start()

    # Sending

    def take(self, issued: Issued) -> None:
        """Called by LoadGen's thread, which must not be held up. RuntimeError where the loop is gone."""
        if self._closed:
            raise RuntimeError("the client is closed")
        self._handed.append((issued, time.monotonic_ns()))
        self._loop.call_soon_threadsafe(self._send_handed)

    def _send_handed(self) -> None:
        if not self.watch.marked:
            self.watch.enter(time.monotonic_ns())
        while self._handed:
            issued, issued_ns = self._handed.popleft()
            if not self._start_ns:
                self._begin(issued_ns)
            for sample, index in issued:
                number = self.counting.issued
                self.counting.issued += 1
                self._open[number] = sample
                self._waiting.append((number, index, issued_ns))
            self._send_waiting()

    def _send_waiting(self) -> None:
        if self._sending:
            return  # called from within: the loop below goes on
        self._sending = True
        most = self._settings.offline_in_flight if self._offline else _NO_BOUND
        while self._waiting and len(self._flights) < most:
            ticket = self._ticket(*self._waiting.popleft())
            try:
                self._send(ticket)
            except Exception as error:  # the run must go on, and LoadGen must not wait for this one
                self._unsent(ticket, "internal", f"{type(error).__name__}: {error}")
        self._sending = False

    def _ticket(self, number: int, index: int, issued_ns: int) -> Ticket:
        """Its scheduled time where there is one: the schedule is known, its zero is the first query's issue."""
        due_ns = self._start_ns if self._offline else issued_ns
        if self._schedule_ns is not None and number < len(self._schedule_ns):
            due_ns = self._start_ns + int(self._schedule_ns[number])
            self.start_spread.add(issued_ns - due_ns)
        lengths = self._settings.lengths(index)
        # `after` has no other use here and holds the sample's index, for a request that has to be made again.
        return Ticket(number, NO_REQUEST, NO_REQUEST, due_ns, due_ns, index, 0, *lengths, ())

    def _send(self, ticket: Ticket) -> None:
        now_ns = time.monotonic_ns()
        if now_ns - self._start_ns >= self._deadline_ns:
            self._unsent(ticket, "cancelled", "LoadGen issued it after the deadline")
            return
        self.tally.sent += 1
        self.tally.late.add(now_ns - ticket.ready_ns)
        ticket.payload = self._bytes(ticket)
        self._flights.send(ticket, now_ns)
        self.tally.in_flight_most = max(self.tally.in_flight_most, len(self._flights))

    def _bytes(self, ticket: Ticket) -> bytes:
        return self._make(ticket.after, ticket.number)

    def _never_left(self, ticket: Ticket, error: str, text: str) -> None:
        self._unsent(ticket, error, text)
        if not self._closed:
            self._send_waiting()

    # What comes back

    def fire(self, now_ns: int) -> None:
        """For connections: there is nothing to send but what LoadGen issues."""

    def lost(self, connection: Connection) -> None:
        """An idle connection was closed by the server: the pool finds out when it is taken."""

    def first_token(self, number: int, text: str) -> None:
        """A connection has the first token of a request."""
        if self._settings.token_latencies and not self._offline:
            self._harness.first_token(self._open[number], text)

    def ended(self, connection: Connection, error: str, text: str | bytes, *, reusable: bool) -> None:
        """A request is over: LoadGen first, then the row, then what waits."""
        ticket = connection.ticket
        assert ticket is not None and isinstance(connection, TellingConnection)
        self._flights.flying.discard(connection)
        if error and self._flights.sent_again(connection, error, self._bytes):
            return
        self._tell(ticket, connection, error)
        self._recorder.ended(connection, ticket, error, text, draining=False)
        connection.ticket = None
        if reusable:
            self._pool.put(connection)
        self._send_waiting()

    def _tell(self, ticket: Ticket, connection: TellingConnection, error: str) -> None:
        answer = "" if error else "".join(connection.text)
        if not connection.told:  # it came with the end, or never
            connection.told = True
            self.first_token(ticket.number, answer)
        usage = connection.usage
        said = usage.completion_tokens if usage is not None else None
        self._harness.complete(self._open.pop(ticket.number), 0 if error else said or 0, answer)
        self.counting.ended(error, said)

    def _unsent(self, ticket: Ticket, error: str, text: str) -> None:
        """It never left: told, counted, and its row written."""
        sample = self._open.pop(ticket.number, None)
        if sample is None:
            return
        if self._settings.token_latencies and not self._offline:
            self._harness.first_token(sample, "")
        self._harness.complete(sample, 0, "")
        self.counting.ended(error, None)
        self._recorder.unsent(ticket, error, text, time.monotonic_ns(), draining=False)

    # Every 5 ms

    def _beat(self, now_ns: int) -> None:
        self.tally.window(now_ns)
        if now_ns >= self._sweep_ns:
            self._sweep_ns = now_ns + _SWEEP_NS
            self._flights.check(now_ns)
            if self._open and now_ns - self._start_ns >= self._deadline_ns:
                self._give_up("it had not ended at the deadline of the run")
        if now_ns >= self._flush_ns:
            self._flush_ns = now_ns + _FLUSH_NS
            self._writer.put(self._rows.take())

    def _give_up(self, why: str) -> None:
        """Everything that LoadGen still waits for is told to be over."""
        while self._waiting:
            self._unsent(self._ticket(*self._waiting.popleft()), "cancelled", why)
        self._flights.cancel()
