"""Timers: never before their moment, once for each wish, and the last wish counts."""

import asyncio
import sys
import time

import pytest
import uvloop

from caveat.loopback.timer import FileTimer, LoopTimer

KINDS = [
    pytest.param(FileTimer, marks=pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")),
    LoopTimer,
]
MS = 1_000_000


def rings(kind, wishes_ms, last_ms):
    """Arm the timer with each wish in turn; when it called, in ns after the start, until the last wish is over."""
    found = []

    async def play():
        loop = asyncio.get_running_loop()
        start_ns = time.monotonic_ns()
        over = asyncio.Event()

        def called():
            found.append(time.monotonic_ns() - start_ns)
            if found[-1] >= last_ms * MS:
                over.set()
            elif not isinstance(timer, FileTimer):  # early by less than a tick of the loop
                timer.arm(start_ns + last_ms * MS)

        timer = kind(loop, called)
        for wish_ms in wishes_ms:
            timer.arm(start_ns + wish_ms * MS)
        await asyncio.wait_for(over.wait(), 20)
        timer.close()

    uvloop.run(play())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_timer_calls_when_its_moment_has_come(kind):
    """Not before."""
    assert rings(kind, [20], 20)[-1] >= 20 * MS


@pytest.mark.parametrize("kind", KINDS)
def test_a_moment_that_has_passed_calls_at_once(kind):
    """Rather than never."""
    assert rings(kind, [-5], -5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wishes", [[5, 30], [10_000_000, 30]])
def test_the_last_wish_counts(kind, wishes):
    """Later or earlier than the one before: nothing happens at that one."""
    found = rings(kind, wishes, 30)
    assert found[-1] >= 30 * MS
    assert all(ring > 20 * MS for ring in found)


@pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")
def test_a_file_timer_calls_once():
    """One wish, one call."""
    assert len(rings(FileTimer, [10, 10], 10)) == 1
