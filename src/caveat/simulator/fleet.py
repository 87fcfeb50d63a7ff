"""Fleet: replicas behind a router, driven through virtual time in one total order of events.

At each instant: runs end and requests finish; timers ring; requests that are due are routed; steps begin. Of equals the
lower number comes first. What finishes may bring new requests at the same instant, and they are in the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from caveat.errors import UsageError
from caveat.simulator.instants import NEVER_FS
from caveat.simulator.pools import Link, Pool, Scaler, Source
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.routers import Router

_PRIORITY_SHIFT = 48
LOST = "reset-mid-stream"
Ended = Callable[[Request, int, str], None]
"""A request is over: the request, the instant, and why it was refused, or an empty text."""


class Fleet:
    """Drives replicas until nothing is under way and nothing comes due; timers alone do not keep it going.

    `live` are the numbers of the replicas that take requests; whoever adds or removes some (autoscaling, failures) does
    so from a timer set with `at`. `limit` is the most requests under way in the whole fleet; one more is refused.
    `ended` is told of every request, in order of their ends. With several `pools` a request goes to that of its model;
    with a `link` it goes on from there to another pool. After `retries` failures a request is lost; None: never.
    """

    def __init__(
        self,
        replicas: Sequence[Replica],
        router: Router,
        feed: Source,
        ended: Ended,
        *,
        limit: int | None = None,
        pools: Sequence[Pool] = (),
        retries: int | None = None,
    ) -> None:
        if not replicas:
            raise UsageError("fleet: found no replica, expected at least one")
        self.replicas = list(replicas)
        self.pools = list(pools) or [Pool(range(len(replicas)), router)]
        self.link: Link | None = None
        self.scalers: list[Scaler] = []
        self.down: set[int] = set()
        self.now_fs = 0
        self.outstanding = self.most_outstanding = self.refused = 0
        self.failures = self.retried = self.lost = 0
        self._feed, self._ended, self._limit, self._retries = feed, ended, limit, retries
        self._lookers = [pool.router for pool in dict.fromkeys(self.pools) if pool.router.next_look_fs < NEVER_FS]
        self._ends: list[tuple[int, int]] = []  # (instant, replica); stale where the replica says another instant
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._arrived = self._timers_set = 0

    def at(self, instant_fs: int, ring: Callable[[int], None]) -> None:
        """Call `ring(now)` at an instant, between the ends and the arrivals; of equals in the order they were set."""
        heappush(self._timers, (instant_fs, self._timers_set, ring))
        self._timers_set += 1

    @property
    def live(self) -> list[int]:
        """The numbers of the replicas of the first pool that take requests."""
        return self.pools[0].live

    def pool_of(self, number: int) -> Pool:
        """The pool of a replica."""
        pools = [*self.pools, self.link.decode] if self.link else self.pools
        return next(pool for pool in pools if number in pool.numbers)

    def fail(self, number: int, now_fs: int) -> int:
        """A replica fails: it takes no more requests, and what was on it is routed anew, in the order in which it came.

        Returns how many those were. Call it from a timer; `recover` brings the replica back.
        """
        pool = self.pool_of(number)
        if number in pool.live:
            pool.live.remove(number)
        self.down.add(number)
        self.failures += 1
        lost = self.replicas[number].abandon(now_fs)
        if self.link is not None:
            lost += self.link.lost(number, now_fs)
        lost.sort(key=_key)
        self.outstanding -= len(lost)
        for request in lost:
            self._begin_again(request, now_fs)
        return len(lost)

    def recover(self, number: int) -> None:
        """A replica that failed is there again, empty; in a pool that is scaled it waits until it is asked for."""
        self.down.discard(number)
        pool = self.pool_of(number)
        if not pool.scaled and number not in pool.live:
            pool.live.append(number)
            pool.live.sort()

    def deliver(self, request: Request, number: int, now_fs: int) -> None:
        """A request goes on at another replica, which counts it already."""
        request.place = number
        self.poke(number, lambda replica: replica.deliver(request, now_fs))

    def poke(self, number: int, touch: Callable[[Replica], None]) -> None:
        """Do something to a replica that may change when it has something to do."""
        replica = self.replicas[number]
        before_fs = replica.next_fs
        touch(replica)
        if replica.next_fs != before_fs:
            heappush(self._ends, (replica.next_fs, number))

    def drop(self, request: Request, now_fs: int, error: str) -> None:
        """A request that was under way is given up."""
        self.outstanding -= 1
        self._refuse(request, now_fs, error)

    def _begin_again(self, request: Request, now_fs: int) -> None:
        if self._retries is not None and request.retries >= self._retries:
            self.lost += 1
            self._fail(request, now_fs, LOST)
            return
        request.retries += 1
        self.retried += 1
        self._arrive(request, now_fs)

    def cancel(self, request: Request, now_fs: int) -> None:
        """Forget a request that is not finished; a step that is under way is not cut short. Call it from a timer."""
        replica = self.replicas[request.place]
        if request.last_fs < NEVER_FS:
            return
        if replica.in_step:
            self.at(replica.next_fs, lambda end_fs: self.cancel(request, end_fs))
            return
        replica.cancel(request)
        self.outstanding -= 1

    def run(self) -> Iterator[int]:
        """Run to the end; yields the number of turns now and then, so that a caller can look or stop."""
        for router in self._lookers:
            router.look(0)
        count = 0
        while (now_fs := self.next_fs()) < NEVER_FS:
            self.turn(now_fs)
            count += 1
            if not count & 4095:
                yield count

    def next_fs(self) -> int:
        """When something happens next; NEVER_FS where nothing does without another request."""
        ends, replicas, timers = self._ends, self.replicas, self._timers
        while ends and replicas[ends[0][1]].next_fs != ends[0][0]:
            heappop(ends)
        now_fs = self._feed.next_fs
        if ends and ends[0][0] < now_fs:
            now_fs = ends[0][0]
        if timers and timers[0][0] < now_fs and (now_fs < NEVER_FS or self.outstanding):
            now_fs = timers[0][0]
        return now_fs

    def turn(self, now_fs: int) -> None:
        """Everything that happens at an instant, which is that of `next_fs`."""
        feed, ends, timers, replicas = self._feed, self._ends, self._timers, self.replicas
        if now_fs > self.now_fs:
            self.now_fs = now_fs
        else:
            now_fs = self.now_fs  # a plan out of order: what should have come before comes now
        for router in self._lookers:
            if router.next_look_fs < now_fs:
                _look(router, now_fs)
        stopped = self._end(now_fs) if ends and ends[0][0] <= now_fs else ()
        while timers and timers[0][0] <= now_fs:
            heappop(timers)[2](now_fs)
        while feed.next_fs <= now_fs:
            self._arrive(feed.pop(), now_fs)
        for number in stopped:
            replica = replicas[number]
            replica.begin(now_fs)
            if replica.next_fs < NEVER_FS:
                heappush(ends, (replica.next_fs, number))

    def _end(self, now_fs: int) -> list[int]:
        """End all runs of this instant. Returns the replicas that must begin anew, each once."""
        ends, replicas = self._ends, self.replicas
        stopped = []
        while ends and ends[0][0] <= now_fs:
            instant_fs, number = heappop(ends)
            replica = replicas[number]
            if replica.next_fs != instant_fs:
                continue
            replica.end(now_fs)
            stopped.append(number)
            if replica.done:
                for request in replica.done:
                    if request.last_fs < NEVER_FS:
                        self._finished(request)
                    else:
                        assert self.link is not None  # or nobody hands over
                        self.link.send(request, now_fs)
                replica.done.clear()
        return stopped

    def _finished(self, request: Request) -> None:
        self.outstanding -= 1
        self._ended(request, request.last_fs, "")
        self._feed.ended(request.number, request.last_fs)

    def _arrive(self, request: Request, now_fs: int) -> None:
        """Route a request, or refuse it: it ends at once."""
        if self._limit is not None and self.outstanding >= self._limit:
            self._refuse(request, now_fs, "http-429")
            return
        pool = self.pools[request.model]
        if not pool.live:
            self._refuse(request, now_fs, "http-503")
            return
        number = pool.router.choose(request, pool.live, now_fs)
        replica = self.replicas[number]
        if replica.refusal(request) or (self.link and self._later(self.link).refusal(request)):
            self._refuse(request, now_fs, "http-400")
            return
        request.place = number
        request.key = (request.priority << _PRIORITY_SHIFT) + self._arrived
        self._arrived += 1
        self.outstanding += 1
        if self.outstanding > self.most_outstanding:
            self.most_outstanding = self.outstanding
        before_fs = replica.next_fs
        replica.arrive(request, now_fs)
        if replica.next_fs != before_fs:
            heappush(self._ends, (replica.next_fs, number))

    def _later(self, link: Link) -> Replica:
        return self.replicas[link.decode.numbers[0]]

    def _refuse(self, request: Request, now_fs: int, error: str) -> None:
        self.refused += 1
        self._fail(request, now_fs, error)

    def _fail(self, request: Request, now_fs: int, error: str) -> None:
        end_fs = now_fs + self.replicas[0].output_fs  # as late as any answer, so that rows come in order of their ends
        self._ended(request, end_fs, error)
        self._feed.ended(request.number, end_fs)


def _look(router: Router, now_fs: int) -> None:
    """The last look that was due before now; earlier ones would only be written over."""
    due_fs = router.next_look_fs
    router.look(due_fs)
    step_fs = router.next_look_fs - due_fs
    missed = (now_fs - 1 - due_fs) // step_fs
    if missed > 0:
        router.look(due_fs + missed * step_fs)


def _key(request: Request) -> int:
    return request.key
