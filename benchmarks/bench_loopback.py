"""What the loopback endpoint carries on one core, what a request costs it, and how exact its timing is.

Run from the root of the checkout: `python -m benchmarks.bench_loopback [ANOTHER_SERVER.py]`. The client is as bare as
can be: 64 connections, each sending the next request when an answer has ended. Another server, started with `--port`
and, for one write an answer, `--coalesce`, is measured beside ours in the same run.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import uvloop

from caveat.loopback import Behaviour, Fixed, read_log, start_process

STREAMS = 64
SECONDS = 3.0
REPEATS = 3
BODY = json.dumps(
    {
        "model": "loopback",
        "stream": True,
        "max_tokens": 16,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "twenty words " * 10}],
    }
).encode()
REQUEST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    % len(BODY)
) + BODY


class Client(asyncio.Protocol):
    """Sends a request, waits for the end of the answer, sends the next."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self.ended = ended
        self.tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self.transport: asyncio.WriteTransport = transport  # type: ignore[assignment]
        self.send()

    def send(self) -> None:
        """One more request."""
        self.transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        """Some of the answer."""
        self.tail = (self.tail + data)[-5:] if len(data) < 5 else data[-5:]
        if self.tail == b"0\r\n\r\n":
            self.ended()
            self.send()


async def requests_per_s(port: int) -> float:
    """Closed loop for a while, after a short warm-up."""
    loop = asyncio.get_running_loop()
    count = 0

    def ended() -> None:
        nonlocal count
        count += 1

    for _ in range(STREAMS):
        await loop.create_connection(lambda: Client(ended), "127.0.0.1", port)
    await asyncio.sleep(0.3)
    before, began_s = count, time.perf_counter()
    await asyncio.sleep(SECONDS)
    return (count - before) / (time.perf_counter() - began_s)


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(name: str, port: int, pid: int) -> None:
    """One line: the best rate of some runs, and the CPU time of the server for each request of that run."""
    runs = []
    for _ in range(REPEATS):
        before_s = cpu_s(pid)
        rate = uvloop.run(requests_per_s(port))
        runs.append((rate, (cpu_s(pid) - before_s) / (rate * (SECONDS + 0.3))))
    rate, each_s = max(runs)
    print(f"loopback: {name:<44} {rate:>7,.0f} requests/s, {1e6 * each_s:.0f} µs of server CPU a request")


@contextmanager
def other_server(script: str, *options: str) -> Iterator[tuple[int, int]]:
    """Port and process of another server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, script, "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # it says when it is ready
        yield port, child.pid
        child.terminate()


def timing() -> None:
    """Told deadlines against true writes, one request at a time and quiet between them."""
    with start_process(Behaviour(ttft_s=Fixed(0.1), itl_s=Fixed(0.01))) as server:
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
            for _ in range(20):
                client.sendall(REQUEST)
                answer = b""
                while not answer.endswith(b"0\r\n\r\n"):
                    answer += client.recv(1 << 16)
        with urlopen(f"{server.url}/loopback/log") as log:
            truths = read_log(log.read())
    firsts = [one.first_write_ns - one.first_due_ns for one in truths if one.first_write_ns and one.first_due_ns]
    worst = max(one.lag.max_ns for one in truths if one.lag)
    print(
        f"loopback: first token due at 100 ms left {statistics.median(firsts) / 1e3:.0f} µs late at the median, "
        f"{max(firsts) / 1e3:.0f} at most; the worst of {16 * len(truths)} writes was {worst / 1e3:.0f} µs late"
    )


def main() -> None:
    for one_write, name in ((True, "all 16 chunks in one write"), (False, "one write for each of 16 chunks")):
        with start_process(Behaviour(one_write=one_write)) as server:
            measured(name, int(server.url.rpartition(":")[2]), server.pid)
        for script in sys.argv[1:]:
            with other_server(script, *(("--coalesce",) if one_write else ())) as (port, pid):
                measured(f"{name}, {Path(script).name}", port, pid)
    timing()


if __name__ == "__main__":
    main()
