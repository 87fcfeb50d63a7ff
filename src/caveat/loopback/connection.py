"""Connection: HTTP/1.1 from one client, on httptools: requests in, bytes out, one answer at a time in order.

Bytes go to the kernel by os.write whenever nothing is queued before them: one call is one write, and what a time stamp
says was written has left this process. A transport would gather the writes of one turn of the loop into one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import deque
from typing import NamedTuple, Protocol, cast

import httptools

from caveat.loopback.wire import CONTINUE, ApiError, error_response

HEAD_BYTES = 64 << 10
PIPELINED = 64
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing sends a reset


class Request(NamedTuple):
    """One request whose body is there. The path is without its query."""

    method: str
    path: str
    body: bytes


class Handler(Protocol):
    """Who answers. It calls `send` and then `finish`, `reset` or `close` once for each request."""

    body_bytes: int

    def handle(self, connection: Connection, request: Request) -> None:
        """A request has come."""
        ...

    def opened(self, connection: Connection) -> None:
        """The connection stands."""
        ...

    def lost(self, connection: Connection) -> None:
        """The client has gone, or the connection was closed."""
        ...


class Connection(asyncio.Protocol):
    """One client. `number` counts connections from 0; `serving` is whatever the handler keeps here."""

    __slots__ = (
        "_body",
        "_busy",
        "_fd",
        "_handler",
        "_head_bytes",
        "_last",
        "_parser",
        "_size",
        "_transport",
        "_url",
        "_waiting",
        "number",
        "serving",
    )

    def __init__(self, handler: Handler, number: int) -> None:
        self.number = number
        self.serving: int | None = None
        self._handler = handler
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._fd = -1
        self._waiting: deque[Request] = deque()
        self._busy = False
        self._last = False  # no request after the one that is being answered
        self._head_bytes = 0
        self._url = b""
        self._body: list[bytes] = []
        self._size = 0

    @property
    def is_open(self) -> bool:
        """Whether bytes can still be sent."""
        return self._transport is not None and not self._transport.is_closing()

    # --- what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        self._fd = transport.get_extra_info("socket").fileno()
        self._handler.opened(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if not self.is_open or self._last:
            return
        if self._head_bytes >= 0:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # answered as the plain request that it also is, the last one
        except httptools.HttpParserError as error:
            self._refuse(ApiError(400, f"not HTTP/1.1: {str(error)[:200]}"))
        if self._head_bytes > HEAD_BYTES:
            self._refuse(ApiError(431, f"expected a head of at most {HEAD_BYTES} bytes"))

    def eof_received(self) -> None:
        """The client has gone. One that only ended its sending looks the same, and is taken for gone as elsewhere."""
        if self._busy and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is no more."""
        self._transport = None
        self._waiting.clear()
        self._handler.lost(self)

    # --- what the parser calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._url = b""
        self._body = []
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """Some of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header. Only one matters here, and none is kept: keys stay where they are."""
        if len(name) == 6 and name.lower() == b"expect" and value.lower() == b"100-continue" and not self._busy:
            self.send(CONTINUE)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head_bytes = -1

    def on_body(self, body: bytes) -> None:
        """Some of the body."""
        self._size += len(body)
        if self._size > self._handler.body_bytes:
            self._refuse(ApiError(413, f"expected a body of at most {self._handler.body_bytes} bytes"))
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._head_bytes = 0
        if self._last or not self.is_open:
            return
        version = self._parser.get_http_version()
        if version != "1.1":
            self._refuse(ApiError(505, f"HTTP {version}: expected 1.1"))
            return
        path = self._url.partition(b"?")[0].decode("ascii", "replace")
        request = Request(self._parser.get_method().decode("ascii"), path, b"".join(self._body))
        self._body = []
        self._last = not self._parser.should_keep_alive() or self._parser.should_upgrade()
        if not self._busy:
            self._busy = True
            self._handler.handle(self, request)
        elif len(self._waiting) < PIPELINED:
            self._waiting.append(request)
        else:
            self.close()

    # --- what the handler calls

    def send(self, data: bytes) -> None:
        """Write the bytes now, or after those that the kernel would not take yet."""
        transport = self._transport
        # A transport that is closing has closed its descriptor, and the number may be somebody else's by now.
        if transport is None or transport.is_closing():
            return
        if not transport.get_write_buffer_size():
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                transport.abort()
                return
            if sent == len(data):
                return
            data = data[sent:]
        transport.write(data)

    def answer(self, data: bytes) -> None:
        """Write a whole answer."""
        self.send(data)
        self.finish()

    def finish(self) -> None:
        """The answer is over; the next request that waits is handled."""
        self.serving = None
        if self._waiting:
            self._handler.handle(self, self._waiting.popleft())
            return
        self._busy = False
        if self._last:
            self.close()

    def close(self) -> None:
        """End the connection when everything is written."""
        if self._transport is not None:
            self._last = True
            self._transport.close()

    def reset(self) -> None:
        """End the connection at once, with a reset."""
        if self._transport is not None:
            self._last = True
            linger = self._transport.get_extra_info("socket")
            linger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    def _refuse(self, error: ApiError) -> None:
        """Say why, and close; in the middle of an answer just close."""
        if self.is_open and not self._last:
            if not self._busy:
                self.send(error_response(error, "connection: close"))
            self.close()
