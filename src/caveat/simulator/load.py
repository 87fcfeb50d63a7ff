"""Load of a model file: the first line of every answer. How near a rate comes to what the model can carry at all.

Draws of the step time, the range of `max_num_seqs` and the range of the prefix hit are gone through together, each
draw with one value of each range, evenly spread and out of step with each other. A fleet of several parts is as near
to its end as the part that is nearest. With autoscaling the load is that of all replicas, which are there once they
are ordered; what fewer carry is said beside it, and so is what is left while one is down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from caveat.errors import CannotSayError
from caveat.simulator.capacity import (
    PREDICTABLE_TO,
    BatchLimit,
    Capacity,
    Interval,
    Part,
    capacity,
    fraction_of,
    why_unpredictable,
)
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.model_file import Model, Range
from caveat.simulator.parts import Case, availability, parts_of

MixAt = Callable[[float], LengthMix]
"""The length mix of a workload at a prefix hit: `mix_of` with its lengths bound."""

_NO_PRIORITIES = "policy: priority, but no workload gives requests priorities, so the first to come goes first"
_GOLDEN = 0.6180339887498949
_FIRST, _SECOND = 0.7548776662466927, 0.5698402909980532
"""1 / p and 1 / p^2, p^3 = p + 1: pairs of their multiples are even over the square of two ranges, not on a line."""
_LEAST_STEPS = 128  # values of a range where the model has fewer draws


def capacity_of(
    model: Model, mix_at: MixAt, *, max_num_seqs: float | None = None, prefix_hit: float | Range | None = None
) -> Capacity:
    """Requests/s that the modelled fleet carries, with its range. CannotSayError as in `load_of`."""
    hit = model.prefix_hit if prefix_hit is None else prefix_hit
    if hit == "unknown":
        raise CannotSayError(
            "prefix_hit is unknown, and capacity depends on it more than on anything else",
            next="give the share of prompt tokens found in the cache, or a range in the model file",
        )
    cases = _cases(model, mix_at, max_num_seqs, hit)
    scaled, failing = model.fleet.autoscaling is not None, model.fleet.failures is not None
    return capacity(parts_of(model, cases), scaled=scaled, works=availability(model) if failing else None)


def _cases(model: Model, mix_at: MixAt, given: float | None, hit: float | Range) -> list[Case]:
    """Every draw, and at least so many values of each range."""
    draws, several = model.step_time.draws_of(), model.fleet.several_models
    swapping = several is not None and several.replicas is None
    hits = _spread(hit, _count(len(draws), isinstance(hit, Range)), _FIRST)
    limits = _limits(model, given, len(hits))
    count = max(_count(len(draws), swapping), len(hits), len(limits))
    others = several.draws(len(draws)) if several is not None else [()]
    return [
        Case(
            step_time=draws[i % len(draws)].step_time,
            others=others[i % len(others)],
            mix=mix_at(hits[i % len(hits)]),
            max_num_seqs=limits[i % len(limits)],
            place=(0.25 + i * _GOLDEN) % 1.0,
        )
        for i in range(count)
    ]


def _count(draws: int, ranged: bool) -> int:
    return max(draws, _LEAST_STEPS if ranged else 1)


def _limits(model: Model, given: float | None, count: int) -> list[float | None]:
    slots = model.scheduler.static_slots
    said = given if given is not None else (slots if slots is not None else model.scheduler.max_num_seqs)
    if said == "unknown":
        return [None]
    return list(_spread(said, _count(count, isinstance(said, Range)), _SECOND))


def _spread(value: float | Range, count: int, step: float) -> list[float]:
    """One value, or so many over a range, evenly: multiples of a step that is no fraction."""
    if not isinstance(value, Range):
        return [value]
    return [value.low + (value.high - value.low) * ((0.5 + i * step) % 1.0) for i in range(count)]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Capacity and load fraction at a rate. `unpredictable` says why first-token times cannot be told, or None.

    parts      by name, where the fleet has several; `fraction` is that of the one nearest to its end
    at_least   with the fewest replicas that autoscaling keeps; None: there is no autoscaling
    one_down   while the replica is down that is missed most, endless where nobody is left; None: none fails
    beside     sentences on those two, and on a policy that the workload has no use for
    """

    rate_per_s: float
    capacity: Capacity
    fraction: Interval
    unpredictable: str | None
    parts: dict[str, Interval] = {}
    at_least: Interval | None = None
    one_down: Interval | None = None
    beside: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The load fraction for people, with its range, and that of each part."""
        parts = ", ".join(f"{name} {one.median:.2f}" for name, one in self.parts.items())
        return f"load fraction {_said(self.fraction)}, {_limited(self.capacity.batch)}" + (
            f": {parts}" if parts else ""
        )

    @property
    def numbers(self) -> dict[str, float]:
        """As a condition of a run holds it: the range, and medians of the parts and cases that are finite."""
        f = self.fraction
        cases = {"fewest replicas": self.at_least, "one replica down": self.one_down}
        more = {**self.parts, **{name: one for name, one in cases.items() if one is not None}}
        finite = {name: one.median for name, one in more.items() if math.isfinite(one.median)}
        return {"low": f.low, "median": f.median, "high": f.high, **finite}


def load_of(
    model: Model,
    mix_at: MixAt,
    rate_per_s: float,
    *,
    max_num_seqs: float | None = None,
    prefix_hit: float | Range | None = None,
    lasting_s: float | None = None,
) -> Load:
    """Load of a modelled fleet at a rate in requests/s. What is given here goes before what the file says.

    `lasting_s` is how long the rate lasts: replicas that autoscaling makes ready later than that are not counted on.
    CannotSayError where the prefix hit is unknown, or no limit of the batch is known: neither is ever taken as 0 or
    endless.
    """
    found = capacity_of(model, mix_at, max_num_seqs=max_num_seqs, prefix_hit=prefix_hit)
    fraction = found.load_fraction(rate_per_s)
    at_least, one_down = (
        None if one is None else fraction_of(rate_per_s, one) for one in (found.at_least, found.one_down)
    )
    parts = {part.name: fraction_of(rate_per_s, part.rate_per_s) for part in found.parts}
    return Load(
        rate_per_s=rate_per_s,
        capacity=found,
        fraction=fraction,
        unpredictable=why_unpredictable(fraction) or _too_late(model, at_least, lasting_s),
        parts=parts if len(parts) > 1 else {},
        at_least=at_least,
        one_down=one_down,
        beside=(
            *((_NO_PRIORITIES,) if model.scheduler.policy == "priority" else ()),
            *(() if at_least is None else (_scaled_words(model, found.parts, at_least),)),
            *(() if one_down is None else (_failing_words(model, one_down),)),
        ),
    )


def _too_late(model: Model, at_least: Interval | None, lasting_s: float | None) -> str | None:
    """Why nothing that holds waiting is told: the load is over before autoscaling has a replica more."""
    scaled = model.fleet.autoscaling
    if scaled is None or at_least is None or lasting_s is None or scaled.every_s + scaled.provisioning_s < lasting_s:
        return None
    why = why_unpredictable(at_least)
    return why and (
        f"{why}; more replicas take requests {scaled.every_s + scaled.provisioning_s:g} s after the start at the "
        f"soonest, and the load lasts {lasting_s:.4g} s"
    )


def _scaled_words(model: Model, parts: Sequence[Part], at_least: Interval) -> str:
    """What fewer replicas make of the load, and for how long at least."""
    scaled = model.fleet.autoscaling
    assert scaled is not None  # or there are no fewer
    fewest, most = (sum(getattr(part, name) for part in parts) for name in ("least", "replicas"))
    said = f"autoscaling: load fraction {_said(at_least)} with the fewest replicas, {fewest} of {most}"
    if at_least.high <= PREDICTABLE_TO:
        return f"{said}: they carry it alone"
    return (
        f"{said}; more take requests {scaled.provisioning_s:g} s after they are ordered, and until then requests wait"
    )


def _failing_words(model: Model, one_down: Interval) -> str:
    """How much of the time a replica works, and what is left while one does not."""
    works = availability(model)
    share = f"a replica works {works:.2%} of the time, which is in the load fraction; " if works < 1 else ""
    left = "nobody is left to serve" if math.isinf(one_down.median) else f"the load fraction is {_said(one_down)}"
    return f"failures: {share}while one is down {left}"


def _said(fraction: Interval) -> str:
    return f"{fraction.median:.2f} ({fraction.low:.2f} to {fraction.high:.2f})"


def _limited(batch: BatchLimit) -> str:
    return f"batch limited by {batch.by}" if math.isfinite(batch.sequences) else f"limited by the {batch.by}"
