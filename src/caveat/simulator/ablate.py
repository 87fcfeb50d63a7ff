"""Ablate: what each technique that MLPerf leaves out is worth for one plan on one model.

The plan is served as it is by the model with all techniques off: no prefix cache, no speculation, one pool, round
robin. Then one thing is changed at a time. A technique is switched on (`on` differs). Of the two things that a
benchmark has not, mixed lengths and arrivals as they came, the benchmark's side is made from the plan (`off` differs):
every request as long as the mean, or the same number of requests in the same time, arriving independently.

All see the same requests under the same numbers (common random numbers). The highest rate within limits is found by
playing the plan faster or slower. With draws of the model each ratio has a range: both sides are served by the same
draw, so that what they have in common falls out of it. Draws of highest rates cost most, and are fewer for long plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from caveat.errors import CannotSayError, UsageError
from caveat.measure import Slo
from caveat.simulator.ablate_peaks import affordable, range_of, ratio_range
from caveat.simulator.ablate_seen import Seen, Side
from caveat.simulator.ablate_sides import OFF, Assumed, Sides, Technique, sides_of
from caveat.simulator.capacity import PREDICTABLE_TO, Interval, interval_of
from caveat.simulator.grades import Grade
from caveat.simulator.model_file import Model
from caveat.simulator.outcome import Outcome, Peak
from caveat.units import NS_PER_S
from caveat.workload import NO_REQUEST, Plan

FORMAT: Literal["caveat-ablated/1"] = "caveat-ablated/1"


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
    """One technique: both sides and their ratios; or `reason`, why nothing can be said of it here. `untold` says why
    ratios of first-token times are missing."""

    technique: Technique
    off: Side | None = None
    on: Side | None = None
    ratios: Ratios | None = None
    assumed: str = ""
    reason: str = ""
    untold: str = ""


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. Simulated; the changed models were not validated."""

    model: str
    grade: Grade
    requests: int
    rate_per_s: float | None
    slo: Slo | None
    draws: int
    peak_draws: int
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
    peak_draws: int | None = None,
    step: Callable[[int, int], None] | None = None,
) -> Ablation:
    """What each technique is worth (`techniques`: only these). Without limits no highest rate is sought.

    `assumed` says how speculation, pools and routing are set where the model does not. With `draws` so many draws of
    the model say how sure the ratios are, `peak_draws` of them also those of highest rates (None: as many as a bounded
    time allows). `step` is told (done, of how many): for each technique its best guess and its draws. CannotSayError
    for a plan without requests, and where max_num_seqs is not known and none is given.
    """
    if draws < 0:
        raise UsageError(f"draws: found {draws}, expected a number from 0")
    load = _load_of(plan)
    pairs = sides_of(model, plan, assumed or Assumed(), techniques, max_num_seqs, dependent=load.dependent)
    sought = slo is not None and load.rate_per_s is not None
    peaks = affordable(draws, peak_draws, requests=load.requests, sides=_different(pairs)) if sought else 0
    seen = Seen(slo, load.rate_per_s)
    ticks = _Ticks(step, len(pairs) * (1 + draws))
    worth = tuple(_worth(sides, seen, draws, peaks, ticks) for sides in pairs)
    return Ablation(
        model=model.name,
        grade=model.grade,
        requests=load.requests,
        rate_per_s=load.rate_per_s,
        slo=slo,
        draws=draws,
        peak_draws=peaks,
        worth=worth,
        notes=(*_NOTES, *_left_out(model), *_peak_notes(draws, peaks, sought=sought)),
    )


def ablation_json(found: Ablation) -> dict[str, Any]:
    """As one object with its format."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain


_NOTES = (
    "simulated: the model with a technique switched on or off is another than any that was validated",
    "without it every prompt is computed whole: the off side has no prefix cache, whatever the model's prefix_hit",
    "one technique at a time: what two are worth together is not the product",
    "the highest rate is that of this plan played faster or slower; one that ends soon flatters it",
)


def _left_out(model: Model) -> Iterator[str]:
    """What the model's fleet has that neither side has: both have all replicas, always."""
    found = [name for name in ("autoscaling", "failures") if name in model.fleet.switches]
    if found:
        yield f"without {' and '.join(found)} on both sides: {model.fleet.replicas} replicas that are always there"


def _peak_notes(draws: int, peaks: int, *, sought: bool) -> Iterator[str]:
    if sought and draws and not peaks:
        yield "highest rates are the best guess's: draws of them would take long with so many requests"
    elif sought and peaks < draws:
        yield f"ranges of highest rates are those of {peaks} draws of the model, of times those of {draws}"


def _different(pairs: Sequence[Sides]) -> int:
    """Sides that are served; some stand in several pairs."""
    return len({pair.key(name) for pair in pairs if not pair.reason for name in (OFF, "on")})


class _Ticks:
    """How far it is."""

    def __init__(self, step: Callable[[int, int], None] | None, of: int) -> None:
        self._step, self._of, self._done = step, of, 0

    def add(self, count: int = 1) -> None:
        """So much more is done."""
        self._done += count
        if self._step is not None:
            self._step(self._done, self._of)


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


def _worth(sides: Sides, seen: Seen, draws: int, peaks: int, ticks: _Ticks) -> Worth:
    if sides.reason:
        ticks.add(1 + draws)
        return Worth(technique=sides.technique, reason=sides.reason)
    off, on = seen.side(OFF, sides), seen.side("on", sides)
    ticks.add()
    sought = peaks if off.peak and on.peak else 0
    several, rates = [], []
    for draw in range(draws):
        several.append(_ratios(seen.drawn(OFF, sides, draw), seen.drawn("on", sides, draw)))
        if draw < sought:
            rates.append((seen.drawn_peak(OFF, sides, draw), seen.drawn_peak("on", sides, draw)))
        ticks.add()
    plain = _ratios(off.outcome, on.outcome)
    if untold := _untold(off, on):
        plain |= dict.fromkeys(_WAITING)
    ranges = {
        name: interval_of(values)
        for name, told in plain.items()
        if told is not None and (values := list(_known(several, name)))
    }
    offs, ons = [one for one, _ in rates], [one for _, one in rates]
    if (around := ratio_range(offs, ons)) is not None:
        ranges["peak"] = around
    return Worth(
        technique=sides.technique,
        off=msgspec.structs.replace(off.told(), peak_range=range_of(offs)),
        on=msgspec.structs.replace(on.told(), peak_range=range_of(ons)),
        ratios=Ratios(**plain, peak=_ratio(_rate(off.peak), _rate(on.peak)), ranges=ranges),
        assumed=sides.assumed,
        untold=untold,
    )


_WAITING = ("ttft_p50", "ttft_p95", "ttft_p99")


def _untold(off: Side, on: Side) -> str:
    """Why no ratio of first-token times is told; empty where it is."""
    if off.tells_waiting and on.tells_waiting:
        return ""
    said = [f"{one.load.median:.2f} (up to {one.load.high:.2f})" for one in (off, on) if one.load is not None]
    return (
        f"TTFT is not predictable: the load fraction is {' without it, '.join(said)} with it, and above "
        f"{PREDICTABLE_TO:g} a small error in capacity is an unbounded error in waiting"
    )


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
