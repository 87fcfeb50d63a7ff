"""Ablate: what each technique that MLPerf leaves out is worth for one plan on one model.

The plan is served as it is by the model with all techniques off: no prefix cache, no speculation, one pool, round
robin. Then one thing is changed at a time. A technique is switched on (`on` differs). Of the two things that a
benchmark has not, mixed lengths and arrivals as they came, the benchmark's side is made from the plan (`off` differs):
every request as long as the mean, or the same number of requests in the same time, arriving independently.

All see the same requests under the same numbers (common random numbers). The highest rate within limits is found by
playing the plan faster or slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from caveat.errors import CannotSayError, UsageError
from caveat.measure import Slo
from caveat.simulator.ablate_sides import OFF, Assumed, Sides, Technique, sides_of
from caveat.simulator.capacity import Interval, interval_of
from caveat.simulator.changed_plans import Sped
from caveat.simulator.grades import Grade
from caveat.simulator.model_file import Model
from caveat.simulator.outcome import Outcome, Peak, highest, times_of
from caveat.units import NS_PER_S
from caveat.workload import NO_REQUEST, Plan

FORMAT: Literal["caveat-ablated/1"] = "caveat-ablated/1"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two: what was seen at the plan's own load, and the highest rate within the limits.

    `peak` is None where none was asked for, where the plan sets no rate, or where no rate keeps the limits.
    """

    outcome: Outcome
    peak: Peak | None
    keeps: bool | None


class Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """On / off, on the model's best guess; `ranges` hold 80 % of its draws, each with both sides, by the same names.

    None where one of the two is not there. Of times a ratio below 1 is better.
    """

    output_tokens_per_s: float | None
    ttft_p50: float | None
    ttft_p95: float | None
    ttft_p99: float | None
    tpot_p50: float | None
    tpot_p95: float | None
    tpot_p99: float | None
    peak: float | None
    ranges: dict[str, Interval]


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """One technique: both sides and their ratios; or `reason`, why nothing can be said of it here."""

    technique: Technique
    off: Side | None = None
    on: Side | None = None
    ratios: Ratios | None = None
    assumed: str = ""
    reason: str = ""


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. Simulated; the changed models were not validated."""

    model: str
    grade: Grade
    requests: int
    rate_per_s: float | None
    slo: Slo | None
    draws: int
    worth: tuple[Worth, ...]
    notes: tuple[str, ...]
    simulated: Literal[True] = True
    format: Literal["caveat-ablated/1"] = FORMAT


def ablate(
    model: Model,
    plan: Plan,
    slo: Slo | None = None,
    *,
    assumed: Assumed | None = None,
    techniques: Sequence[Technique] = (),
    max_num_seqs: int | None = None,
    draws: int = 0,
    step: Callable[[int, int], None] | None = None,
) -> Ablation:
    """What each technique is worth (`techniques`: only these). Without limits no highest rate is sought.

    `assumed` says how speculation, pools and routing are set where the model does not. With `draws` so many draws of
    the model say how sure the ratios are at the plan's own load. `step` is told (techniques done, of how many).
    CannotSayError for a plan without requests, and where max_num_seqs is not known and none is given.
    """
    if draws < 0:
        raise UsageError(f"draws: found {draws}, expected a number from 0")
    load = _load_of(plan)
    pairs = sides_of(model, plan, assumed or Assumed(), techniques, max_num_seqs, dependent=load.dependent)
    seen = _Seen(slo, load.rate_per_s)
    worth = []
    for sides in pairs:
        worth.append(_worth(sides, seen, draws))
        if step is not None:
            step(len(worth), len(pairs))
    return Ablation(
        model=model.name,
        grade=model.grade,
        requests=load.requests,
        rate_per_s=load.rate_per_s,
        slo=slo,
        draws=draws,
        worth=tuple(worth),
        notes=_NOTES,
    )


def ablation_json(found: Ablation) -> dict[str, Any]:
    """As one object with its format."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain


