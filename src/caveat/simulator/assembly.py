"""Assembly: the switches of a fleet, which of them go together, and the fleet that they make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Protocol

import msgspec

from caveat.errors import InputError, UsageError
from caveat.simulator.autoscaling import Autoscaler, Autoscaling
from caveat.simulator.disaggregation import Disaggregation, Transfers
from caveat.simulator.failures import Failures, set_failures
from caveat.simulator.feed import Models
from caveat.simulator.fleet import Ended, Fleet
from caveat.simulator.pools import Pool, Source
from caveat.simulator.replica import Replica
from caveat.simulator.routers import ROUTERS, Router, Routing
from caveat.simulator.several_models import SeveralModels, WithItsModel
from caveat.simulator.step_time import StepTime


class Made(Protocol):
    """Makes a replica with the settings that all have in common."""

    def __call__(
        self,
        step_time: StepTime,
        *,
        hands_over: bool = False,
        model: int = 0,
        others: Sequence[StepTime] = (),
        swap_s: float = 0.0,
    ) -> Replica:
        """What differs between replicas; see Replica."""
        ...


class FleetShape(msgspec.Struct, frozen=True, kw_only=True):
    """The switches, None: off. All go together but two: disaggregation with several models is refused."""

    disaggregation: Disaggregation | None = None
    several_models: SeveralModels | None = None
    autoscaling: Autoscaling | None = None
    failures: Failures | None = None

    @property
    def plain(self) -> bool:
        """Whether all are off."""
        return self == FleetShape()

    def check(self, replicas: int) -> None:
        """UsageError for switches that do not go together, InputError where they do not fit the number of replicas."""
        split, several = self.disaggregation, self.several_models
        if split is not None:
            split.token_s()  # refuses where nobody said what a token weighs
        if split is not None and several is not None:
            raise UsageError(
                "fleet: found disaggregation with several models, expected one of them",
                next="simulate each model on the pools that are its own",
            )
        if split is not None and split.prefill_replicas >= replicas:
            raise InputError(
                f"disaggregation: prefill_replicas: found {split.prefill_replicas} of {replicas} replicas, expected "
                "that at least one is left to decode"
            )
        if several is not None and several.replicas is not None and sum(several.replicas) != replicas:
            raise InputError(
                f"several models: replicas: found {sum(several.replicas)} in sum, expected the fleet's {replicas}"
            )

    def models(self, given: Models | None) -> Models | None:
        """Which model each request asks. UsageError where somebody says it and there is only one."""
        if self.several_models is None:
            if given is not None:
                raise UsageError("fleet: found a choice of models, expected several_models with it")
            return None
        return self.several_models.drawn if given is None else self.several_models.checked(given)

    def fleet(
        self,
        made: Made,
        step_time: StepTime,
        replicas: int,
        routing: Routing,
        feed: Source,
        ended: Ended,
        *,
        limit: int | None = None,
    ) -> Fleet:
        """The fleet with its timers set."""
        engines: list[Replica] = []
        pools, decode = self._pools(made, step_time, replicas, routing, engines)
        retries = None if self.failures is None else self.failures.retries
        fleet = Fleet(engines, pools[0].router, feed, ended, limit=limit, pools=pools, retries=retries)
        if self.disaggregation is not None and decode is not None:
            fleet.link = Transfers(fleet, decode, self.disaggregation)
        if self.autoscaling is not None:
            scaled = dict.fromkeys([*pools, decode] if decode else pools)  # models that swap have one pool
            fleet.scalers = [Autoscaler(fleet, pool, self.autoscaling) for pool in scaled]
        if self.failures is not None:
            set_failures(fleet, self.failures)
        return fleet

    def _pools(
        self, made: Made, step_time: StepTime, replicas: int, routing: Routing, engines: list[Replica]
    ) -> tuple[list[Pool], Pool | None]:
        """The pools by model, and the one to which requests go on; puts the replicas into `engines`."""
        split, several = self.disaggregation, self.several_models
        if split is not None:
            first, everyone = range(split.prefill_replicas), range(replicas)
            engines += [made(step_time, hands_over=number in first) for number in everyone]
            later = everyone[len(first) :]
            on = Routing(router=split.decode_router, seed=routing.seed)
            return [Pool(first, _router(engines, routing, first))], Pool(later, _router(engines, on, later))
        if several is None:
            engines += [made(step_time) for _ in range(replicas)]
            return [Pool(range(replicas), _router(engines, routing, range(replicas)))], None
        if several.replicas is None:
            engines += [made(step_time, others=several.others, swap_s=several.swap_s) for _ in range(replicas)]
            inner = _router(engines, routing, range(replicas))
            pool = Pool(range(replicas), WithItsModel(inner, engines, several.most_behind))
            return [pool] * (1 + len(several.others)), None
        return _dedicated(made, (step_time, *several.others), several.replicas, routing, engines), None


def _dedicated(
    made: Made, step_times: Sequence[StepTime], counts: Sequence[int], routing: Routing, engines: list[Replica]
) -> list[Pool]:
    for model, (step_time, count) in enumerate(zip(step_times, counts, strict=True)):
        engines += [made(step_time, model=model) for _ in range(count)]
    spans = [range(begin, end) for begin, end in pairwise(accumulate(counts, initial=0))]
    return [Pool(span, _router(engines, routing, span)) for span in spans]


def _router(engines: Sequence[Replica], routing: Routing, numbers: Sequence[int]) -> Router:
    return ROUTERS[routing.router](engines, routing, numbers)
