"""An alarm rings once for each time it was set, and never early."""

import asyncio
import time

import pytest
import uvloop

from caveat.loadgen.alarm import LoopTimer, TimerFd, alarm


async def rung(kind, instants_ns: list[int]) -> list[tuple[int, int]]:
    """(due, rung) of alarms set one after the other."""
    loop = asyncio.get_running_loop()
    ring = asyncio.Event()
    found = []
    bell = kind(loop, lambda: (found.append(time.monotonic_ns()), ring.set()))
    for offset_ns in instants_ns:
        due_ns = time.monotonic_ns() + offset_ns
        ring.clear()
        bell.at(due_ns)
        await asyncio.wait_for(ring.wait(), 5)
        found[-1] = (due_ns, found[-1])
    bell.close()
    bell.close()
    return found


@pytest.mark.parametrize("kind", [alarm, TimerFd, LoopTimer])
def test_an_alarm_rings_once_and_never_early(kind):
    """Soon, later, at once for the past."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        times = runner.run(rung(kind, [3_000_000, 400_000, -1_000_000, 20_000_000]))
    assert len(times) == 4 and all(at_ns >= due_ns for due_ns, at_ns in times)


@pytest.mark.parametrize("kind", [TimerFd, LoopTimer])
def test_a_new_instant_replaces_the_old_one(kind):
    """Set for an hour, then for now."""

    async def run() -> int:
        loop = asyncio.get_running_loop()
        rings: list[int] = []
        ring = asyncio.Event()
        bell = kind(loop, lambda: (rings.append(1), ring.set()))
        bell.at(time.monotonic_ns() + 3_600_000_000_000)
        bell.at(time.monotonic_ns() + 1_000_000)
        await asyncio.wait_for(ring.wait(), 5)
        bell.at(time.monotonic_ns() + 2_000_000)
        bell.close()
        await asyncio.sleep(0.01)
        return len(rings)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == 1
