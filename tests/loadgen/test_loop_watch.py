"""How long the client's own loop may have held back what it reads, on a made-up clock."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from caveat.loadgen.loop_watch import BEAT_NS, BEAT_SLACK_NS, LoopWatch

MS = 1_000_000


class Loop:
    """Remembers what it was asked to call."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[Callable[[], None]] = []

    def call_soon(self, call):
        self.soon.append(call)

    def call_later(self, _delay_s, call):
        self.later.append(call)

    def turn(self) -> None:
        calls, self.soon = self.soon, []
        for call in calls:
            call()


def fake() -> Any:
    return Loop()


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set."""

    class Clock:
        now_ns = 1000 * MS

    monkeypatch.setattr(time, "monotonic_ns", lambda: Clock.now_ns)
    return Clock


def stall(watch: LoopWatch, at_ns: int) -> int:
    if not watch.marked:
        watch.enter(at_ns)
    return at_ns - watch.since_ns


def test_what_wakes_a_waiting_loop_was_not_held_back(clock):
    """And what is read later in the same turn was held back by what was read before."""
    watch = LoopWatch(fake(), lambda _: None)
    assert stall(watch, 1010 * MS) == 0
    assert stall(watch, 1013 * MS) == 3 * MS


def test_what_comes_while_the_loop_is_busy_may_have_come_with_the_turn_before(clock):
    """The loop did not wait in between: the bound is the beginning of that turn."""
    loop: Any = Loop()
    watch = LoopWatch(loop, lambda _: None)
    stall(watch, 1010 * MS)
    clock.now_ns = 1018 * MS
    loop.turn()
    assert stall(watch, 1018 * MS + 20_000) == 8 * MS + 20_000
    clock.now_ns = 1019 * MS
    loop.turn()
    assert stall(watch, 1025 * MS) == 0, "it waited for 6 ms: whatever came then was read at once"


def test_a_process_that_did_not_run_is_found_out_by_its_heartbeat(clock):
    """The beat was due 5 ms after the start; nothing ran until 200 ms later."""
    watch = LoopWatch(fake(), lambda _: None)
    watch.start()
    assert stall(watch, 1200 * MS) == 200 * MS - BEAT_NS


def test_a_beat_that_is_a_little_late_is_no_stall(clock):
    """Timers of the loop are a millisecond coarse."""
    watch = LoopWatch(fake(), lambda _: None)
    watch.start()
    assert stall(watch, 1000 * MS + BEAT_NS + BEAT_SLACK_NS) == 0


def test_every_beat_is_counted_and_calls_back(clock):
    """Until it is stopped."""
    loop: Any = Loop()
    beats: list[int] = []
    watch = LoopWatch(loop, beats.append)
    watch.start()
    clock.now_ns += BEAT_NS + 2 * MS
    loop.later.pop()()
    assert (beats, watch.lag.count, watch.lag.largest_ns) == ([clock.now_ns], 1, 2 * MS)
    watch.stop()
    loop.later.pop()()
    assert len(beats) == 1 and not loop.later
