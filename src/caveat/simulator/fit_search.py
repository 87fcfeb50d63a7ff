"""The search of a fit: robust least squares over simulations, the form of the step, and draws of what is believed.

Method
    Rows are log(simulated / seen) / scale, their loss soft L1 (2 (sqrt(1 + r^2) - 1)), beside (theta - prior) / sd.
    A trust region search (scipy.optimize.least_squares) begins at the linear regression of `measured`; scales are then
    taken from what is left over (1.4826 x median absolute deviation) and the search goes on from there.

    Draws: blocks of consecutive requests are drawn with replacement, the prior's medians from the prior, and the least
    squares problem that is linear around the mode is solved for each: a block bootstrap of one Newton step. Requests
    that overlap err together, and a block keeps that. With a perturbed prior the draws of a linear normal model are
    exact (randomize-then-optimize: Bardsley and others 2014). Parameters that the runs cannot tell apart stay as
    uncertain as the prior, and correlated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caveat.simulator import measured
from caveat.simulator.fit_problem import BLOCKS, Part, Problem, parts_of
from caveat.simulator.fit_steps import SMALL_BELOW, FitForm
from caveat.simulator.length_mix import Int64
from caveat.simulator.multipliers import Float64
from caveat.simulator.posterior import fit as regression

FIRST_SCALE, LEAST_SCALE = 0.15, 0.02
ROUNDS = 3
MOST_CALLS = 12
STEPS, LOOKING = (0.15, 0.06, 0.03), (0.15, 0.06)
"""Changes of a logarithm for a derivative, one search after the other: a step boundary that is met or missed makes the
loss rugged, which a long step looks over and a short one follows."""
FINAL_STEP, SHIFTS = 0.15, 10
"""Of the derivatives that draws are made from: means over so many shifts of the arrivals."""
WORTH = 0.97
"""A line for small batches must leave at most so much of the loss. Much less would be asked of noisy runs in vain, and
to leave out a bend that is there costs more than to keep one that is not."""
LEAST_BEND = 0.1
"""And must differ from the other line by so much, at one sequence: a second line so near the first is chance."""


_FLAT = 100.0
"""What is believed of sequences, context and prompts is divided by this where load is taken to cost nothing."""


@dataclass(frozen=True, slots=True)
class Smooth:
    """What a search ended at, over shifted arrivals: means of `missed` and of `slopes` (rows, parameters), and the
    standard deviation of each row of `missed` between them: what is chance in the model itself."""

    missed: Float64
    slopes: Float64
    sd: Float64


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search. `missed` is log(simulated / seen) of the rows of `parts`, `scale` belongs to them; `cost` is
    the robust loss with the prior's, in units of the scales."""

    problem: Problem
    theta: Float64
    parts: Sequence[Part]
    scale: Float64
    missed: Float64
    cost: float

    def weights(self) -> Float64:
        """Square roots of the rows' weights: 1 / scale, less for short answers and for outliers."""
        plain = _plain(self.parts) / self.scale
        return plain / np.power(1.0 + np.square(plain * self.missed), 0.25)


def search(problem: Problem, small_below: Sequence[int] = SMALL_BELOW) -> Found:
    """The best form of step and its parameters. A line for small batches is kept where it explains enough more."""
    start = _beginning(problem)
    parts = parts_of(problem, start)
    whole = best = _settled(problem, start, parts)
    enough = min(whole.cost - np.log(len(whole.missed)), WORTH * whole.cost)  # BIC of two parameters, and more
    for below in small_below:
        form = FitForm(below)
        other = dataclasses.replace(problem, form=form, priors=form.priors(problem.priors))
        for start in _splits(whole.theta):
            found = _once(other, start, parts, whole.scale, LOOKING)
            if found.cost < min(best.cost, enough) and form.bend(np.exp(found.theta)) > LEAST_BEND:
                best = found
    return best if best is whole else _settled(best.problem, best.theta, parts)


def smoothed(found: Found, rng: np.random.Generator) -> Smooth:
    """Of the end of a search, with arrivals shifted by up to half a step with two sequences."""
    step_time = found.problem.form.step_time(np.exp(found.theta))
    within_s = step_time.seconds(sequences=2, context_tokens=0) / 2
    others = [found.problem.shifted(within_s, rng) for _ in range(SHIFTS)]
    missed = np.array([other.missed(found.theta, found.parts) for other in others])
    slopes = np.mean([other.slopes(found.theta, found.parts, FINAL_STEP) for other in others], axis=0)
    return Smooth(missed=missed.mean(axis=0), slopes=slopes, sd=missed.std(axis=0, ddof=1))


def draws_of(found: Found, smooth: Smooth, rng: np.random.Generator, count: int) -> Float64:
    """(count, parameters) of log parameters around the end of the search."""
    weights, prior = found.weights(), 1.0 / found.problem.spread
    blocks = np.concatenate([_numbered(part) for part in found.parts])
    left = smooth.missed - _explained(smooth, weights, prior)
    drawn = []
    for _ in range(count):
        rows = weights * np.sqrt(_times_drawn(blocks, rng))
        noise = np.where(blocks < 0, rng.standard_normal(len(rows)), 0.0)  # sorted times have no blocks
        design = np.vstack([smooth.slopes * rows[:, None], np.diag(prior)])
        wanted = np.concatenate([-left * rows + noise, rng.standard_normal(len(prior))])
        drawn.append(found.theta + np.linalg.lstsq(design, wanted, rcond=None)[0])
    return np.array(drawn)


