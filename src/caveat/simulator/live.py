"""Live: a modelled fleet that is asked request by request and tells every token, for whoever drives it in real time.

Replicas, scheduler and router are those of `SimulatedServer`, step by step: fed with the arrivals of a plan it gives
the instants of the simulation. It never looks at a clock; how late its driver calls changes nothing of what is due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from caveat.errors import UsageError
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import FS_PER_NS, NEVER_FS
from caveat.simulator.replica import Replica
from caveat.simulator.request import NO_CHAIN, Request
from caveat.simulator.routers import ROUTERS
from caveat.simulator.target import SimulatedServer


class Token(NamedTuple):
    """`tokens` more tokens of request `number`, seen outside at `due_ns`. `cached_tokens` of its prompt were found in
    the prefix cache of its replica; None where there is none."""

    number: int
    due_ns: int
    tokens: int
    cached_tokens: int | None = None


class Live:
    """A fleet in the time of its requests, in nanoseconds of whatever clock stamped their arrival.

    Whoever drives it tells what arrives (no earlier than what was told before, numbers all different), and calls `turn`
    at `next_ns`. `block_tokens` is the size of the blocks whose chain a request is to bring, 0 where nobody looks at
    prefixes. All requests have one priority. The counters of `fleet` and its replicas may be read. Raises UsageError
    for a server with a limit of requests under way, or with switches such as autoscaling.
    """

    def __init__(self, server: SimulatedServer) -> None:
        if server.limit is not None:
            raise UsageError("live: found a limit of requests under way, expected none: whom it refuses is not told")
        if not server.shape.plain:
            raise UsageError("live: found switches of the fleet, expected plain replicas behind a router")
        scheduler = server.scheduler
        self.block_tokens = scheduler.block_tokens if scheduler.prefix_cache else 0
        self._replicas = [
            Replica(scheduler, server.step_time, plan_block_tokens=self.block_tokens, stepping=True)
            for _ in range(server.replicas)
        ]
        for replica in self._replicas:
            replica.told = self._told
        router = ROUTERS[server.routing.router](self._replicas, server.routing)
        router.look(0)
        self._source = _Arrivals()
        self.fleet = Fleet(self._replicas, router, self._source, self._ended)
        self._requests: dict[int, Request] = {}
        self._tokens: deque[tuple[int, int, int, int | None]] = deque()  # due and a Token; all are seen equally late

    @property
    def waiting(self) -> int:
        """Requests that wait for service."""
        return len(self._source.queue) + sum(replica.waiting for replica in self._replicas)

    @property
    def running(self) -> int:
        """Requests in service."""
        return sum(replica.outstanding - replica.waiting for replica in self._replicas)

    def fitting(self, prompt_tokens: int, output_tokens: int) -> int | str:
        """Tokens of the answer that such a request gets, cut where the context ends; or why it cannot be served."""
        request = Request(0, 0, prompt_tokens, output_tokens)
        return self._replicas[0].refusal(request) or request.output

    def arrive(
        self, number: int, at_ns: int, prompt_tokens: int, output_tokens: int, chain: Sequence[int] = ()
    ) -> None:
        """A request that fits arrives. `chain` has one number for each whole block of its prompt, from 0, which stands
        for the block and all before it: equal numbers mean equal beginnings."""
        chained = list(chain) if self.block_tokens and chain else NO_CHAIN
        request = Request(number, at_ns * FS_PER_NS, prompt_tokens, output_tokens, chained)
        self._requests[number] = request
        self._source.add(request)

    def cancel(self, number: int, at_ns: int) -> None:
        """Forget a request whose client has gone; a step that is under way is not cut short. Nothing more is told of
        it. A number that is not known, or has ended, is no error."""
        request = self._requests.pop(number, None)
        if request is not None:
            self.fleet.at(at_ns * FS_PER_NS, lambda now_fs: self._leave(request, now_fs))

    def next_ns(self) -> int | None:
        """When `turn` is to be called next, rounded up; None while nothing is going to happen without a request."""
        soonest_fs = self.fleet.next_fs()
        if self._tokens:
            soonest_fs = min(soonest_fs, self._tokens[0][0])
        return None if soonest_fs >= NEVER_FS else -(-soonest_fs // FS_PER_NS)

    def turn(self) -> list[Token]:
        """What happens at the next instant: the tokens that are seen then, those of a step in one list."""
        tokens, fleet = self._tokens, self.fleet
        now_fs = fleet.next_fs()
        if tokens and tokens[0][0] <= now_fs:
            now_fs = tokens[0][0]
        elif now_fs < NEVER_FS:
            fleet.turn(now_fs)
        seen = []
        while tokens and tokens[0][0] <= now_fs:
            due_fs, number, count, cached = tokens.popleft()
            seen.append(Token(number, due_fs // FS_PER_NS, count, cached))
        return seen

    def _told(self, request: Request, tokens: int, due_fs: int) -> None:
        if request.number in self._requests:
            cached = max(0, request.cached) if self.block_tokens else None
            self._tokens.append((due_fs, request.number, tokens, cached))

    def _ended(self, request: Request, end_fs: int, error: str) -> None:
        self._requests.pop(request.number, None)

    def _leave(self, request: Request, now_fs: int) -> None:
        if request in self._source.queue:
            self._source.remove(request)
        else:
            self.fleet.cancel(request, now_fs)


class _Arrivals:
    """What has been told and not yet been routed."""

    def __init__(self) -> None:
        self.queue: deque[Request] = deque()
        self.next_fs = NEVER_FS

    def add(self, request: Request) -> None:
        self.queue.append(request)
        self._look()

    def remove(self, request: Request) -> None:
        self.queue.remove(request)
        self._look()

    def pop(self) -> Request:
        request = self.queue.popleft()
        self._look()
        return request

    def ended(self, number: int, end_fs: int) -> None:
        """Nobody waits for anybody here."""

    def _look(self) -> None:
        self.next_fs = self.queue[0].due_fs if self.queue else NEVER_FS
