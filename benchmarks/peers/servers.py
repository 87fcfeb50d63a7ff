"""Servers: the loopback endpoint or a mock given by path, and what they saw: every arrival, first write and last write.

A mock is a script that takes `--port N --chunks N [--ttft-ms T] [--coalesce]`, says a line when it is ready, and
writes one JSON object a request (t_recv, t_first, t_last: seconds of CLOCK_MONOTONIC) to F at GET /__dump?path=F.
"""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.loopback import Behaviour, Fixed, read_log, start_process

CHUNKS = 16
Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """How the server answers: 16 tokens, after `ttft_s`, each in a write of its own or all in one."""

    ttft_s: float = 0.0
    one_write: bool = False


@dataclass(frozen=True)
class Seen:
    """What the server saw of each request, in order of arrival, in seconds of CLOCK_MONOTONIC."""

    arrived_s: Seconds
    first_s: Seconds
    last_s: Seconds

    def in_flight(self) -> tuple[float, int]:
        """Median over the middle 80 % of arrivals, and the most."""
        steps = np.concatenate([np.ones(len(self.arrived_s)), -np.ones(len(self.last_s))])
        moments = np.concatenate([self.arrived_s, self.last_s])
        order = np.lexsort((steps, moments))  # an end before an arrival of the same instant
        level = np.cumsum(steps[order])
        arrivals = level[steps[order] > 0]
        middle = arrivals[len(arrivals) // 10 : len(arrivals) - len(arrivals) // 10]
        return float(np.median(middle)), int(level.max())


@dataclass(frozen=True)
class Server:
    """One that runs."""

    name: str
    port: int
    pid: int
    seen: Callable[[], Seen]

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serve(answers: Answers, mock: Path | None) -> Iterator[Server]:
    """A server for one measurement."""
    with _loopback(answers) if mock is None else _mock(answers, mock) as server:
        yield server


@contextmanager
def _loopback(answers: Answers) -> Iterator[Server]:
    behaviour = Behaviour(
        ttft_s=Fixed(answers.ttft_s),
        one_write=answers.one_write,
        default_output_tokens=CHUNKS,
        log_requests=1 << 20,
        model="mock-model",
    )
    with start_process(behaviour) as process:

        def seen() -> Seen:
            with urlopen(f"{process.url}/loopback/log", timeout=60) as log:
                done = [one for one in read_log(log.read()) if one.outcome == "done" and one.first_write_ns]
            columns = ([getattr(one, name) for one in done] for name in ("arrival_ns", "first_write_ns", "end_ns"))
            return _in_order(*(np.array(column, np.float64) / 1e9 for column in columns))

        yield Server("loopback endpoint", int(process.url.rpartition(":")[2]), process.pid, seen)


@contextmanager
def _mock(answers: Answers, script: Path) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--chunks", CHUNKS, "--ttft-ms", 1e3 * answers.ttft_s, *["--coalesce"] * answers.one_write]
    command = [sys.executable, str(script), "--port", str(port), *map(str, options)]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()

        def seen() -> Seen:
            dump = Path(folder) / "seen.jsonl"
            with urlopen(f"http://127.0.0.1:{port}/__dump?path={dump}", timeout=60) as answer:
                answer.read()
            rows = [msgspec.json.decode(line) for line in dump.read_bytes().splitlines()]
            rows = [row for row in rows if row["t_first"]]
            return _in_order(*(np.array([row[name] for row in rows]) for name in ("t_recv", "t_first", "t_last")))

        try:
            yield Server(script.stem.replace("_", " "), port, child.pid, seen)
        finally:
            child.terminate()


def _in_order(arrived_s: Seconds, first_s: Seconds, last_s: Seconds) -> Seen:
    order = np.argsort(arrived_s, kind="stable")
    return Seen(arrived_s[order], first_s[order], last_s[order])
