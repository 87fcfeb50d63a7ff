"""LoopWatch: by how much the generator's own event loop may have delayed the reading of what came in.

A time stamp is taken when Python gets to read the data. The data came after the last moment at which the kernel was
asked and had nothing: that is when the loop last waited, or else when its previous turn began. The distance from
there to the stamp is an upper bound of the delay that the client itself caused, and is what `stall_ns` says.

Precision: a wait of under 50 µs is not told from none, so that up to one turn is blamed too much, never too little.
That the whole process did not run (stopped, starved of CPU, a virtual machine paused) is seen by a heartbeat every
5 ms that is overdue by more than 3 ms: shorter pauses of that kind count as the network's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from caveat.loadgen.spread import Spread
from caveat.units import NS_PER_S

IDLE_GAP_NS = 50_000
BEAT_NS = 5_000_000
BEAT_SLACK_NS = 3_000_000


class LoopWatch:
    """Knows when the loop's turn began. Every callback of ours begins with `enter` unless `marked` is set."""

    __slots__ = ("_beat_due_ns", "_ended_ns", "_loop", "_on_beat", "_turn_ns", "_turned", "lag", "marked", "since_ns")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_beat: Callable[[int], None]) -> None:
        self._loop = loop
        self._on_beat = on_beat
        self._turned = self._end_turn  # bound once: it is handed over in every turn
        self.marked = False  # a callback of this turn has been seen
        self.since_ns = 0  # the data that is read now came no earlier than this
        self.lag = Spread()
        self._turn_ns = self._ended_ns = time.monotonic_ns()
        self._beat_due_ns = 0

    def enter(self, now_ns: int) -> None:
        """The first callback of a turn. Called only where `marked` is not set (the test is the caller's, for speed)."""
        self.marked = True
        self._loop.call_soon(self._turned)
        if now_ns - self._ended_ns <= IDLE_GAP_NS:
            self.since_ns = self._turn_ns  # it did not wait: what is read now may have come in the turn before
        elif self._beat_due_ns and now_ns > self._beat_due_ns + BEAT_SLACK_NS:
            self.since_ns = self._beat_due_ns  # it should have woken by then, and did not run
        else:
            self.since_ns = now_ns
        self._turn_ns = now_ns

    def _end_turn(self) -> None:
        self.marked = False
        self._ended_ns = time.monotonic_ns()

    def start(self) -> None:
        """Begin the heartbeat."""
        self._schedule(time.monotonic_ns())

    def stop(self) -> None:
        """End it."""
        self._beat_due_ns = 0

    def _schedule(self, now_ns: int) -> None:
        self._beat_due_ns = now_ns + BEAT_NS
        self._loop.call_later(BEAT_NS / NS_PER_S, self._beat)

    def _beat(self) -> None:
        now_ns = time.monotonic_ns()
        if not self._beat_due_ns:
            return
        if not self.marked:
            self.enter(now_ns)
        self.lag.add(now_ns - self._beat_due_ns)
        self._schedule(now_ns)
        self._on_beat(now_ns)
