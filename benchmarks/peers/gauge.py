"""Gauge: runs a client and notes from outside what its processes cost: CPU, waiting for a CPU, memory. Linux only."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PERIOD_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Look:
    """One moment: CPU seconds so far, seconds that main threads waited for a CPU, memory, and the server's CPU."""

    at_s: float
    cpu_s: float
    waited_s: float
    server_cpu_s: float
    memory_mb: float
    processes: int


@dataclass(frozen=True)
class Cost:
    """A client's whole life. `looks` are in order of time."""

    launched_s: float
    ended_s: float
    looks: tuple[Look, ...]
    failed: str | None

    def spent(self, field: str, start_s: float, end_s: float) -> float:
        """How much a counter grew between two instants."""
        at_s = [look.at_s for look in self.looks]
        values = [getattr(look, field) for look in self.looks]
        first, last = np.interp([start_s, end_s], at_s, values)
        return float(last - first)

    @property
    def memory_mb(self) -> float:
        """The most memory: proportional set sizes of all processes together."""
        return max(look.memory_mb for look in self.looks)

    @property
    def processes(self) -> int:
        """The most at a time."""
        return max(look.processes for look in self.looks)


def gauge(
    command: Sequence[str], server_pid: int, log: Path, *, limit_s: float, env: Mapping[str, str] | None = None
) -> Cost:
    """Run a command to its end, or stop it after so many seconds."""
    looks: list[Look] = []
    launched_s = time.monotonic()
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env, stdin=subprocess.DEVNULL)
        while child.poll() is None and time.monotonic() - launched_s < limit_s:
            looks.append(_look(child.pid, server_pid))
            time.sleep(PERIOD_S)
        late = child.poll() is None
        if late:
            child.kill()
        code = child.wait()
    failed = f"stopped after {limit_s:g} s" if late else f"exit {code}" if code not in (0, 1) else None
    return Cost(launched_s, time.monotonic(), tuple(looks), failed)


def _look(root: int, server_pid: int) -> Look:
    tree = _tree(root)
    return Look(
        at_s=time.monotonic(),
        cpu_s=sum(_cpu_s(pid) for pid in tree),
        waited_s=sum(_waited_s(pid) for pid in tree),
        server_cpu_s=_cpu_s(server_pid),
        memory_mb=sum(_memory_mb(pid) for pid in tree),
        processes=len(tree),
    )


def _tree(root: int) -> list[int]:
    """A process and all that came of it."""
    found = [root]
    for pid in found:  # grows while it is read
        children = (_text(str(path)) for path in Path(f"/proc/{pid}/task").glob("*/children"))
        found += [int(child) for text in children for child in text.split()]
    return found


def _cpu_s(pid: int) -> float:
    """Of a process, its threads, and its children that have ended."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS if fields else 0.0


def _waited_s(pid: int) -> float:
    fields = _text(f"/proc/{pid}/schedstat").split()
    return int(fields[1]) / 1e9 if fields else 0.0


def _memory_mb(pid: int) -> float:
    """Proportional set size: a page that several processes share counts in parts."""
    lines = _text(f"/proc/{pid}/smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _text(path: str) -> str:
    """A file of a process that may end at any moment."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
