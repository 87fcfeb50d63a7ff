"""Calibration of grade A by simulation: the requests of measured runs are served by models until the times agree.

`calibration.from_samples` reads the same samples as linear rows, which is quicker and knows nothing of queues; here it
is where the search begins. Use this one wherever the scheduler is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from caveat import __version__
from caveat.measure import Samples, columns_of
from caveat.simulator import measured
from caveat.simulator.around import around, up_to
from caveat.simulator.capacity import Interval
from caveat.simulator.fit_noise import residual_of
from caveat.simulator.fit_problem import Problem, correlations
from caveat.simulator.fit_runs import SeenRun, seen_run
from caveat.simulator.fit_search import Found, draws_of, search, smoothed
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.fit_verdict import (
    Fitted,
    fit_words,
    fitted,
    load_words,
    refuse_hopeless,
    refuse_more_at_once,
    seats_words,
)
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.length_mix import mix_of
from caveat.simulator.load import capacity_of
from caveat.simulator.model_file import (
    FORMAT,
    Model,
    ModelProvenance,
    Overheads,
    Range,
    Residual,
    SchedulerTable,
    Unknown,
    Validated,
)
from caveat.simulator.multipliers import Float64
from caveat.simulator.offered import possible_cv
from caveat.simulator.step_models import FittedSteps, written

DRAWS = 200
MOST_OFF = 0.2
"""Median times of a run that was left out may be so far off for the run to count as validation."""
PRIOR_SHARE, TOGETHER = 0.7, 0.9
"""Of a prior's spread, beyond which a parameter was not learned; correlation beyond which two were not told apart."""
Origin = Literal["measured", "simulated"]
"""Whose samples they are: an endpoint's, or another model's."""
_KINDS = ("ttft_s", "token_s")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A run that was predicted from the others: predicted / seen - 1 of its median times."""

    run: int
    ttft_off: float
    token_off: float

    @property
    def holds(self) -> bool:
        """Whether both are near enough for the run to count."""
        return max(abs(self.ttft_off), abs(self.token_off)) <= MOST_OFF

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"run {self.run + 1}, predicted from the others: median TTFT {self.ttft_off:+.0%}, "
            f"median time per token {self.token_off:+.0%}"
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A model with what is known of how good it is. `together` names parameters that the runs do not tell apart,
    `untold` those of which they say nothing, `fits` hold the model against the runs that it was made from."""

    model: Model
    held_out: tuple[HeldOut, ...]
    untold: tuple[str, ...]
    together: tuple[tuple[str, str], ...]
    fits: tuple[Fitted, ...] = ()


def calibrate(
    name: str,
    samples: Samples | Sequence[Samples],
    rng: np.random.Generator,
    *,
    date: str,
    scheduler: SchedulerTable,
    fleet: FleetTable = FleetTable(),  # noqa: B008  (frozen)
    prefix_hit: float | Range | Unknown | None = None,
    sources: Sequence[str] = (),
    origin: Origin = "measured",
    draws: int = DRAWS,
) -> Calibration:
    """A model from one measured run or several of one endpoint; two at different loads tell steps from batches.

    The scheduler must be known (slots, or the limit of the batch): waiting cannot be told from slow steps without.
    `prefix_hit` None takes the share that the server says it found cached, "unknown" where it says nothing. With two
    runs or more each is also predicted from the others, and what held makes the validated range. CannotSayError where
    a run has too few answers or lost too many, a limit of the scheduler is not one number, or no engine of this kind
    gives what was seen.
    """
    scheduler = _of_slots(scheduler)
    chosen = samples if isinstance(samples, list | tuple) else [samples]
    runs = [seen_run(one) for one in chosen]
    problem = _problem(runs, scheduler, fleet)
    refuse_more_at_once(runs, problem.scheduler.seats() * fleet.replicas)
    found = search(problem)
    smooth = smoothed(found, rng)
    residual = residual_of(found, smooth)
    fits = fitted(found.problem, found.theta, residual, rng)
    refuse_hopeless(found.problem, fits)
    told = draws_of(found, smooth, rng, draws)
    steps = _steps(found, _settled(told, residual, rng))
    model = Model(
        format=FORMAT,
        name=name,
        grade="A",
        step_time=steps,
        overheads=Overheads(intake_s=found.problem.form.overhead_s(np.exp(found.theta))),
        scheduler=scheduler,
        prefix_hit=_hit(runs, chosen) if prefix_hit is None else prefix_hit,
        provenance=ModelProvenance(origin=origin, date=date, tool_version=__version__, sources=tuple(sources)),
        fleet=fleet,
        residual=residual,
    )
    held_out = _held_out(problem, runs, found.problem.form)
    untold, together = _untold(found, told), _together(found, told)
    seats = problem.scheduler.seats() * fleet.replicas
    notes = [*_notes(runs, fits, held_out, untold, together), *seats_words(runs, seats)]
    provenance = msgspec.structs.replace(model.provenance, note=tuple(notes))
    good = [runs[one.run] for one in held_out if one.holds]
    model = msgspec.structs.replace(model, provenance=provenance, validated=_validated(model, good))
    return Calibration(model=model, held_out=held_out, untold=untold, together=together, fits=fits)


def _of_slots(scheduler: SchedulerTable) -> SchedulerTable:
    """Fixed slots are the limit of the batch, where nobody said it another way."""
    if scheduler.static_slots is None or isinstance(scheduler.max_num_seqs, int):
        return scheduler
    return msgspec.structs.replace(scheduler, max_num_seqs=scheduler.static_slots)


