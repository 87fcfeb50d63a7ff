"""The prefix hit that a plan with blocks would see on a fleet: counted in simulations of the model's best guess.

An endless cache shared by all would find every block that came before. A fleet finds less: a router spreads what
belongs together, and a cache gives up what it has no room for, the more so the fuller it is. So the load fraction takes
the share of prompt tokens found from the fleet itself, as a range from where it is full to the rate of the plan. It is
an estimate: what is found moves a little with the step time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from caveat.measure import Kept
from caveat.simulator.model_file import Model, Range
from caveat.simulator.modelled import server_of
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import Plan, PlanBlock

_USERS_A_SEAT = 2


@dataclass(frozen=True)
class AchievedHit:
    """Shares of prompt tokens found at first admission: `planned` at the plan's own arrivals, `full` with a queue that
    never ends."""

    planned: float
    full: float

    @property
    def range(self) -> Range:
        """Both, in order."""
        return Range(low=min(self.planned, self.full), high=max(self.planned, self.full))


@dataclass(frozen=True)
class Crowded:
    """The requests of a plan in their order, always so many of them under way."""

    plan: Plan
    concurrency: int

    @property
    def block_tokens(self) -> int:
        """That of the plan."""
        return self.plan.block_tokens

    def blocks(self) -> Iterator[PlanBlock]:
        """All requests, due at once and waiting for no other."""
        none = np.empty(0, np.int64)
        for block in self.plan.blocks():
            yield replace(block, at_ns=np.zeros(len(block), np.int64), after=none, think_ns=none)

    def describe(self) -> Mapping[str, bool | int | float | str | dict[str, float]]:
        """As the plan says it: it is offered to a model only."""
        return self.plan.describe()


def achieved_hit(model: Model, plan: Plan, *, max_num_seqs: int | None = None) -> AchievedHit:
    """Of the whole plan; nothing where the server caches nothing.

    A range of the batch limit is taken at its middle. CannotSayError where that limit is unknown and none is given.
    """
    if not model.scheduler.prefix_cache:
        return AchievedHit(0.0, 0.0)
    server = server_of(model, max_num_seqs=_seats(model, max_num_seqs))
    users = min(_USERS_A_SEAT * server.scheduler.seats() * model.fleet.replicas, 1 << 30)
    return AchievedHit(_found(server, plan), _found(server, Crowded(plan, users)))


def _found(server: SimulatedServer, plan: Plan) -> float:
    server.offer(plan, Kept(), VirtualClock())
    assert server.internals is not None
    return server.internals.hit_share or 0.0


def _seats(model: Model, given: int | None) -> int | None:
    limit = model.scheduler.max_num_seqs
    if given is None and isinstance(limit, Range):
        return round((limit.low + limit.high) / 2)
    return given
