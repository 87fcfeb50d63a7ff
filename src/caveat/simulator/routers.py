"""Routers: which replica a request goes to. One small class each and one line in ROUTERS.

Counts of requests under way are known to the router at any time, since it hands them out. What the replicas hold in
their prefix caches it knows from snapshots, as old as `stale_s`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from caveat.errors import InputError
from caveat.simulator.instants import NEVER_FS, fs_from_s
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.speculative import mixed

RouterName = Literal["round-robin", "random", "least-outstanding", "power-of-two", "prefix-aware"]


class Routing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How requests are spread over replicas.

    router         a name of ROUTERS
    seed           for the routers that draw; the draw for request r is a function of (seed, r)
    stale_s        prefix-aware: the age at which the picture of the caches is renewed; 0: always fresh
    most_behind    prefix-aware: how many more requests than the least busy replica the best match may have under way
    """

    router: RouterName = "round-robin"
    seed: int = 0
    stale_s: float = 0.0
    most_behind: int = 8

    def __post_init__(self) -> None:
        if self.router not in ROUTERS:
            raise InputError(f"routing: router: found {self.router!r:.60}, expected one of {', '.join(ROUTERS)}")
        if not 0 <= self.seed < 1 << 64:
            raise InputError(f"routing: seed: found {self.seed}, expected a whole number from 0 to 2^64 - 1")
        if not (math.isfinite(self.stale_s) and 0 <= self.stale_s <= 1e9):
            raise InputError(f"routing: stale_s: found {self.stale_s}, expected a number from 0 to 1e9")
        if self.most_behind < 0:
            raise InputError(f"routing: most_behind: found {self.most_behind}, expected a number from 0")


class Router(Protocol):
    """Chooses among the replicas that take requests.

    `next_look_fs` is the next instant at which `look` must be called, NEVER_FS for routers that never look.
    """

    @property
    def next_look_fs(self) -> int:
        """When to look next."""
        ...

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """The number of one of the live replicas, of which there is at least one."""
        ...

    def look(self, now_fs: int) -> None:
        """Renew the picture of the replicas."""
        ...


class _Blind:
    """What routers share that never look."""

    __slots__ = ("_replicas", "_seed", "_sent", "next_look_fs")

    def __init__(self, replicas: Sequence[Replica], routing: Routing, numbers: Sequence[int] | None = None) -> None:
        self._replicas, self._seed, self._sent = replicas, mixed(routing.seed), 0
        self.next_look_fs = NEVER_FS

    def look(self, now_fs: int) -> None:
        """Nothing to see."""

    def drawn(self, request: Request, place: int) -> int:
        """64 random bits for a request."""
        return mixed(self._seed ^ mixed(2 * request.number + place + 1))


class RoundRobin(_Blind):
    """Each in turn."""

    __slots__ = ()

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """The next in the row."""
        self._sent += 1
        return live[(self._sent - 1) % len(live)]


class Random(_Blind):
    """Any, each with the same probability."""

    __slots__ = ()

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """Drawn for this request."""
        return live[self.drawn(request, 0) * len(live) >> 64]


class LeastOutstanding(_Blind):
    """The one with the fewest requests under way, of several the first."""

    __slots__ = ()

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """By the counts of this instant."""
        return least(self._replicas, live)


class PowerOfTwo(_Blind):
    """Of two drawn replicas the one with fewer requests under way, of equals the first drawn."""

    __slots__ = ()

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """Two different ones, where there are two."""
        if len(live) == 1:
            return live[0]
        first = self.drawn(request, 0) * len(live) >> 64
        second = self.drawn(request, 1) * (len(live) - 1) >> 64
        a, b = live[first], live[second + (second >= first)]
        return b if self._replicas[b].outstanding < self._replicas[a].outstanding else a


class PrefixAware:
    """The replica that holds most of the prompt's beginning, unless it has too many more requests under way than the
    least busy; then, or where nobody holds anything, the least busy. Of equal matches the less busy."""

    __slots__ = ("_every_fs", "_most_behind", "_numbers", "_replicas", "_views", "next_look_fs")

    def __init__(self, replicas: Sequence[Replica], routing: Routing, numbers: Sequence[int] | None = None) -> None:
        self._replicas, self._most_behind = replicas, routing.most_behind
        self._numbers = range(len(replicas)) if numbers is None else numbers
        self._every_fs = fs_from_s(routing.stale_s)
        self._views: dict[int, set[int]] = {}
        self.next_look_fs = self._every_fs or NEVER_FS

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """By the picture of the caches and the counts of this instant."""
        fallback = least(self._replicas, live)
        if not request.chain:
            return fallback
        most = self._replicas[fallback].outstanding + self._most_behind
        best, best_match, best_load = fallback, 0, 0
        for number in live:
            load = self._replicas[number].outstanding
            if load > most:
                continue
            found = self._match(number, request.chain, now_fs)
            if found > best_match or (found and found == best_match and load < best_load):
                best, best_match, best_load = number, found, load
        return best

    def _match(self, number: int, chain: Sequence[int], now_fs: int) -> int:
        if not self._every_fs:
            return self._replicas[number].matched_tokens(chain, now_fs)
        view = self._views.get(number, ())
        found = 0
        for key in chain:
            if key not in view:
                break
            found += 1
        return found

    def look(self, now_fs: int) -> None:
        """Catch up with what each cache has taken in and given up since the last look."""
        if not self._every_fs:
            return
        for number in self._numbers:
            replica = self._replicas[number]
            cache = replica.kv.cache
            if cache is None:
                continue
            if cache.changes is None:
                cache.changes = []
                continue
            replica.settle(now_fs + 1)  # what began at this very instant has begun
            view = self._views.setdefault(number, set())
            for key, there in cache.changes:
                (view.add if there else view.discard)(key)
            cache.changes.clear()
        self.next_look_fs = now_fs + self._every_fs


def least(replicas: Sequence[Replica], live: Sequence[int]) -> int:
    """The live replica with the fewest requests under way, of several the first."""
    best, fewest = live[0], replicas[live[0]].outstanding
    for number in live:
        if replicas[number].outstanding < fewest:
            best, fewest = number, replicas[number].outstanding
    return best


Maker = Callable[..., Router]
"""(all replicas, routing, numbers of those between which the router chooses; None: all)."""

ROUTERS: dict[str, Maker] = {
    "round-robin": RoundRobin,
    "random": Random,
    "least-outstanding": LeastOutstanding,
    "power-of-two": PowerOfTwo,
    "prefix-aware": PrefixAware,
}
