"""Flights: the requests of one event loop that are on a connection, or wait for one to be made.

Whatever is sent here comes back exactly once: from its connection (`Connection.ended`), or as `unsent`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from caveat.loadgen.connection import Connection
from caveat.loadgen.failures import connect_failure
from caveat.loadgen.pool import Pool
from caveat.loadgen.tickets import Ticket

C = TypeVar("C", bound=Connection)


class Flights(Generic[C]):
    """`unsent(ticket, error class, text)` is called for a request for which no connection could be made."""

    __slots__ = ("_connecting", "_loop", "_pool", "_unsent", "flying")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pool: Pool[C], unsent: Callable[[Ticket, str, str], None]
    ) -> None:
        self._loop, self._pool, self._unsent = loop, pool, unsent
        self.flying: set[C] = set()
        self._connecting: dict[asyncio.Task[None], Ticket] = {}

    def __len__(self) -> int:
        return len(self.flying) + len(self._connecting)

    def send(self, ticket: Ticket, now_ns: int) -> None:
        """On an idle connection, or on a new one."""
        connection = self._pool.take(now_ns)
        if connection is None:
            self.send_on_new(ticket, now_ns)
            return
        connection.connected_ns = 0  # an old one: nothing was connected for this request
        self.flying.add(connection)
        connection.begin(ticket, now_ns)

    def send_on_new(self, ticket: Ticket, issued_ns: int) -> None:
        """On a connection that is made for it."""
        task = self._loop.create_task(self._connect(ticket, issued_ns))
        self._connecting[task] = ticket
        task.add_done_callback(self._never_connected)

    async def _connect(self, ticket: Ticket, issued_ns: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            connection = await self._pool.connect()
        except Exception as error:  # classified, never lost: whatever it is, the request has failed
            del self._connecting[task]
            self._unsent(ticket, connect_failure(error), str(error) or type(error).__name__)
        else:
            del self._connecting[task]
            self.flying.add(connection)
            connection.begin(ticket, issued_ns)

    def _never_connected(self, task: asyncio.Task[None]) -> None:
        """A task that was cancelled, perhaps before it took its first step, still owes its row."""
        ticket = self._connecting.pop(task, None)
        if ticket is not None:
            self._unsent(ticket, "cancelled", "the run was stopped")

    def sent_again(self, connection: C, error: str, make: Callable[[Ticket], bytes]) -> bool:
        """Whether a request that came back was never read by the server (see the pool) and is on its way once more."""
        ticket = connection.ticket
        assert ticket is not None
        if error != "reset-before-first-byte" or not self._pool.may_have_closed(connection):
            return False
        connection.ticket = None
        ticket.payload = make(ticket)  # the same bytes
        self.send_on_new(ticket, connection.issued_ns)
        return True

    def check(self, now_ns: int) -> None:
        """Give up those that took too long."""
        for connection in list(self.flying):
            connection.check(now_ns)

    def cancel(self) -> None:
        """Give up all. Those that are being connected come back in the next turn of the loop."""
        for connection in list(self.flying):
            connection.cancel()
        for task in list(self._connecting):
            task.cancel()

    async def close(self) -> None:
        """Give up all, and wait until each has come back."""
        tasks = list(self._connecting)
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