_NOTES = (
    "simulated: the model with a technique switched on or off is another than any that was validated",
    "one technique at a time: what two are worth together is not the product",
    "the highest rate is that of this plan played faster or slower; one that ends soon flatters it",
)


class _Load(msgspec.Struct, frozen=True):
    requests: int
    rate_per_s: float | None
    dependent: bool


def _load_of(plan: Plan) -> _Load:
    blocks = list(plan.blocks())
    count = sum(map(len, blocks))
    if not count:
        raise CannotSayError("ablation: found a plan without requests")
    at_ns = np.concatenate([block.at_ns for block in blocks])
    dependent = plan.concurrency is not None or any((block.after != NO_REQUEST).any() for block in blocks)
    span_s = float(at_ns.max() - at_ns.min()) / NS_PER_S
    return _Load(count, None if plan.concurrency is not None or not span_s else (count - 1) / span_s, dependent)


class _Seen:
    """What was seen of each side; a side that stands in several pairs is served once."""

    def __init__(self, slo: Slo | None, rate_per_s: float | None) -> None:
        self._slo, self._rate_per_s = slo, rate_per_s
        self._sides: dict[str, Side] = {}
        self._drawn: dict[tuple[str, int], Outcome] = {}

    def side(self, name: str, sides: Sides) -> Side:
        """The off or on side of a pair at the model's best guess."""
        key = sides.key(name)
        if key not in self._sides:
            offer, slo = sides.offer(name, None), self._slo
            times = times_of(offer.server, offer.plan)
            self._sides[key] = Side(
                outcome=times.outcome(),
                peak=None if slo is None or self._rate_per_s is None else self._peak(offer.server, offer.plan, slo),
                keeps=None if slo is None else times.keeps(slo),
            )
        return self._sides[key]

    def drawn(self, name: str, sides: Sides, draw: int) -> Outcome:
        """The same at a draw of the model, at the plan's own load."""
        key = sides.key(name), draw
        if key not in self._drawn:
            offer = sides.offer(name, draw)
            self._drawn[key] = times_of(offer.server, offer.plan).outcome()
        return self._drawn[key]

    def _peak(self, server: Any, plan: Plan, slo: Slo) -> Peak | None:
        rate = self._rate_per_s or 1.0
        return highest(lambda tried: times_of(server, Sped(plan, tried / rate)).keeps(slo), rate)


def _worth(sides: Sides, seen: _Seen, draws: int) -> Worth:
    if sides.reason:
        return Worth(technique=sides.technique, reason=sides.reason)
    off, on = seen.side(OFF, sides), seen.side("on", sides)
    drawn = [(seen.drawn(OFF, sides, draw), seen.drawn("on", sides, draw)) for draw in range(draws)]
    plain = _ratios(off.outcome, on.outcome)
    several = [_ratios(*pair) for pair in drawn]
    ranges = {name: interval_of(values) for name in plain if (values := list(_known(several, name)))}
    ratios = Ratios(**plain, peak=_ratio(_rate(off.peak), _rate(on.peak)), ranges=ranges)
    return Worth(technique=sides.technique, off=off, on=on, ratios=ratios, assumed=sides.assumed)


def _ratios(off: Outcome, on: Outcome) -> dict[str, float | None]:
    found = {"output_tokens_per_s": _ratio(off.output_tokens_per_s, on.output_tokens_per_s)}
    for name in ("ttft", "tpot"):
        for percentile in ("p50", "p95", "p99"):
            two = (getattr(getattr(one, f"{name}_s"), percentile) for one in (off, on))
            found[f"{name}_{percentile}"] = _ratio(*two)
    return found


def _known(several: Sequence[dict[str, float | None]], name: str) -> Iterator[float]:
    return (value for one in several if (value := one[name]) is not None)


def _rate(peak: Peak | None) -> float | None:
    return None if peak is None else peak.rate_per_s


def _ratio(off: float | None, on: float | None) -> float | None:
    return on / off if off and on is not None else None
