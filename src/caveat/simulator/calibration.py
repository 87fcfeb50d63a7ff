"""Calibration: a model file from samples (grade A), from published runs (B), or from data sheets alone (C).

What nobody said stays unknown in the file: `max_num_seqs` and the prefix hit are handed in or written as "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from caveat import __version__
from caveat.errors import CannotSayError
from caveat.figures import Run
from caveat.measure import Samples
from caveat.simulator import measured
from caveat.simulator.around import around, up_to
from caveat.simulator.evidence import Evidence, closed_loop, offline
from caveat.simulator.fit_problem import Problem
from caveat.simulator.fit_runs import SeenRun, seen_run
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.fit_verdict import fit_words, fitted, load_words, refuse_hopeless
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.grades import Grade
from caveat.simulator.length_mix import LengthMix, mix_of_means
from caveat.simulator.model_file import (
    FORMAT,
    Model,
    ModelProvenance,
    Overheads,
    Range,
    Residual,
    SchedulerTable,
    Validated,
)
from caveat.simulator.posterior import Posterior, fit
from caveat.simulator.published import (
    OPEN_LOOP,
    Layout,
    OfflineRate,
    Point,
    layout_of,
    line_through,
    offline_of,
    point_of,
)
from caveat.simulator.routers import Routing
from caveat.simulator.step_models import MeasuredSteps, RooflineSteps, StepModel

UNKNOWN = SchedulerTable(max_num_seqs="unknown")
Hit = float | Range | Literal["unknown"]

LENGTHS_CV = 1.0
"""Standard deviation by mean of the lengths of a benchmark, which no published run states: about that of its data."""

_NOT_HELD_OUT = (
    "without scheduler.max_num_seqs waiting is not simulated, and no run was predicted from the others: give it, and "
    "what holds makes a validated range"
)


def from_samples(
    name: str,
    samples: Samples | Sequence[Samples],
    rng: np.random.Generator,
    *,
    date: str,
    scheduler: SchedulerTable = UNKNOWN,
    prefix_hit: Hit = "unknown",
    sources: Sequence[str] = (),
    origin: Literal["measured", "simulated"] = "measured",
) -> Model:
    """Grade A: one affine step from every answer of one run or several, with no facts of the hardware.

    The range in which it was validated is left empty: it is for whoever holds it against another run to fill in.
    CannotSayError where a run has too few answers or lost too many, and where the model does not give what was seen,
    with a seat for every request: rows know nothing of waiting.
    """
    runs = [seen_run(one) for one in (samples if isinstance(samples, list | tuple) else [samples])]
    evidence = [row for run in runs for row in measured.evidence_of(run.answers)]
    posterior = fit(evidence, rng, priors=measured.priors_of(runs[0].answers))
    notes = _fit_notes(runs, posterior, scheduler)
    provenance = ModelProvenance(
        origin=origin, date=date, tool_version=__version__, sources=tuple(sources), note=tuple(notes)
    )
    return _model(name, "A", MeasuredSteps.of(posterior), posterior, scheduler, prefix_hit, provenance)


def _fit_notes(runs: Sequence[SeenRun], posterior: Posterior, scheduler: SchedulerTable) -> list[str]:
    """What the fit is worth, by serving the runs without a limit of the batch."""
    free = msgspec.structs.replace(scheduler, max_num_seqs=max(map(len, runs)), static_slots=None)
    problem = Problem(
        runs=runs,
        form=FitForm(),
        priors=measured.priors_of(runs[0].answers),
        scheduler=free.scheduler(Overheads(intake_s=0.0)),
        replicas=1,
        routing=Routing(),
    )
    fits = fitted(problem, np.log(posterior.mode), Residual(), np.random.default_rng(0))
    refuse_hopeless(problem, fits, limit_known=False)
    unmoved = load_words(runs)
    return [*fit_words(fits), *([unmoved] if unmoved else []), _NOT_HELD_OUT]


def from_data_sheets(
    name: str,
    layout: Layout,
    rng: np.random.Generator,
    *,
    date: str,
    scheduler: SchedulerTable = UNKNOWN,
    prefix_hit: Hit = "unknown",
) -> Model:
    """Grade C: the roofline of the facts, with multipliers as they are believed of engines in general.

    CannotSayError where a fact is missing.
    """
    layout.roofline.basis()
    posterior = fit([], rng)
    provenance = ModelProvenance(
        origin="datasheet",
        date=date,
        tool_version=__version__,
        sources=(layout.roofline.hardware.source, layout.roofline.shape.source),
        note=_layout_notes(layout),
    )
    steps = RooflineSteps.of(layout.roofline, posterior)
    return _model(name, "C", steps, posterior, scheduler, prefix_hit, provenance, layout)


def from_published(
    name: str,
    runs: Sequence[Run],
    rng: np.random.Generator,
    *,
    input_tokens: float,
    date: str,
    layout: Layout | None = None,
    scheduler: SchedulerTable = UNKNOWN,
    prefix_hit: Hit = 0.0,
) -> Model:
    """Grade B: the roofline of one system's facts, with multipliers from its Server, Interactive and Offline runs.

    `input_tokens` is the mean prompt, which published runs do not state. A Server and an Interactive run that fail
    the intercept check ran differently, and are refused together. Published benchmarks allow no prefix reuse, hence
    `prefix_hit` 0. CannotSayError where the runs do not carry a model.
    """
    if not runs:
        raise CannotSayError("calibration: found no runs, expected at least one of the system")
    _one_system(runs)
    spread = layout or layout_of(runs[0])
    points = [point_of(run) for run in runs if run.conditions.words("scenario") in OPEN_LOOP]
    rates = [offline_of(run) for run in runs if run.conditions.words("scenario") not in OPEN_LOOP]
    _check_intercept(points)
    evidence = [_point_evidence(one, spread, input_tokens) for one in points]
    evidence += [_offline_evidence(one, spread, input_tokens) for one in rates]
    posterior = fit(evidence, rng)
    provenance = ModelProvenance(
        origin="published",
        date=date,
        tool_version=__version__,
        sources=(*(f for one in points for f in one.figures), *(f for one in rates for f in one.figures)),
        note=(f"mean prompt of {input_tokens:g} tokens, given by whoever calibrated", *_layout_notes(spread)),
    )
    return _model(
        name,
        "B",
        RooflineSteps.of(spread.roofline, posterior),
        posterior,
        scheduler,
        prefix_hit,
        provenance,
        spread,
        _seen_range(points, input_tokens),
    )


def _model(
    name: str,
    grade: Grade,
    steps: StepModel,
    posterior: Posterior,
    scheduler: SchedulerTable,
    prefix_hit: Hit,
    provenance: ModelProvenance,
    layout: Layout | None = None,
    validated: Validated | None = None,
) -> Model:
    fleet = FleetTable() if layout is None else FleetTable(replicas=layout.replicas)
    settings = scheduler if layout is None else _with_memory(scheduler, layout)
    return Model(
        format=FORMAT,
        name=name,
        grade=grade,
        step_time=steps,
        overheads=Overheads(intake_s=posterior.overhead_s),
        scheduler=settings,
        prefix_hit=prefix_hit,
        provenance=provenance,
        fleet=fleet,
        validated=validated or Validated(),
    )


def _with_memory(scheduler: SchedulerTable, layout: Layout) -> SchedulerTable:
    """The KV cache that fits beside the weights, where nobody said how large it is."""
    if scheduler.kv_blocks is not None or scheduler.static_slots is not None:
        return scheduler
    blocks = layout.roofline.kv_tokens() // scheduler.block_tokens
    return msgspec.structs.replace(scheduler, kv_blocks=blocks)


def _one_system(runs: Sequence[Run]) -> None:
    keys = ("submitter", "platform", "round", "benchmark", "weight_precision")
    for key in keys:
        values = {run.conditions.words(key) for run in runs}
        if len(values) > 1:
            found = ", ".join(sorted(str(value) for value in values))
            raise CannotSayError(f"calibration: {key}: found {found}, expected runs of one system")


def _check_intercept(points: Sequence[Point]) -> None:
    if len(points) < 2:
        return
    line = line_through(points[0], points[1])
    if not line.holds:
        raise CannotSayError(
            f"the two runs lie on a line of {line.intercept_s * 1e3:.1f} ms without load, while their fastest token "
            f"took {line.tpot_min_s * 1e3:.1f} ms: they did not run the same way",
            next="calibrate on one of them",
        )


def _mix(output_tokens: float | None, input_tokens: float) -> LengthMix:
    if output_tokens is None:
        raise CannotSayError("calibration: the mean output length is not disclosed", next="import the log of the run")
    return mix_of_means(input_tokens, output_tokens)


def _point_evidence(one: Point, layout: Layout, input_tokens: float) -> Evidence:
    mix = _mix(one.output_tokens, input_tokens)
    sequences = one.sequences / layout.replicas
    return closed_loop(layout.roofline.basis(), mix, sequences=sequences, tpot_s=one.tpot_s)


def _offline_evidence(one: OfflineRate, layout: Layout, input_tokens: float) -> Evidence:
    mix = _mix(one.output_tokens, input_tokens)
    most = layout.roofline.kv_tokens() / mix.context_tokens
    rate = one.tokens_per_s / layout.replicas
    return offline(layout.roofline.basis(), mix, tokens_per_s=rate, most_sequences=most)


def _layout_notes(layout: Layout) -> tuple[str, ...]:
    if not layout.assumed:
        return ()
    roofline = layout.roofline
    return (
        f"assumed: {layout.replicas} replicas of {roofline.tensor_parallel} accelerators, the narrowest that fit",
        f"assumed: KV cache in {roofline.kv_precision}",
    )


def _seen_range(points: Sequence[Point], input_tokens: float) -> Validated:
    """Lengths and loads of the published points and a tenth around: at such, other systems were predicted. Nothing
    beyond: from one point to the other load of the same system, and to other lengths, errors of a third were seen.
    """
    if not points:
        return Validated()
    return Validated(
        rate_per_s=around([one.rate_per_s for one in points]),
        concurrency=around([one.sequences for one in points]),
        input_tokens=around([input_tokens]),
        output_tokens=around([one.output_tokens for one in points]),
        input_cv=up_to([LENGTHS_CV]),
        output_cv=up_to([LENGTHS_CV]),
        arrival_cv=up_to([1.0]),  # Poisson, by the rules of both scenarios
        basis=_RANGE_BASIS[len({one.scenario for one in points}) > 1],
    )


_RANGE_BASIS = {
    False: "one published load, and a tenth around it: a second one of the same system, Interactive beside Server, "
    "makes it a range; spreads of lengths up to their mean are assumed",
    True: "the published loads of one system, what lies between them, and a tenth around; spreads of lengths up to "
    "their mean are assumed",
}
