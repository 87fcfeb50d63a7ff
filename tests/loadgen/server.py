"""A server for faults: it answers with exactly the bytes, pauses and ends that a test writes down.

Real sockets on 127.0.0.1, in a thread with a loop of its own. Not for speed: one coroutine a connection.
"""

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

CLOSE = "close"  # end the connection in order
RESET = "reset"  # end it with RST
HANG = "hang"  # say nothing more, and keep it open


@dataclass(frozen=True)
class Wait:
    """Go on when the event is set."""

    event: asyncio.Event


Step = bytes | float | str | Wait
Answer = Callable[[int, bytes], Iterable[Step]]


def sse(*events: object) -> bytes:
    """Events as a server writes them; strings go as they are."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def delta(**fields: object) -> dict[str, object]:
    """One event of a chat stream."""
    return {"id": "x", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def finish(reason: str = "stop") -> dict[str, object]:
    """The event that says why it ended."""
    return {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def usage(prompt: int, answer: int, **more: object) -> dict[str, object]:
    """The event with counts."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": answer, **more}}


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(body: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(body), body)


def whole(body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """An answer with a length."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def stream(*events: object, done: bool = True) -> bytes:
    """A whole streamed answer in one write."""
    tail = chunk(sse("[DONE]")) if done else b""
    return STREAM + b"".join(chunk(sse(event)) for event in events) + tail + LAST


GOOD = stream(delta(role="assistant", content=""), delta(content="a"), delta(content="b"), finish(), usage(7, 2))


@dataclass
class Server:
    """`answer(number, request)` gives the steps for each request, numbered from 0 as they come."""

    answer: Answer
    tls: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    arrived_ns: list[int] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    in_flight_most: int = 0
    port: int = 0

    def __enter__(self) -> "Server":
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        """Its base."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def bodies(self) -> list[dict[str, object]]:
        """The JSON of each request."""
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.requests]

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self.tls, limit=1 << 24, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            first = True
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if first:
                    self.connections += 1  # a connection that is only tried out is none
                    first = False
                size = next((int(x[15:]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")), 0)
                if not await self._answer(head + await reader.readexactly(size), writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if self._over.is_set() else writer.close()

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        number = len(self.requests)
        self.requests.append(request)
        self.arrived_ns.append(time.monotonic_ns())
        self.in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self.in_flight)
        try:
            for step in self.answer(number, request):
                if not await self._step(step, writer):
                    return False
        finally:
            self.in_flight -= 1
        return True

    async def _step(self, step: Step, writer: asyncio.StreamWriter) -> bool:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, Wait):
            await step.event.wait()
        elif isinstance(step, float):
            await asyncio.sleep(step)
        elif step == RESET:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        elif step == CLOSE:
            writer.close()
            return False
        elif step == HANG:
            await self._over.wait()
        return True
