"""Tally: what the generator notes about itself while it runs; selfcheck.py judges it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from caveat.loadgen.spread import Spread

_WINDOW_NS = 1_000_000_000


class Tally:
    """Counts and spreads of one process.

    late       from the moment a request was due to the moment it was taken up (before any connecting)
    stalled    upper bound of what the client's own loop added to times of first tokens
    busy       share of one CPU in each whole second
    """

    __slots__ = (
        "_began_ns",
        "_cpu_s",
        "_since_ns",
        "_start_cpu_s",
        "_start_wait_ns",
        "ahead",
        "busy",
        "client_limits",
        "failed",
        "in_flight_most",
        "late",
        "sent",
        "stalled",
    )

    def __init__(self) -> None:
        self.late, self.stalled = Spread(), Spread()
        self.busy: list[float] = []
        self.sent = self.failed = self.client_limits = self.in_flight_most = self.ahead = 0
        self.begin()

    def begin(self) -> None:
        """The run begins now: CPU and time count from here."""
        self._began_ns = self._since_ns = time.monotonic_ns()
        self._cpu_s = self._start_cpu_s = time.process_time()
        self._start_wait_ns = run_queue_wait_ns()

    def window(self, now_ns: int) -> None:
        """Close a second of CPU accounting, where one is over."""
        if now_ns - self._since_ns >= _WINDOW_NS:
            cpu_s = time.process_time()
            self.busy.append((cpu_s - self._cpu_s) * 1e9 / (now_ns - self._since_ns))
            self._cpu_s, self._since_ns = cpu_s, now_ns

    def cpu_s(self) -> float:
        """CPU seconds of the process since the start."""
        return time.process_time() - self._start_cpu_s

    def wall_s(self) -> float:
        """Seconds since the start."""
        return (time.monotonic_ns() - self._began_ns) / 1e9

    def waited_s(self) -> float | None:
        """Seconds in which the process could run and had no CPU; None where the system does not say."""
        wait_ns = run_queue_wait_ns()
        return None if wait_ns is None or self._start_wait_ns is None else (wait_ns - self._start_wait_ns) / 1e9


def run_queue_wait_ns() -> int | None:
    """Time of the main thread on the run queue, from /proc/PID/schedstat (Linux), else None."""
    try:
        return int(Path(f"/proc/{os.getpid()}/schedstat").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
