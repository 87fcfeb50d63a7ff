"""Connection: one TCP connection and the request that is on it. HTTP/1.1 by httptools, times taken as data arrives.

The fields of a sample live on the connection and are used again for the next request: nothing is allocated for one.
Whatever a server sends ends in exactly one call of `ended`, with an error class of failures.py or none.
"""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from typing import Any, Protocol, cast

import httptools

from caveat.loadgen.answers import NOT_JSON, Answer, Dialect, Usage
from caveat.loadgen.conclusion import MAX_ERROR_BODY, Fault, cut_off, overdue, stream_fault
from caveat.loadgen.loop_watch import LoopWatch
from caveat.loadgen.settings import Settings, ns
from caveat.loadgen.sse import EventSplitter, TooLongError
from caveat.loadgen.tickets import Ticket

MAX_HEAD_BYTES = 256 << 10


class Owner(Protocol):
    """Who runs the connections."""

    due_ns: int

    def fire(self, now_ns: int) -> None:
        """Send what is due."""
        ...

    def ended(self, connection: Connection, error: str, text: str | bytes, *, reusable: bool) -> None:
        """The request on this connection is over; its fields are read before this returns."""
        ...

    def lost(self, connection: Connection) -> None:
        """The connection is gone and had no request on it."""
        ...


