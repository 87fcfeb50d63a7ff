"""What a fit makes small: logarithms of simulated over seen times, request by request, and the distance from a prior.

Where the model gives the order of requests well (rank correlation), every request is held against itself. Where
queueing makes that meaningless, sorted times are: the same share of requests should be as quick. Random numbers are
common: the same requests come at the same instants whatever the parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caveat.simulator.fit_runs import SeenRun, Times, served
from caveat.simulator.fit_steps import FitForm, scheduler_with
from caveat.simulator.multipliers import Float64, Prior
from caveat.simulator.routers import Routing
from caveat.simulator.scheduler import Scheduler

ALIGNED_FROM = 0.6
"""Rank correlation of seen and simulated times from which requests are held against themselves."""
QUANTILES = 20
SHORT_TOKENS = 4.0
"""Tokens after the first at which a time per token weighs half: the ends of a short answer fall anywhere in a step."""
LARGE_LOG = 3.0
"""Of a request that the model never serves: 20 seconds."""
LEAST_S = 1e-15
"""A femtosecond, in which the simulation counts."""
BLOCKS = 16
"""Stretches of consecutive requests of a run that a bootstrap draws from."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of time of one run: which of its requests, whether they are held against themselves, the weights'
    square roots, and for each row the block of time that it belongs to (-1: all of them)."""

    run: int
    kind: str
    rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    aligned: bool
    weight: Float64
    block: np.ndarray[tuple[int], np.dtype[np.int64]]

    def __len__(self) -> int:
        return len(self.weight)

    def of(self, times: Times) -> Float64:
        """Logarithms of this part's times; sorted ones at fixed shares. What was not served counts as very late."""
        values = getattr(times, self.kind)[self.rows]
        logs: Float64 = np.log(np.where(np.isfinite(values) & (values > 0), values, np.exp(LARGE_LOG)))
        if self.aligned:
            return logs
        ranked: Float64 = np.quantile(logs, _shares(len(self.weight)))
        return ranked


@dataclass(frozen=True, slots=True)
class Problem:
    """Runs to explain by a form of step, under a scheduler whose intake is the parameter `overhead_s`."""

    runs: Sequence[SeenRun]
    form: FitForm
    priors: Sequence[Prior]
    scheduler: Scheduler
    replicas: int
    routing: Routing

    @property
    def centre(self) -> Float64:
        """Logarithms of the priors' medians."""
        return np.log([prior.median for prior in self.priors])

    @property
    def spread(self) -> Float64:
        """The priors' standard deviations, of logarithms."""
        return np.array([prior.sd for prior in self.priors])

    def times(self, theta: Float64) -> list[Times]:
        """Every run as the model with these parameters serves it. None of them is longer than the longest run."""
        longest_s = max(run.span_s for run in self.runs)
        parameters = np.clip(np.exp(np.minimum(theta, np.log(longest_s))), LEAST_S, None)
        step_time, overhead_s = self.form.step_time(parameters), self.form.overhead_s(parameters)
        scheduler = scheduler_with(self.scheduler, overhead_s)
        return [served(run, step_time, scheduler, replicas=self.replicas, routing=self.routing) for run in self.runs]

    def missed(self, theta: Float64, parts: Sequence[Part]) -> Float64:
        """log(simulated / seen) of all parts, without weights."""
        times = self.times(theta)
        return np.concatenate([part.of(times[part.run]) - part.of(self.runs[part.run].seen) for part in parts])

    def slopes(self, theta: Float64, parts: Sequence[Part], step: float) -> Float64:
        """(rows, parameters): central differences of `missed`."""
        columns = []
        for place in range(len(theta)):
            move = np.zeros(len(theta))
            move[place] = step
            columns.append((self.missed(theta + move, parts) - self.missed(theta - move, parts)) / (2 * step))
        return np.column_stack(columns)

    def shifted(self, within_s: float, rng: np.random.Generator) -> Problem:
        """The same with every arrival moved by up to so much: where in a step a request came is not to be learned."""
        runs = [run.shifted(within_s, rng) for run in self.runs]
        return dataclasses.replace(self, runs=runs)


def parts_of(problem: Problem, theta: Float64) -> list[Part]:
    """What to compare, decided at a first guess of the parameters."""
    simulated = problem.times(theta)
    return [
        _part(place, kind, run, times)
        for place, (run, times) in enumerate(zip(problem.runs, simulated, strict=True))
        for kind in ("ttft_s", "token_s")
    ]


def _part(place: int, kind: str, run: SeenRun, simulated: Times) -> Part:
    seen, model = getattr(run.seen, kind), getattr(simulated, kind)
    rows = np.flatnonzero(np.isfinite(seen) & (seen > 0))
    together = rows[np.isfinite(model[rows])]
    aligned = len(together) < QUANTILES or _rank_correlation(seen[together], model[together]) >= ALIGNED_FROM
    if not aligned:
        count = min(QUANTILES, len(rows))
        weight = np.full(count, np.sqrt(len(rows) / count))
        return Part(place, kind, rows, False, weight, np.full(count, -1))
    steps = run.output_tokens[rows] - 1.0
    weight = np.sqrt(steps / (steps + SHORT_TOKENS)) if kind == "token_s" else np.ones(len(rows))
    return Part(place, kind, rows, True, weight, np.arange(len(rows)) * BLOCKS // max(1, len(rows)))


def _shares(count: int) -> Float64:
    return (np.arange(count) + 0.5) / count


def _rank_correlation(one: Float64, other: Float64) -> float:
    """Spearman's; 1 where one of them does not vary, so that there is no order to get wrong."""
    if np.ptp(one) <= 1e-9 * one.max() or np.ptp(other) <= 1e-9 * other.max():
        return 1.0
    ranks = np.array([np.argsort(np.argsort(values)) for values in (one, other)], dtype=float)
    return float(correlations(ranks)[0, 1])


def correlations(rows: Float64) -> Float64:
    """(rows, rows) of rows of numbers that vary."""
    found: Float64 = np.atleast_2d(np.corrcoef(rows))
    return found
