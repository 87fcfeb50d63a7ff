"""Sample paths worked out without the simulator: the same arrivals and work, so equal instants, to the nanosecond.

`queues.py` says what theory expects of such a path; here a path of a million requests costs a second or two, so that
its mean is known to a percent. Nothing is taken from the package: no batch, no replica, no router, no random stream.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Pick = Callable[[int, list[int]], int]
"""(number of the request, how many are under way at each server): the server that it goes to."""

_MASK = (1 << 64) - 1


def lindley_ends(at_ns: Int64, work_ns: Int64) -> Int64:
    """Ends at a single server, first come, first served: the recursion summed up."""
    before = np.concatenate(([0], np.cumsum(work_ns)[:-1]))
    return before + work_ns + np.maximum.accumulate(at_ns - before)


def servers_ends(at_ns: Int64, work_ns: Int64, servers: int) -> Int64:
    """Ends at so many servers with one line: who is first takes the server that is free first."""
    free = [0] * servers
    ends = []
    for at, work in zip(at_ns.tolist(), work_ns.tolist(), strict=True):
        end = max(at, free[0]) + work
        heapreplace(free, end)
        ends.append(end)
    return np.array(ends, np.int64)


def decode_path(at_ns: Int64, tokens: Int64, step_ns: Callable[[int], int], seats: int) -> tuple[Int64, Int64]:
    """(first tokens, last tokens) of requests that are one token a step, in steps of `step_ns(in the batch)`.

    Who arrives during a step takes part from the next on, if there is a seat. Written over runs of equal steps: to the
    next finish, or to the boundary at which the next arrival can take a seat.
    """
    arrivals, sizes = at_ns.tolist(), tokens.tolist()
    costs = [0, *(step_ns(n) for n in range(1, min(seats, len(arrivals)) + 1))]
    firsts, lasts = [0] * len(arrivals), [0] * len(arrivals)
    inside: list[tuple[int, int]] = []  # (tick of the end, number)
    now = tick = coming = admitted = 0
    while admitted < len(arrivals) or inside:
        if not inside and admitted == coming:
            now = max(now, arrivals[coming])
        while coming < len(arrivals) and arrivals[coming] <= now:
            coming += 1
        begin = admitted
        while admitted < coming and len(inside) < seats:
            heappush(inside, (tick + sizes[admitted], admitted))
            admitted += 1
        cost, steps = costs[len(inside)], inside[0][0] - tick
        if begin < admitted:
            firsts[begin:admitted] = [now + cost] * (admitted - begin)
        if len(inside) < seats and coming < len(arrivals):
            steps = min(steps, -((now - arrivals[coming]) // cost))
        tick += steps
        now += steps * cost
        while inside and inside[0][0] == tick:
            lasts[heappop(inside)[1]] = now
    return np.array(firsts, np.int64), np.array(lasts, np.int64)


def routed_path(at_ns: Int64, work_ns: Int64, servers: int, pick: Pick) -> tuple[list[int], Int64]:
    """(server, end) of each request: every server is one line, first come, first served. Ends come before arrivals."""
    free, under_way = [0] * servers, [0] * servers
    due: list[tuple[int, int]] = []
    places, ends = [], []
    for number, (at, work) in enumerate(zip(at_ns.tolist(), work_ns.tolist(), strict=True)):
        while due and due[0][0] <= at:
            under_way[heappop(due)[1]] -= 1
        place = pick(number, under_way)
        free[place] = end = max(at, free[place]) + work
        heappush(due, (end, place))
        under_way[place] += 1
        places.append(place)
        ends.append(end)
    return places, np.array(ends, np.int64)


def in_turn(number: int, under_way: list[int]) -> int:
    """Each in turn."""
    return number % len(under_way)


def first_of_the_least(number: int, under_way: list[int]) -> int:
    """The fewest under way, of several the first."""
    return under_way.index(min(under_way))


def any_of(seed: int) -> Pick:
    """One at random."""
    stream = _stream(seed)
    return lambda number, under_way: stream(2 * number) * len(under_way) >> 64


def less_busy_of_two(seed: int) -> Pick:
    """Two different ones at random; the second only where it has fewer under way."""
    stream = _stream(seed)

    def pick(number: int, under_way: list[int]) -> int:
        count = len(under_way)
        first, other = stream(2 * number) * count >> 64, stream(2 * number + 1) * (count - 1) >> 64
        second = other + (other >= first)
        return second if under_way[second] < under_way[first] else first

    return pick


def _stream(seed: int) -> Callable[[int], int]:
    """Counted 64-bit numbers: SplitMix64's finaliser over the finished seed and the finished place, from 1 on."""
    begin = _finished(seed)
    return lambda place: _finished(begin ^ _finished(place + 1))


def _finished(x: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = ((x ^ (x >> shift)) * factor) & _MASK
    return x ^ (x >> 31)
