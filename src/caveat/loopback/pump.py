"""Pump: takes from the engine whatever is due by now, hands it on, and sees to it that the rest comes in time.

Nothing ever waits for a while from now; every wait ends at a moment that was fixed when the request began. A stall
holds everything back without moving a deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from caveat.loopback.engine import Engine
from caveat.loopback.timer import make_timer
from caveat.loopback.truth import now_ns
from caveat.units import NS_PER_S

TURN = 64
"""Most times that the engine is asked in one turn of the loop, so that requests are read while answers go out."""

Emit = Callable[[int, int, int, int | None], None]
"""Takes an Emission: the number of a request, when its next tokens were due, how many they are, and what of its prompt
the engine found cached."""


class Pump:
    """Runs in the thread of its loop."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop, emit: Emit) -> None:
        self._engine = engine
        self._loop = loop
        self._emit = emit
        self._timer = make_timer(loop, self._run)
        self._called = False
        self._stalled_to_ns = 0
        self._held: list[Callable[[], None]] = []

    def call(self) -> None:
        """Run when the loop has read what has come; once, however often it is asked for."""
        if not self._called:
            self._called = True
            self._loop.call_soon(self._run)

    def stall(self, seconds: float) -> None:
        """Hold everything back for so long."""
        self._stalled_to_ns = max(self._stalled_to_ns, now_ns() + round(seconds * NS_PER_S))
        self._timer.arm(self._stalled_to_ns)

    @property
    def stalled(self) -> bool:
        """Whether everything is held back now."""
        return self._stalled_to_ns != 0

    def unless_stalled(self, callback: Callable[[], None]) -> None:
        """Call back now, or when the stall is over."""
        if self._stalled_to_ns:
            self._held.append(callback)
        else:
            callback()

    def later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back after so many seconds, or when a stall is over that lasts longer."""
        self._loop.call_later(seconds, self.unless_stalled, callback)

    def close(self) -> None:
        """Run no more."""
        self._timer.close()

    def _run(self) -> None:
        self._called = False
        now = now_ns()
        if self._stalled_to_ns:
            if now < self._stalled_to_ns:
                self._timer.arm(self._stalled_to_ns)
                return
            self._end_stall()
        engine, emit = self._engine, self._emit
        for _ in range(TURN):
            due_ns = engine.next_ns()
            if due_ns is None or due_ns > now:
                break
            for number, token_ns, tokens, cached in engine.take():
                emit(number, token_ns, tokens, cached)
        due_ns = engine.next_ns()
        if due_ns is not None and due_ns <= now:
            self.call()
        elif due_ns is not None:
            self._timer.arm(due_ns)

    def _end_stall(self) -> None:
        self._stalled_to_ns = 0
        held, self._held = self._held, []
        for callback in held:
            callback()
