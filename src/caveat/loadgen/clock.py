"""WallClock: time since the start of a plan, on the system's monotonic clock."""

from __future__ import annotations

import time


class WallClock:
    """Stands at 0 until the target says that it starts; then it runs. May be read from any thread.

    The instant is one of CLOCK_MONOTONIC, which all processes of one machine share.
    """

    __slots__ = ("start_ns",)

    def __init__(self) -> None:
        self.start_ns: int | None = None

    def start(self, at_ns: int) -> None:
        """The plan's time 0, on `time.monotonic_ns`; may lie ahead."""
        self.start_ns = at_ns

    def now_ns(self) -> int:
        """Nanoseconds since the start of the plan; 0 before it."""
        return 0 if self.start_ns is None else max(0, time.monotonic_ns() - self.start_ns)
