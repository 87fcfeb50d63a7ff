"""The bare client: the least that streams an answer on asyncio. It keeps nothing but three times a request.

A yardstick for the generator, not a tool: it takes an answer for good that ends like one, and fails at any fault.
"""

import asyncio
import time
from dataclasses import dataclass, field

import msgspec
import uvloop

END = b"0\r\n\r\n"


@dataclass
class Times:
    """Due, first content and end of every request, in nanoseconds."""

    due_ns: list[int] = field(default_factory=list)
    first_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self.tail = b""
        self.first_ns = 0
        self.over: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self.transport = transport

    def send(self, request: bytes, due_ns: int) -> asyncio.Future[None]:
        """One request; the future ends with its answer."""
        self.first_ns, self.due_ns, self.tail = 0, due_ns, b""
        self.over = asyncio.get_running_loop().create_future()
        self.transport.write(request)  # type: ignore[attr-defined]
        return self.over

    def data_received(self, data: bytes) -> None:
        """Some of the answer."""
        now_ns = time.monotonic_ns()
        if not self.first_ns and b'"content":"' in data:
            self.first_ns = now_ns
        self.tail = (self.tail + data)[-len(END) :]
        if self.tail == END:
            self.times.due_ns.append(self.due_ns)
            self.times.first_ns.append(self.first_ns)
            self.times.end_ns.append(now_ns)
            assert self.over is not None
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server closed."""
        if self.over is not None and not self.over.done():
            self.over.set_exception(exc or ConnectionError("closed"))


def request_bytes(model: str, tokens: int) -> bytes:
    """One chat request, always the same."""
    body = msgspec.json.encode(
        {
            "model": model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": "word " * 32}],
            "max_tokens": tokens,
        }
    )
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _closed(port: int, request: bytes, count: int, concurrency: int, times: Times) -> None:
    loop = asyncio.get_running_loop()
    left = iter(range(count))

    async def place() -> None:
        _, line = await loop.create_connection(lambda: Line(times), "127.0.0.1", port)
        for _ in left:
            await line.send(request, time.monotonic_ns())
        line.transport.close()

    await asyncio.gather(*[place() for _ in range(concurrency)])


async def _open(port: int, request: bytes, count: int, rate: float, times: Times) -> None:
    loop = asyncio.get_running_loop()
    free: list[Line] = []

    async def one(due_ns: int) -> None:
        line = free.pop() if free else (await loop.create_connection(lambda: Line(times), "127.0.0.1", port))[1]
        await line.send(request, due_ns)
        free.append(line)

    free += [(await loop.create_connection(lambda: Line(times), "127.0.0.1", port))[1] for _ in range(8)]
    start_ns = time.monotonic_ns() + 50_000_000
    tasks = []
    for number in range(count):
        due_ns = start_ns + round(number * 1e9 / rate)
        if (wait_ns := due_ns - time.monotonic_ns()) > 2_000_000:
            await asyncio.sleep(wait_ns / 1e9 - 0.0015)
        while time.monotonic_ns() < due_ns:
            await asyncio.sleep(0)
        tasks.append(loop.create_task(one(due_ns)))
    await asyncio.gather(*tasks)
    for line in free:
        line.transport.close()


def run(port: int, count: int, *, model: str, tokens: int, concurrency: int | None, rate: float) -> Times:
    """Send `count` requests, so many at a time or so many a second."""
    times, request = Times(), request_bytes(model, tokens)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if concurrency is not None:
            runner.run(_closed(port, request, count, concurrency, times))
        else:
            runner.run(_open(port, request, count, rate, times))
    return times
