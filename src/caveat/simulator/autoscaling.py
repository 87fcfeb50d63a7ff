"""Autoscaling: replicas are ordered and given back as requests come and go.

What it models. Every `every_s` the scaler looks at the requests under way in the pool and wants one replica for each
`target_outstanding` of them, within `min_replicas` and the number that the fleet has. Missing ones take requests
`provisioning_s` later, with an empty prefix cache. It gives up as many as exceed the most that was wanted during
the last `down_after_s`: first those that are still being made ready, then the least busy. Those finish what they have;
they are paid for until the first look at which they are empty. (The rule of Kubernetes' horizontal autoscaler, with its
stabilisation window.) A pool starts with `min_replicas`. With disaggregation or dedicated models each pool scales by
itself.

What it leaves out. Forecasts, limits on how many replicas are made at once, requests that wait outside the fleet.

Limit case. With `min_replicas` as large as the pool, or provisioning that outlasts the run, it is a fixed fleet.

In the load fraction. It is that of all replicas, since they are there once they are ordered. That of the fewest is told
beside it, with the time that more of them take; where the load is over before they come, the fewest are what counts.
"""

from __future__ import annotations

import math
from collections import deque
from functools import partial

import msgspec

from caveat.errors import InputError
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import fs_from_s
from caveat.simulator.pools import Pool


class Autoscaling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When replicas are ordered and given back; see the head of this module."""

    target_outstanding: float
    min_replicas: int = 1
    every_s: float = 15.0
    provisioning_s: float = 120.0
    down_after_s: float = 300.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.target_outstanding) and self.target_outstanding > 0):
            raise InputError(f"autoscaling: target_outstanding: found {self.target_outstanding}, expected more than 0")
        if self.min_replicas < 1:
            raise InputError(f"autoscaling: min_replicas: found {self.min_replicas}, expected a number from 1")
        for name, low in (("every_s", 0.001), ("provisioning_s", 0.0), ("down_after_s", 0.0)):
            value = getattr(self, name)
            if not low <= value <= 1e9:
                raise InputError(f"autoscaling: {name}: found {value}, expected seconds from {low:g} to 1e9")


class Autoscaler:
    """Scales one pool of a fleet, from timers. `ordered` and `given_up` count replicas."""

    def __init__(self, fleet: Fleet, pool: Pool, settings: Autoscaling) -> None:
        least = min(settings.min_replicas, len(pool.numbers))
        self.ordered = self.given_up = 0
        self._fleet, self._pool, self._settings, self._least = fleet, pool, settings, least
        self._every_fs = fs_from_s(settings.every_s)
        self._provisioning_fs = fs_from_s(settings.provisioning_s)
        self._down_after_fs = fs_from_s(settings.down_after_s)
        self._wanted: deque[tuple[int, int]] = deque()  # (look, wanted), the later and larger ones of the window
        self._starting: dict[int, int] = {}  # number: instant at which it was ordered
        self._draining: set[int] = set()
        self._since_fs = dict.fromkeys(pool.numbers[:least], 0)  # those that are paid for, from when
        self._paid_fs = 0
        pool.scaled = True
        pool.live[:] = pool.numbers[:least]
        fleet.at(self._every_fs, self._look)

    def paid_fs(self, now_fs: int) -> int:
        """Time of replicas, from when they were ordered until they were empty, over all."""
        return self._paid_fs + sum(now_fs - since_fs for since_fs in self._since_fs.values())

    def _look(self, now_fs: int) -> None:
        self._let_go(now_fs)
        have = len(self._pool.live) + len(self._starting)
        wanted, most = self._wanted_at(now_fs)
        if wanted > have:
            self._order(wanted - have, now_fs)
        elif most < have:
            self._give_up(have - most, now_fs)
        self._fleet.at(now_fs + self._every_fs, self._look)

    def _wanted_at(self, now_fs: int) -> tuple[int, int]:
        """What is wanted now, and the most that was wanted in the window."""
        pool, replicas = self._pool, self._fleet.replicas
        under_way = sum(replicas[number].outstanding for number in pool.numbers)
        most = len(pool.numbers)
        asked = math.ceil(min(most, under_way / self._settings.target_outstanding))
        wanted = max(asked, self._least)
        window = self._wanted
        while window and window[-1][1] <= wanted:
            window.pop()
        window.append((now_fs, wanted))
        while window[0][0] < now_fs - self._down_after_fs:
            window.popleft()
        return wanted, window[0][1]

    def _order(self, count: int, now_fs: int) -> None:
        """Order so many of those that nobody uses, the first ones."""
        busy = {*self._pool.live, *self._starting, *self._draining, *self._fleet.down}
        for number in [number for number in self._pool.numbers if number not in busy][:count]:
            self.ordered += 1
            self._starting[number] = now_fs
            self._since_fs[number] = now_fs
            self._fleet.at(now_fs + self._provisioning_fs, partial(self._ready, number, now_fs))

    def _ready(self, number: int, ordered_fs: int, now_fs: int) -> None:
        if self._starting.get(number) != ordered_fs:
            return  # given up meanwhile
        del self._starting[number]
        if number in self._fleet.down:
            return
        self._pool.live.append(number)
        self._pool.live.sort()

    def _give_up(self, count: int, now_fs: int) -> None:
        """Give up so many: those that are not ready, the last ones first; then the least busy."""
        self.given_up += count
        for number in sorted(self._starting, reverse=True)[:count]:
            del self._starting[number]
            self._stop_paying(number, now_fs)
            count -= 1
        replicas, live = self._fleet.replicas, self._pool.live
        for number in sorted(live, key=lambda n: (replicas[n].outstanding, -n))[:count]:
            live.remove(number)
            self._draining.add(number)
        self._let_go(now_fs)

    def _let_go(self, now_fs: int) -> None:
        """Those that are empty are given back, with what was in their caches."""
        for number in sorted(self._draining):
            replica = self._fleet.replicas[number]
            if not (replica.outstanding or replica.kv.used):  # blocks are held until they have been handed over
                self._draining.discard(number)
                replica.forget()
                self._stop_paying(number, now_fs)
        for number in self._since_fs.keys() - {*self._pool.live, *self._starting, *self._draining}:
            self._stop_paying(number, now_fs)  # it failed

    def _stop_paying(self, number: int, now_fs: int) -> None:
        self._paid_fs += now_fs - self._since_fs.pop(number)
