"""Listener: the socket of a site, and the coroutine that serves until it is told to stop.

Bound to this machine unless somebody insists: the endpoint does whatever it is asked and knows no keys.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import uvloop

from caveat.errors import InputError, UsageError
from caveat.loopback.behaviour import Behaviour
from caveat.loopback.connection import Connection
from caveat.loopback.endpoint import Endpoint
from caveat.loopback.engine import Engine
from caveat.loopback.site import Site

BACKLOG = 4096


class Listener:
    """A listening socket, which can go away for a while and come back at the same port."""

    def __init__(self, behaviour: Behaviour, engine: Engine, host: str, port: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._host = host
        self._port = port
        self._numbers = count()
        self._server: asyncio.Server | None = None
        self._opening: asyncio.Task[None] | None = None
        self.site = Site(Endpoint(behaviour, engine, self._loop, self._refuse_for))

    @property
    def url(self) -> str:
        """Where the site is reached."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def open(self) -> None:
        """Listen. Raises InputError where the address cannot be had."""
        try:
            self._server = await self._loop.create_server(
                self._connection, self._host, self._port, backlog=BACKLOG, reuse_address=True
            )
        except OSError as error:
            raise InputError(f"{self.url}: {error}", next="choose another port, or 0 for any free one") from None
        self._port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Listen no more, and end every connection."""
        if self._server is not None:
            self._server.close()
        self.site.close()

    def _connection(self) -> Connection:
        return Connection(self.site, next(self._numbers))

    def _refuse_for(self, seconds: float) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            self._loop.call_later(seconds, self._open_again)

    def _open_again(self) -> None:
        self._opening = self._loop.create_task(self.open())


async def serve(
    behaviour: Behaviour, engine: Engine, host: str, port: int, ready: Callable[[Listener, Callable[[], None]], None]
) -> None:
    """Serve in the running loop. `ready` is told when connections are taken, and what stops it from any thread."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stopped.set)

    listener = Listener(behaviour, engine, host, port)
    try:
        await listener.open()
        ready(listener, stop)
        await stopped.wait()
    finally:
        listener.close()


def run_in_own_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run the coroutine in a new fast loop of this thread, until it ends."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def checked_host(host: str, *, exposed: bool) -> str:
    """The address to bind to. Raises UsageError where it is not one that only this machine reaches.

    A name is never looked up: it may mean two addresses, or another machine tomorrow.
    """
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_local = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise UsageError(f"found host {host[:80]!r}, expected an IP address or localhost") from None
    if not (is_local or exposed):
        raise UsageError(
            f"found host {host[:80]!r}, expected an address that only this machine reaches",
            next="use 127.0.0.1, or say explicitly that others may reach the endpoint: it knows no keys",
        )
    return address