def _explained(smooth: Smooth, weights: Float64, prior: Float64) -> Float64:
    """What a last step would still explain: a rugged search ends beside its minimum, and draws lie around its end."""
    design = np.vstack([smooth.slopes * weights[:, None], np.diag(prior)])
    wanted = np.concatenate([smooth.missed * weights, np.zeros(len(prior))])
    explained: Float64 = smooth.slopes @ np.linalg.lstsq(design, wanted, rcond=None)[0]
    return explained


def _regression(problem: Problem) -> Float64:
    """Where the search begins: the mode of the linear rows."""
    evidence = [row for run in problem.runs for row in measured.evidence_of(run.answers)]
    found = regression(evidence, np.random.default_rng(0), priors=problem.priors, draws=1)
    return np.log(found.mode)


def _beginning(problem: Problem) -> Float64:
    """The regression, or where that is further from the medians: a step that load costs next to nothing.

    Rows know nothing of waiting, and of the overhead only by first tokens that were alone; a search from there does not
    get to an overhead of a thousand steps.
    """
    regressed = _regression(problem)
    first_s = float(np.median([np.percentile(run.seen.ttft_s, 10) for run in problem.runs]))
    token_s = float(np.median([np.nanmedian(run.seen.token_s) for run in problem.runs]))
    flat = problem.centre.copy()
    flat[0] = np.log(token_s)
    flat[1:4] -= np.log(_FLAT)
    flat[-1] = np.log(max(first_s - token_s, first_s / _FLAT))
    return min((regressed, flat), key=lambda theta: _medians_off(problem, theta))


def _medians_off(problem: Problem, theta: Float64) -> float:
    """Sum over runs and kinds of time of how far the logarithms of medians are apart."""
    pairs = [
        (getattr(times, kind), getattr(run.seen, kind))
        for run, times in zip(problem.runs, problem.times(theta), strict=True)
        for kind in ("ttft_s", "token_s")
    ]
    return float(sum(abs(np.log(np.nanmedian(model) / np.nanmedian(seen))) for model, seen in pairs))


def _splits(theta: Float64) -> list[Float64]:
    """Beginnings with a line for small batches: that of all batches, and one in which every sequence costs the same
    while larger batches are mostly a fixed time."""
    step_s, sequence_s = np.exp(theta[:2])
    one_s = step_s + sequence_s
    proportional = [0.1 * one_s, 0.9 * one_s]
    same = np.concatenate([theta[:-1], theta[:2], theta[-1:]])
    bent = np.concatenate([np.log([2.0 * one_s, 0.3 * one_s]), theta[2:-1], np.log(proportional), theta[-1:]])
    return [same, bent]


def _settled(problem: Problem, start: Float64, parts: Sequence[Part]) -> Found:
    """Search and take the scales from what is left over, in turns."""
    scale = np.full(sum(len(part) for part in parts), FIRST_SCALE)
    found = _once(problem, start, parts, scale)
    for _ in range(ROUNDS - 1):
        found = _once(problem, found.theta, parts, _scales(parts, found.missed))
    return found


def _once(
    problem: Problem, start: Float64, parts: Sequence[Part], scale: Float64, steps: Sequence[float] = STEPS
) -> Found:
    """One search with given scales."""
    from scipy.optimize import least_squares  # slow to import, and a model file is read without it

    weight, prior = _plain(parts) / scale, 1.0 / problem.spread

    def search_from(begin: Float64, step: float) -> tuple[float, Float64]:
        def misses(moved: Float64) -> Float64:
            theta = begin + moved
            return np.concatenate([problem.missed(theta, parts) * weight, (theta - problem.centre) * prior])

        def slopes(moved: Float64) -> Float64:
            return np.vstack([problem.slopes(begin + moved, parts, step) * weight[:, None], np.diag(prior)])

        # in distances from the beginning: the first step is then at most a factor of e, whatever the logarithms are
        found = least_squares(
            misses, np.zeros(len(begin)), jac=slopes, loss="soft_l1", max_nfev=MOST_CALLS, xtol=1e-3, ftol=1e-5
        )
        return float(found.cost), begin + found.x

    best_cost, best = search_from(start, steps[0])
    for step in steps[1:]:
        cost, theta = search_from(best, step)
        if cost < best_cost:
            best_cost, best = cost, theta
    return Found(
        problem=problem,
        theta=best,
        parts=parts,
        scale=scale,
        missed=problem.missed(best, parts),
        cost=best_cost,
    )


def _plain(parts: Sequence[Part]) -> Float64:
    return np.concatenate([part.weight for part in parts])


def _scales(parts: Sequence[Part], missed: Float64) -> Float64:
    """The scale of each row: what is left over in its part. Sorted times err together, and are no surer than others."""
    scales, at = [], 0
    for part in parts:
        left = part.weight * missed[at : at + len(part)]
        spread = 1.4826 * float(np.median(np.abs(left - np.median(left))))
        scales.append(np.full(len(part), max(spread, LEAST_SCALE if part.aligned else FIRST_SCALE)))
        at += len(part)
    return np.concatenate(scales)


def _numbered(part: Part) -> Int64:
    """Blocks of time, apart for each run and together for all kinds of time in it."""
    return np.where(part.block < 0, -1, part.block + part.run * BLOCKS)


def _times_drawn(blocks: Int64, rng: np.random.Generator) -> Float64:
    """How often each row's block was drawn; 1 for rows without one. Blocks are drawn within their run."""
    counts = np.ones(len(blocks))
    for run in np.unique(blocks[blocks >= 0] // BLOCKS):
        mine = np.unique(blocks[(blocks >= 0) & (blocks // BLOCKS == run)])
        drawn = rng.multinomial(len(mine), np.full(len(mine), 1.0 / len(mine)))
        for block, times in zip(mine, drawn, strict=True):
            counts[blocks == block] = times
    return counts
