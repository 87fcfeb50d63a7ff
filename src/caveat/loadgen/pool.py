"""Pool: the connections of one endpoint. The name is resolved once; a connection is made only where none is idle."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from caveat.errors import InputError
from caveat.loadgen.connection import Connection
from caveat.loadgen.endpoint import Endpoint

MAX_IDLE = 65_536
C = TypeVar("C", bound=Connection)


class Pool(Generic[C]):
    """Idle connections, the one used last on top: few connections stay warm, the others grow old and are dropped.

    Some servers (llama.cpp's, after a stream) close a connection behind an answer without having said so. Until one
    connection has carried two answers it is not known whether a server keeps them; see `may_have_closed`.
    """

    __slots__ = ("_address", "_endpoint", "_idle", "_keeps", "_loop", "_make", "_timeout_s", "_tls", "opened", "where")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        endpoint: Endpoint,
        timeout_s: float,
        make: Callable[[], C],
    ) -> None:
        self._loop, self._endpoint, self._timeout_s, self._make = loop, endpoint, timeout_s, make
        self._address = endpoint.address()
        self._tls = tls_context(endpoint) if self._address.secure else None
        self._idle: list[C] = []
        self.where: str | None = None  # numeric address, once resolved
        self.opened = 0
        self._keeps: bool | None = None  # whether the server keeps connections; None: not known yet

    async def resolve(self) -> str:
        """Look the name up, once. Raises socket.gaierror."""
        if self.where is None:
            address = self._address
            found = await self._loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
            self.where = await self._first_that_answers([str(item[4][0]) for item in found])
        return self.where

    async def _first_that_answers(self, candidates: list[str]) -> str:
        """`localhost` is often ::1 and 127.0.0.1 with a server on one of them: chosen once, not per request."""
        distinct = list(dict.fromkeys(candidates))
        for candidate in distinct if len(distinct) > 1 else ():
            try:
                async with asyncio.timeout(min(self._timeout_s, 2.0)):
                    transport, _ = await self._loop.create_connection(asyncio.Protocol, candidate, self._address.port)
            except (OSError, TimeoutError):
                continue
            transport.abort()
            return candidate
        return distinct[0]

    def take(self, now_ns: int) -> C | None:
        """An idle connection that is good for another request, or None. Those that are not are closed."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable(now_ns):
                return connection
            connection.close()
        return None

    def put(self, connection: C) -> None:
        """It has carried an answer and is idle again."""
        connection.answers += 1
        if connection.answers == 2 and self._keeps is None:
            self._keeps = True
        if self._keeps is not False and len(self._idle) < MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def may_have_closed(self, connection: C) -> bool:
        """Whether a connection that was closed before the answer's first byte was closed behind the answer before it.

        So it is taken where the server was never seen to keep one, and then no other is used a second time. That is
        no fault of the server's, and the request, which it never read, may be sent again. Once connections are known
        to be kept, one that closes is a failure.
        """
        if self._keeps or not connection.answers:
            return False
        self._keeps = False
        while self._idle:
            self._idle.pop().close()
        return True

    async def connect(self) -> C:
        """A new connection. Raises OSError, ssl.SSLError or TimeoutError."""
        async with asyncio.timeout(self._timeout_s):
            where = await self.resolve()
            _, connection = await self._loop.create_connection(
                self._make,
                where,
                self._address.port,
                ssl=self._tls,
                server_hostname=self._address.host if self._tls else None,
            )
        self.opened += 1
        return connection

    async def open_ahead(self, count: int, within_s: float) -> None:
        """Make idle connections before the start. What fails is left to the requests to fail at."""
        tasks = [self._loop.create_task(self.connect()) for _ in range(count)]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=within_s)
            for task in late:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            self._idle += [item for item in done if not isinstance(item, BaseException)]
            self.refresh(time.monotonic_ns())

    def refresh(self, now_ns: int) -> None:
        """Idle connections count as used now: the run is about to begin."""
        for connection in self._idle:
            connection.last_ns = now_ns

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """The system's certificates or the endpoint's own. Raises InputError for a file that holds none."""
    try:
        context = ssl.create_default_context(cafile=endpoint.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"endpoint.ca_file: {endpoint.ca_file}: {error}, expected certificates in PEM form") from error
    context.set_alpn_protocols(["http/1.1"])
    if not endpoint.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
