"""An alarm rings once for each time it was set, and never early."""

import asyncio
import time

import pytest
import uvloop

from caveat.loadgen.alarm import LoopTimer, TimerFd, alarm


class Bell:
    """What an alarm calls."""

    def __init__(self) -> None:
        self.rung_ns: list[int] = []
        self.event = asyncio.Event()

    def ring(self) -> None:
        self.rung_ns.append(time.monotonic_ns())
        self.event.set()


async def due_and_rung(kind, offsets_ns: list[int]) -> list[tuple[int, int]]:
    """When an alarm was to ring, and rang; set anew after each."""
    bell = Bell()
    clock = kind(asyncio.get_running_loop(), bell.ring)
    due_ns = []
    for offset_ns in offsets_ns:
        due_ns.append(time.monotonic_ns() + offset_ns)
        bell.event.clear()
        clock.at(due_ns[-1])
        await asyncio.wait_for(bell.event.wait(), 5)
    clock.close()
    clock.close()
    return list(zip(due_ns, bell.rung_ns, strict=True))


@pytest.mark.parametrize("kind", [alarm, TimerFd, LoopTimer])
def test_an_alarm_rings_once_and_never_early(kind):
    """Soon, later, at once for the past."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        times = runner.run(due_and_rung(kind, [3_000_000, 400_000, -1_000_000, 20_000_000]))
    assert len(times) == 4 and all(at_ns >= due_ns for due_ns, at_ns in times)


@pytest.mark.parametrize("kind", [TimerFd, LoopTimer])
def test_a_new_instant_replaces_the_old_one(kind):
    """Set for an hour, then for now."""

    async def run() -> int:
        bell = Bell()
        clock = kind(asyncio.get_running_loop(), bell.ring)
        clock.at(time.monotonic_ns() + 3_600_000_000_000)
        clock.at(time.monotonic_ns() + 1_000_000)
        await asyncio.wait_for(bell.event.wait(), 5)
        clock.at(time.monotonic_ns() + 2_000_000)
        clock.close()
        await asyncio.sleep(0.01)
        return len(bell.rung_ns)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == 1
