"""SimulatedServer: a modelled fleet as a Target. The same plan in and the same samples out as a real endpoint's."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from caveat.errors import InputError
from caveat.measure import Cancel, Clock, Sink
from caveat.simulator.assembly import FleetShape
from caveat.simulator.autoscaling import Autoscaling
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.failures import Failures
from caveat.simulator.feed import Feed, Models, Priorities
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import FS_PER_NS, fs_from_s
from caveat.simulator.internals import Internals, internals_of
from caveat.simulator.prefix import block_ratio
from caveat.simulator.replica import Replica
from caveat.simulator.routers import Routing
from caveat.simulator.samples import ROWS, Rows
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.step_time import StepTime
from caveat.workload import Plan

_MOST_REPLICAS = 100_000


class VirtualClock:
    """Virtual time since the start of the plan: a simulated server sets it as it goes."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        """Nanoseconds since the start of the plan."""
        return self._now_ns

    def set(self, now_ns: int) -> None:
        """Time has come so far."""
        self._now_ns = now_ns


class SimulatedServer:
    """Replicas of one model behind a router, offered plans in virtual time.

    `limit` is the most requests under way in the fleet: one more is refused, a failed sample. `priorities` gives the
    requests of a block theirs, where the scheduler's policy asks for it. After `stop_after_s` no request is fed.
    `disaggregation`, `several_models`, `autoscaling` and `failures` are switches, None: off; see their modules.
    `models` says which model each request asks, in place of the shares of `several_models`. After an offer,
    `internals` is what the fleet knows of itself. The same plan and settings give the same samples to the last
    nanosecond. Raises InputError for settings out of range and for a plan that makes no sense.
    """

    def __init__(
        self,
        step_time: StepTime,
        scheduler: Scheduler | None = None,
        *,
        replicas: int = 1,
        routing: Routing | None = None,
        limit: int | None = None,
        priorities: Priorities | None = None,
        stepping: bool = False,
        stop_after_s: float | None = None,
        disaggregation: Disaggregation | None = None,
        several_models: SeveralModels | None = None,
        models: Models | None = None,
        autoscaling: Autoscaling | None = None,
        failures: Failures | None = None,
    ) -> None:
        if not 1 <= replicas <= _MOST_REPLICAS:
            raise InputError(f"fleet: replicas: found {replicas}, expected a number from 1 to {_MOST_REPLICAS:,}")
        if limit is not None and limit < 1:
            raise InputError(f"fleet: limit: found {limit}, expected a number from 1")
        self.step_time = step_time
        self.scheduler = scheduler or Scheduler()
        self.routing = routing or Routing()
        self.replicas, self.limit, self.stepping = replicas, limit, stepping
        self.stop_after_s = stop_after_s
        self.shape = FleetShape(
            disaggregation=disaggregation, several_models=several_models, autoscaling=autoscaling, failures=failures
        )
        self.shape.check(replicas)
        self._models = self.shape.models(models)
        self.internals: Internals | None = None
        self._priorities = priorities if self.scheduler.policy == "priority" else None

    def offer(self, plan: Plan, sink: Sink, clock: Clock, cancel: Cancel | None = None) -> None:
        """Serve every request of the plan; see `caveat.measure.Target`. A VirtualClock is set as time goes on, any
        other clock is not looked at. When cancelled, what is under way is served to its end, marked as drained."""
        self.internals = None
        rows = Rows(closed=plan.concurrency is not None)
        try:
            with _uncollected():
                fleet, feed = self._fleet(plan, rows)
                if self.stop_after_s is not None:
                    fleet.at(fs_from_s(self.stop_after_s), lambda _: feed.stop())
                served = self._serve(fleet, feed, rows, sink, clock, cancel)
            self.internals = internals_of(fleet, served)
        except OverflowError as error:  # no sample holds such an instant
            raise InputError(
                "virtual time: found an answer that ends later than 292 years after the start",
                next="a model with shorter steps, or fewer requests",
            ) from error
        finally:
            sink.close()

    def _fleet(self, plan: Plan, rows: Rows) -> tuple[Fleet, Feed]:
        block_tokens = plan.block_tokens if self.scheduler.prefix_cache else 0
        every = block_ratio(block_tokens, self.scheduler.block_tokens)[0] if block_tokens else 0
        feed = Feed(plan, every=every, priorities=self._priorities, models=self._models)

        def made(step_time: StepTime, **more: Any) -> Replica:
            return Replica(self.scheduler, step_time, plan_block_tokens=block_tokens, stepping=self.stepping, **more)

        fleet = self.shape.fleet(made, self.step_time, self.replicas, self.routing, feed, rows.add, limit=self.limit)
        return fleet, feed

    def _serve(self, fleet: Fleet, feed: Feed, rows: Rows, sink: Sink, clock: Clock, cancel: Cancel | None) -> int:
        """Run the fleet, handing over rows as they come. Returns how many there were."""
        served = 0
        for _ in fleet.run():
            if isinstance(clock, VirtualClock):
                clock.set(fleet.now_fs // FS_PER_NS)
            if len(rows) >= ROWS:
                served += len(rows)
                sink.take(rows.batch())
            if cancel is not None and not rows.draining and cancel.requested():
                rows.draining = True
                feed.stop()
        if isinstance(clock, VirtualClock):
            clock.set(fleet.now_fs // FS_PER_NS)
        if len(rows):
            served += len(rows)
            sink.take(rows.batch())
        return served


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles: there are none, and looking for them in a long queue outlasts the serving."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
