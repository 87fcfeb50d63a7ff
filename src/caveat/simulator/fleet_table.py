"""The fleet of a model file: replicas behind a router, and the switches that make them more than that."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from caveat.errors import InputError
from caveat.simulator.assembly import FleetShape
from caveat.simulator.autoscaling import Autoscaling
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.failures import Failures
from caveat.simulator.routers import RouterName, Routing
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.step_models import Draw, StepModel
from caveat.simulator.step_time import StepTime


class ModelsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`SeveralModels` as a document gives it: `others` are step models like the file's own, which is model 0. Where
    they have draws, draw k of one goes with draw k of the rest."""

    others: tuple[StepModel, ...]
    shares: tuple[float, ...]
    replicas: tuple[int, ...] | None = None
    swap_s: float = 0.0
    most_behind: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        self.settings()

    def draws(self, count: int) -> list[tuple[StepTime, ...]]:
        """Steps of the other models in so many draws; who has fewer goes around."""
        held = [other.draws_of() for other in self.others]
        return [tuple(_of_draw(draws, i) for draws in held) for i in range(count)]

    def settings(self, draw: int | None = None) -> SeveralModels:
        """With the best guess of those steps, or one of their draws. InputError for a value out of range."""
        same = {name: getattr(self, name) for name in self.__struct_fields__ if name != "others"}
        others = [other.step_time() if draw is None else _of_draw(other.draws_of(), draw) for other in self.others]
        return SeveralModels(others=tuple(others), **same)


class FleetTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """So many replicas behind one router; `stale_s` and `most_behind` as in `Routing`. `limit` is the most requests
    under way in the fleet, one more is refused; None: no limit. `replicas` are all that there are, whatever they do:
    pools, the most of an autoscaled fleet, those that fail. The switches are off unless they stand in the file."""

    replicas: int = 1
    router: RouterName = "round-robin"
    stale_s: float = 0.0
    most_behind: int = 8
    limit: int | None = None
    disaggregation: Disaggregation | None = None
    several_models: ModelsTable | None = None
    autoscaling: Autoscaling | None = None
    failures: Failures | None = None

    def __post_init__(self) -> None:
        for name in ("replicas", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"fleet.{name}: found {value}, expected a number from 1")
        self.routing()
        self.shape(kv_bytes_per_token=0.0).check(self.replicas)  # the model knows its own, here it stands for any
        self._check_numbers()

    def _check_numbers(self) -> None:
        """What a simulation would take for its limit case, or come upon late, is a mistake in a file."""
        scaled, failing = self.autoscaling, self.failures
        if scaled is not None and scaled.min_replicas > self.replicas:
            raise InputError(
                f"fleet.autoscaling: min_replicas: found {scaled.min_replicas} of {self.replicas} replicas, expected "
                "at most as many as there are",
                next="fleet.replicas is the most that autoscaling may order",
            )
        for outage in failing.outages if failing is not None else ():
            if not 0 <= outage.replica < self.replicas:
                raise InputError(
                    f"fleet.failures: outages: found replica {outage.replica}, expected one from 0 to "
                    f"{self.replicas - 1}",
                    next="replicas are counted from 0",
                )

    @property
    def switches(self) -> tuple[str, ...]:
        """The names of those that are on."""
        return tuple(name for name in FleetShape.__struct_fields__ if getattr(self, name) is not None)

    @property
    def pools(self) -> int:
        """How many groups of replicas take the same requests: each is scaled by itself."""
        several = self.several_models
        if several is not None and several.replicas is not None:
            return len(several.replicas)
        return 1 if self.disaggregation is None else 2

    @property
    def scales(self) -> bool:
        """Whether the number of replicas can change."""
        return self.autoscaling is not None and self.autoscaling.min_replicas < self.replicas

    def shape(self, draw: int | None = None, *, kv_bytes_per_token: float | None = None) -> FleetShape:
        """The switches as the simulator takes them: other models with their best guess or a draw, keys and values as
        the table says them or else as they are given."""
        split, several = self.disaggregation, self.several_models
        if split is not None and split.kv_bytes_per_token is None:
            split = msgspec.structs.replace(split, kv_bytes_per_token=kv_bytes_per_token)
        return FleetShape(
            disaggregation=split,
            several_models=None if several is None else several.settings(draw),
            autoscaling=self.autoscaling,
            failures=self.failures,
        )

    def routing(self) -> Routing:
        """How requests are spread. InputError for a value out of range."""
        return Routing(router=self.router, stale_s=self.stale_s, most_behind=self.most_behind)


def _of_draw(draws: Sequence[Draw], number: int) -> StepTime:
    return draws[number % len(draws)].step_time