def _problem(runs: Sequence[SeenRun], scheduler: SchedulerTable, fleet: FleetTable) -> Problem:
    return Problem(
        runs=runs,
        form=FitForm(),
        priors=measured.priors_of(runs[0].answers),
        scheduler=scheduler.scheduler(Overheads(intake_s=0.0)),
        replicas=fleet.replicas,
        routing=fleet.routing(),
    )


def _steps(found: Found, draws: Float64) -> FittedSteps:
    form = found.problem.form
    mode = dict(zip(form.names, np.exp(found.theta).tolist(), strict=True))
    return FittedSteps(parameters=mode, small_below=form.small_below, draws=written(form.names, np.exp(draws)))


def _settled(draws: Float64, residual: Residual, rng: np.random.Generator) -> Float64:
    """Each draw with one factor for what another condition is off, on all of a step and not on the overhead."""
    steps_only = np.ones(draws.shape[1])
    steps_only[-1] = 0.0
    return draws + steps_only * rng.normal(0.0, residual.condition_sd, (len(draws), 1))


def _held_out(problem: Problem, runs: Sequence[SeenRun], form: FitForm) -> tuple[HeldOut, ...]:
    """Each run predicted by a fit of that form to the others; nothing for a single run."""
    if len(runs) < 2:
        return ()
    return tuple(_without(problem, runs, form, place) for place in range(len(runs)))


def _without(problem: Problem, runs: Sequence[SeenRun], form: FitForm, place: int) -> HeldOut:
    others = [run for at, run in enumerate(runs) if at != place]
    forms = (form.small_below,) if form.small_below else ()
    found = search(dataclasses.replace(problem, runs=others), forms)
    asked = dataclasses.replace(found.problem, runs=[runs[place]])
    predicted, seen = asked.times(found.theta)[0], runs[place].seen
    ratios = [np.nanmedian(getattr(predicted, kind)) / np.nanmedian(getattr(seen, kind)) for kind in _KINDS]
    return HeldOut(run=place, ttft_off=float(ratios[0] - 1), token_off=float(ratios[1] - 1))


def _hit(runs: Sequence[SeenRun], samples: Sequence[Samples]) -> float | Unknown:
    """What the server said that it found cached, of all prompt tokens."""
    if not all(bool(columns_of(one).present("cached_tokens_usage").any()) for one in samples):
        return "unknown"
    tokens = np.array([float(run.answers.input_tokens.sum()) for run in runs])
    return float(min(1.0, max(0.0, np.average([run.cached_share for run in runs], weights=tokens))))


def _untold(found: Found, draws: Float64) -> tuple[str, ...]:
    """Parameters about as uncertain as before."""
    shares = draws.std(axis=0) / found.problem.spread
    return tuple(n for n, share in zip(found.problem.form.names, shares, strict=True) if share > PRIOR_SHARE)


def _together(found: Found, draws: Float64) -> tuple[tuple[str, str], ...]:
    """Pairs of which one can stand for the other."""
    names, related = found.problem.form.names, correlations(draws.T)
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return tuple((names[i], names[j]) for i, j in pairs if abs(related[i, j]) > TOGETHER)


def _notes(
    runs: Sequence[SeenRun],
    fits: Sequence[Fitted],
    held_out: Sequence[HeldOut],
    untold: Sequence[str],
    together: Sequence[tuple[str, str]],
) -> list[str]:
    notes = [
        f"run {place + 1}: {_counted(run)} answers at {run.rate_per_s:.3g} a second, {run.in_flight:.2g} under way, "
        f"{run.mix.input_tokens:.4g} tokens in and {run.mix.output_tokens:.4g} out on average"
        for place, run in enumerate(runs)
    ]
    notes += [*fit_words(fits), *(one.words for one in held_out)]
    if unmoved := load_words(runs):
        notes.append(unmoved)
    if untold:
        notes.append(f"the runs say little of {', '.join(untold)}: mostly what was believed before")
    notes += [f"the runs do not tell {one} from {other}" for one, other in together]
    return notes


def _counted(run: SeenRun) -> str:
    every = len(run.answers.sent_s)
    return f"{every:,}" if len(run) == every else f"the first {len(run):,} of {every:,}"


def _validated(model: Model, runs: Sequence[SeenRun]) -> Validated:
    """What the runs that held span, and a little around it; nothing where none did. The load is that of all draws."""
    if not runs:
        return Validated()
    loads = [_load(model, run) for run in runs]
    return Validated(
        rate_per_s=around([run.rate_per_s for run in runs]),
        load_fraction=around([end for one in loads for end in (one.low, one.high)]),
        concurrency=around([run.in_flight for run in runs]),
        input_tokens=around([run.mix.input_tokens for run in runs]),
        output_tokens=around([run.mix.output_tokens for run in runs]),
        input_cv=up_to([possible_cv(run.answers.input_tokens) for run in runs]),
        output_cv=up_to([possible_cv(run.answers.output_tokens) for run in runs]),
        arrival_cv=up_to([possible_cv(np.diff(run.sent_s)) for run in runs]),
        basis=f"{len(runs)} of its runs, each predicted from the others, and a tenth around",
    )


def _load(model: Model, run: SeenRun) -> Interval:
    """At the rate of the run, of requests like its own, with what of their prompts was computed."""
    inputs, outputs = run.answers.input_tokens.astype(np.int64), run.answers.output_tokens.astype(np.int64)
    found = capacity_of(
        model, lambda hit: mix_of(inputs, outputs, prefix_hit=hit), prefix_hit=max(0.0, run.cached_share)
    )
    return found.load_fraction(run.rate_per_s)
