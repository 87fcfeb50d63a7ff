"""Prediction: what a workload would see on a modelled server, as a simulated Run whose spreads are 80 % intervals.

Every draw of the model serves the plan (or one of several plans of one workload: replicates), and the figures of each
are those of `measure.summarize`. The load fraction comes first. Outside the validated range the answer is refused
unless asked for, and where the load may pass 0.9 no figure that holds waiting is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from caveat.errors import UsageError
from caveat.figures import Run, Value
from caveat.measure import SHARES, Samples, Scenario, Sink, Slo, Summary, WarmUp, summarize
from caveat.simulator.capacity import Interval, interval_of
from caveat.simulator.disclosed import coverage_for
from caveat.simulator.grades import widened
from caveat.simulator.load import Load
from caveat.simulator.model_file import Model, Range
from caveat.simulator.predict_draws import inputs_of, simulated
from caveat.simulator.predict_run import holds_waiting, left_out, simulated_run
from caveat.simulator.standing import standing_of
from caveat.workload import Plan

if TYPE_CHECKING:
    import pyarrow as pa

DRAWS = 40
MOST_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was predicted.

    run              the simulated Run: medians over draws, spreads are 80 % intervals
    load             load fraction with its range; None where completions hold back arrivals, or all come at once
    intervals        by metric key, as in the run
    slo_probability  share of draws that keep the limits; None where none were given, or their figures are not told
    outside          what lies outside the validated range; empty where nothing does
    unpredictable    why figures that hold waiting are not told, or None
    """

    run: Run
    load: Load | None
    intervals: Mapping[str, Interval]
    slo_probability: float | None
    outside: tuple[str, ...]
    unpredictable: str | None


def predict(
    model: Model,
    plans: Plan | Sequence[Plan],
    rng: np.random.Generator,
    *,
    subject: str,
    draws: int = DRAWS,
    slo: Slo | None = None,
    warmup: WarmUp | None = None,
    max_num_seqs: int | None = None,
    prefix_hit: float | None = None,
    extrapolate: bool = False,
    conditions: Mapping[str, Value | None] | None = None,
    scenario: Scenario | None = None,
    stop_after_s: float | None = None,
    stepping: bool = False,
    best: Sink | None = None,
    step: Callable[[int, int], None] | None = None,
) -> Prediction:
    """The figures of a plan on a modelled server. Several plans of one workload (other seeds) take turns, so that the
    intervals also hold what chance in the workload does.

    `prefix_hit` and `max_num_seqs` go before what the model says. A `scenario` stands in the place of limits and
    warm-up; `stop_after_s` ends the feeding of a closed loop. `best` takes the samples of the model's best guess, with
    which `stepping` is of interest; `step` is told (done, of how many) simulations. CannotSayError outside the
    validated range unless `extrapolate`, and where a needed input is unknown: before anything is simulated.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise UsageError(f"draws: found {draws}, expected from 1 to {MOST_DRAWS:,}")
    several: list[Plan] = list(plans) if isinstance(plans, list | tuple) else [cast(Plan, plans)]
    standing = standing_of(model, several[0], prefix_hit=prefix_hit, max_num_seqs=max_num_seqs, extrapolate=extrapolate)
    load, hit = standing.load, standing.hit
    drawn = drawn_words(model, several, hit, max_num_seqs, draws)
    inputs = inputs_of(model, hit, max_num_seqs, draws if drawn else 1)
    said = several[0].describe()
    limits = slo if scenario is None else scenario.slo()
    summaries: list[Summary] = []
    kept: list[bool] = []
    for samples in simulated(model, several, inputs, rng, stop_after_s=stop_after_s, stepping=stepping):
        if not summaries and best is not None:
            _hand_over(samples, best)
        if summaries and limits is not None:
            kept.append(keeps(samples, limits, warmup))
        summaries.append(summarize(samples, workload=said, slo=slo, warmup=warmup, scenario=scenario))
        if step is not None:
            step(len(summaries), len(inputs))
    why = None if load is None else load.unpredictable
    intervals = _intervals(model, summaries[1:], why, in_scenario=scenario is not None)
    probability = _slo_probability(kept, limits, why)
    run = simulated_run(
        model,
        summaries[0],
        intervals,
        subject=subject,
        plan=several[0],
        standing=standing,
        probability=probability,
        limited=limits is not None,
        drawn=drawn,
        conditions=conditions or {},
    )
    return Prediction(run, load, intervals, probability, standing.outside, why)


def drawn_words(
    model: Model, plans: Sequence[Plan], prefix_hit: float | Range, max_num_seqs: int | None, draws: int
) -> str | None:
    """What lies behind the intervals; None where there is one possibility alone."""
    if varies(model, plans[:1], prefix_hit, max_num_seqs):
        return f"80 % of {draws} draws of the model, each a simulation"
    if len(plans) > 1:
        return f"80 % of {draws} simulations of {len(plans)} plans of the workload; none of the model itself"
    return None


def varies(model: Model, plans: Sequence[Plan], prefix_hit: float | Range, max_num_seqs: int | None) -> bool:
    """Whether there is more than one possibility: draws, noise of requests, ranges of inputs, or several plans."""
    noise = model.residual.ttft_sd or model.residual.token_sd
    seats = isinstance(model.scheduler.max_num_seqs, Range) and max_num_seqs is None
    ranges = seats or isinstance(prefix_hit, Range)
    return bool(noise) or ranges or len(plans) > 1 or len(model.step_time.draws_of()) > 1


def _hand_over(samples: pa.Table, sink: Sink) -> None:
    try:
        for batch in samples.to_batches():
            sink.take(batch)
    finally:
        sink.close()


def _intervals(
    model: Model, summaries: Sequence[Summary], why: str | None, *, in_scenario: bool
) -> dict[str, Interval]:
    """Medians and 80 % ranges of the metrics that every draw has, widened by what coverage was measured."""
    values: dict[str, list[float]] = {}
    for summary in summaries:
        for row in summary.rows:
            if not left_out(row.metric, in_scenario=in_scenario) and not (why and holds_waiting(row.metric)):
                values.setdefault(row.metric, []).append(row.value)
    return {
        key: widened(interval_of(found), coverage_for(model, key))
        for key, found in values.items()
        if len(found) == len(summaries)
    }


def _slo_probability(kept: Sequence[bool], slo: Slo | None, why: str | None) -> float | None:
    if slo is None or (why and (slo.ttft_s is not None or slo.latency_s is not None)):
        return None
    return sum(kept) / len(kept)


def keeps(samples: Samples, slo: Slo, warmup: WarmUp | None) -> bool:
    """Whether each limit holds for the share of requests that the percentile names, as counted in these samples."""
    share = SHARES[slo.percentile]
    for name in ("ttft_s", "tpot_s", "latency_s"):
        limit = getattr(slo, name)
        if limit is None:
            continue
        alone = Slo(**{name: limit}, percentile=slo.percentile)
        row = summarize(samples, workload={}, slo=alone, warmup=warmup).row("caveat-goodput-share")
        if row is None or row.value < share:
            return False
    return True