class Connection(asyncio.Protocol):
    """Carries one request at a time."""

    def __init__(
        self, owner: Owner, watch: LoopWatch, dialect: Dialect, settings: Settings, *, stream: bool, keeps_text: bool
    ) -> None:
        self._owner, self._watch, self._dialect, self._settings = owner, watch, dialect, settings
        self._stream, self._keeps_text = stream, keeps_text
        self._decode, self._says = dialect.event, dialect.says
        self._max_bytes = settings.max_answer_bytes
        self._splitter = EventSplitter(settings.max_event_bytes)
        self._parser: Any = httptools.HttpResponseParser(self)
        self._fd = -1
        self.transport: asyncio.Transport | None = None
        self.ticket: Ticket | None = None
        self.answers = 0  # that it has carried
        self.connected_ns = 0
        self.last_ns = 0

    # The request

    def begin(self, ticket: Ticket, issued_ns: int) -> None:
        """Send a prepared request. `issued_ns` is when it was taken up, before a connection was made for it."""
        self._reset()
        self.ticket = ticket
        payload, ticket.payload = ticket.payload, b""  # its memory is given back at once
        assert payload is not None  # the feed hands out prepared tickets only
        self.issued_ns = issued_ns
        self.sent_ns = self.last_ns = time.monotonic_ns()
        self._write(payload)

    def _reset(self) -> None:
        self.first_byte_ns = self.first_token_ns = self.last_token_ns = self.done_ns = self.end_ns = 0
        self.stall_ns = -1
        self.bytes = self.chunks = self.status = 0
        self.usage: Usage | None = None
        self.finish: str | None = None
        self.failure: Fault | None = None
        self.complete = self.excess = self.keep_alive = self.event_stream = self.delimited = False
        self._body: list[bytes] = []
        self.text: list[str] = []
        self.chunk_times: array[int] | None = array("q") if self._settings.chunk_times else None
        self._splitter.reset()

    def _write(self, payload: bytes) -> None:
        """Straight to the socket where possible: uvloop's `write` waits for the end of the loop's turn."""
        assert self.transport is not None
        written = 0
        if self._fd >= 0 and not self.transport.get_write_buffer_size():
            try:
                written = os.write(self._fd, payload)
            except BlockingIOError:
                pass
            except OSError as error:
                self._fail("reset-before-first-byte", str(error))
                return
        if written < len(payload):
            self.transport.write(memoryview(payload)[written:])

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands, TLS included."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's do not inherit from asyncio's
        self.connected_ns = self.last_ns = time.monotonic_ns()
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        """The hot path. The clock is read before anything else is done."""
        now_ns = time.monotonic_ns()
        watch = self._watch
        if not watch.marked:
            watch.enter(now_ns)
        if self.ticket is None:  # an answer that nobody asked for: the next one could not be told from it
            self.close()
            return
        self._now_ns = self.last_ns = now_ns
        if not self.first_byte_ns:
            self.first_byte_ns = now_ns
        self.bytes += len(data)
        if self.bytes > self._max_bytes or (self.bytes > MAX_HEAD_BYTES and not self.status):
            limit = self._max_bytes if self.status else min(MAX_HEAD_BYTES, self._max_bytes)
            self._fail("too-large", f"found {self.bytes} bytes, expected at most {limit}")
            return
        self._parse(data)
        if now_ns >= self._owner.due_ns:
            self._owner.fire(now_ns)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.failure and not self.complete:
                self.failure = ("malformed-http", f"{type(error).__name__}: {error}")
            self.keep_alive = False
        if self.failure:
            self._fail(*self.failure)
        elif self.complete:
            self._conclude()

    def eof_received(self) -> bool:
        """The server closes; what that means is told in `connection_lost`. False: we close as well."""
        self._fd = -1
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._fd = -1
        if self.ticket is None:
            self._owner.lost(self)
        elif fault := cut_off(self, exc):
            self._fail(*fault)
        else:
            self._conclude()

    # What httptools calls

    def on_message_begin(self) -> None:
        """A second answer in one reading is one too many."""
        self.excess = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Three headers matter."""
        lower = name.lower()
        if lower == b"content-type":
            self.event_stream = value.lower().startswith(b"text/event-stream")
        elif lower in (b"content-length", b"transfer-encoding"):
            self.delimited = True

    def on_headers_complete(self) -> None:
        """The status is known."""
        if not self.complete:
            self.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        """A piece of the body, already out of its HTTP chunk."""
        if self.failure or self.complete:
            return
        if not (self.event_stream and self._stream and 200 <= self.status < 300):
            self._body.append(body)
            return
        try:
            for event in self._splitter.feed(body):
                self._read(event)
        except TooLongError as error:
            self.failure = ("too-large", str(error))
        except NOT_JSON as error:
            self.failure = ("malformed-sse", f"{error}: {body[:MAX_ERROR_BODY].decode('utf-8', 'replace')}")

    def on_message_complete(self) -> None:
        """The answer is whole; 1xx answers only announce it."""
        if self.status >= 200:
            self.complete = True
            self.keep_alive = self._parser.should_keep_alive()
        else:
            self.event_stream = self.delimited = False

    def _read(self, event: bytes) -> None:
        if event == b"[DONE]":
            self.done_ns = self.done_ns or self._now_ns
            return
        answer = self._decode(event)
        if self._says(answer):
            if not self.first_token_ns:
                self.first_token_ns = self._now_ns
                self.stall_ns = self._now_ns - self._watch.since_ns
            self.last_token_ns = self._now_ns
            self.chunks += 1
            if self.chunk_times is not None:
                self.chunk_times.append(self._now_ns)
            if self._keeps_text:
                self.text.append(self._dialect.text(answer))
        self._note(answer)

    def _note(self, answer: Answer) -> None:
        if answer.usage is not None:
            self.usage = answer.usage
        for choice in answer.choices or ():
            if choice.finish_reason:
                self.finish = choice.finish_reason
        if answer.error is not None and self.failure is None:
            self.failure = ("error-in-answer", str(answer.error))

    # The end

    def _conclude(self) -> None:
        """The server has said all it had to say; whether that is an answer is told here."""
        body = b"".join(self._body)
        if not 200 <= self.status < 300:
            self._fail(f"http-{self.status}", body[:MAX_ERROR_BODY], keep=True)
        elif not self._stream:
            self._conclude_whole(body)
        elif fault := stream_fault(self, body):
            self._fail(*fault, keep=True)
        else:
            self._end("", "", reusable=self.keep_alive)

    def _conclude_whole(self, body: bytes) -> None:
        try:
            answer = self._dialect.whole(body)
        except NOT_JSON as error:
            self._fail("malformed-json", f"{error}: {body[:MAX_ERROR_BODY].decode('utf-8', 'replace')}", keep=True)
            return
        self._note(answer)
        if self.failure:
            self._fail(*self.failure, keep=True)
        elif answer.choices is None:
            self._fail("malformed-json", body[:MAX_ERROR_BODY], keep=True)
        else:
            self.text.append(self._dialect.text(answer) if self._keeps_text else "")
            self._end("", "", reusable=self.keep_alive)

    def check(self, now_ns: int) -> None:
        """Give up where a limit of time has passed."""
        settings = self._settings
        if self.done_ns and now_ns - self.done_ns > ns(1.0):
            self.keep_alive = False
            self._conclude()  # [DONE] came and the body never ends: that is not the answer's fault
        elif fault := overdue(self, now_ns, ns(settings.timeout_s), ns(settings.idle_s)):
            self._fail(*fault)

    def cancel(self) -> None:
        """Give up because the run is over."""
        self._fail("cancelled", "the run was stopped")

    def _fail(self, error: str, text: str | bytes, *, keep: bool = False) -> None:
        self._end(error, text, reusable=keep and self.keep_alive)

    def _end(self, error: str, text: str | bytes, *, reusable: bool) -> None:
        if self.ticket is None:
            return
        self.end_ns = self.last_ns if reusable or self.complete else self.done_ns or time.monotonic_ns()
        usable = reusable and not self.excess and self.transport is not None and not self.transport.is_closing()
        if not usable:
            self.close()
        self._owner.ended(self, error, text, reusable=usable)

    def usable(self, now_ns: int) -> bool:
        """Whether an idle connection may take a request: still open, and not idle for too long."""
        assert self.transport is not None
        return not self.transport.is_closing() and now_ns - self.last_ns <= ns(self._settings.reuse_s)

    def close(self) -> None:
        """Close it; nothing is waited for."""
        self._fd = -1
        if self.transport is not None:
            self.transport.abort()
