"""Where a plan stands with a model before anything is simulated: its load, the prefix hit, and the validated range.

Every answer begins here, and where the plan lies outside the range it also ends here. The range is held against means
and spreads of the lengths, how uneven arrivals are, the rate and both ends of the load; a closed loop or a burst by how
many requests are there at once. What a plan shows of a spread is taken less twice its sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass

from caveat.errors import CannotSayError, UsageError
from caveat.simulator.achieved_hit import achieved_hit
from caveat.simulator.around import LEAST_CV
from caveat.simulator.load import Load, load_of
from caveat.simulator.model_file import Model, Range
from caveat.simulator.offered import Offered, certain_cv, offered_by
from caveat.workload import Plan


@dataclass(frozen=True, slots=True)
class Standing:
    """`load` is None where completions hold back arrivals, or all come at once. `outside` says what lies outside the
    validated range. `hit_words` says where the prefix hit comes from, where that is not the model file alone."""

    offered: Offered
    hit: float | Range
    load: Load | None
    outside: tuple[str, ...]
    hit_words: str | None


def standing_of(
    model: Model,
    plan: Plan,
    *,
    prefix_hit: float | None = None,
    max_num_seqs: int | None = None,
    extrapolate: bool = False,
) -> Standing:
    """Of one plan. CannotSayError outside the validated range unless `extrapolate`, and where an input is unknown."""
    offered = offered_by(plan)
    hit = load_hit = _hit(model, offered, prefix_hit)
    if offered.reuse is not None and hit:  # less, by what the router and the size of the caches make of it
        achieved = achieved_hit(model, plan, max_num_seqs=max_num_seqs)
        hit, load_hit = achieved.planned, achieved.range
    load = _load(model, offered, load_hit, max_num_seqs)
    asked = asked_of(model, offered, load)
    if not extrapolate:
        model.validated.refuse_outside(asked)
    return Standing(offered, hit, load, model.validated.outside(asked), _hit_words(model, offered, load_hit))


def asked_of(model: Model, offered: Offered, load: Load | None) -> dict[str, float | Range]:
    """What is held against the validated range."""
    asked: dict[str, float | Range] = {
        "input_tokens": float(offered.input_tokens.mean()),
        "output_tokens": float(offered.output_tokens.mean()),
    }
    spreads = {
        "input_cv": certain_cv(offered.input_tokens),
        "output_cv": certain_cv(offered.output_tokens),
        "arrival_cv": offered.arrival_cv or 0.0,
    }
    asked |= {name: cv for name, cv in spreads.items() if cv > LEAST_CV}  # what is even was seen with any mean
    if offered.at_once is not None:
        asked["concurrency"] = float(offered.at_once)
    if load is not None:
        asked["rate_per_s"] = load.rate_per_s
        if model.validated.load_fraction is not None:  # else the rate stands for it
            asked["load_fraction"] = Range(low=load.fraction.low, high=load.fraction.high)
    return asked


def _hit(model: Model, offered: Offered, given: float | None) -> float | Range:
    """The prefix hit to simulate with: a plan with shared beginnings has its own, where the server caches at all."""
    if offered.reuse is not None:
        return _own_hit(model, offered.reuse, given)
    hit = model.prefix_hit if given is None else given
    if isinstance(hit, str):
        raise CannotSayError(
            "prefix_hit is unknown, and waiting depends on it",
            next="give the share of prompt tokens found in the cache, or a range in the model file",
        )
    return hit


def _own_hit(model: Model, reuse: float, given: float | None) -> float:
    cached = model.scheduler.prefix_cache
    if given is not None and (cached or given > 0):
        raise UsageError(
            f"prefix_hit: found {given:g} beside a plan whose prompts say what they share, expected none: it would not "
            "be used",
            next="scheduler.prefix_cache says whether the server caches; or take a plan without blocks",
        )
    if not cached and model.prefix_hit == "unknown" and given is None:
        raise CannotSayError(
            "prefix_hit is unknown and scheduler.prefix_cache is off: whether the server caches what prompts share is "
            "not known",
            next="--set scheduler.prefix_cache=true, or --set prefix_hit=0",
        )
    return reuse if cached else 0.0


def _hit_words(model: Model, offered: Offered, hit: float | Range) -> str | None:
    if offered.reuse is None:
        return None
    if not model.scheduler.prefix_cache:
        shared = f"prompts of the plan share {offered.reuse:.1%} of their tokens"
        return f"prefix hit: none, {shared} and the modelled server caches nothing (scheduler.prefix_cache)"
    said = model.prefix_hit if isinstance(model.prefix_hit, str | float | int) else "a range"
    unused = "" if said in (0, "unknown") else f"; the model's prefix_hit ({said}) is not used"
    ends = (hit.low, hit.high) if isinstance(hit, Range) else (hit, hit)
    return (
        f"prefix hit: about {ends[1]:.1%} on this fleet, {ends[0]:.1%} where it has most to do, estimates from "
        f"simulating the plan, whose prompts share {offered.reuse:.1%} of their tokens{unused}"
    )


def _load(model: Model, offered: Offered, hit: float | Range, max_num_seqs: int | None) -> Load | None:
    if offered.rate_per_s is None:
        return None
    return load_of(
        model,
        offered.mix,
        offered.rate_per_s,
        max_num_seqs=max_num_seqs,
        prefix_hit=hit,
        lasting_s=(offered.requests - 1) / offered.rate_per_s,
    )
