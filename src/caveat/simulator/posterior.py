"""Posterior: what is believed of the parameters of a step after seeing evidence, as its mode and draws.

Method
    theta are the logarithms of the five parameters. Minus log posterior is half the sum of squares of
    (log(model / seen) / sd) over the evidence and ((theta - prior) / prior sd) over the parameters. The mode is found
    by least squares with the exact Jacobian, the Laplace covariance is the inverse of J'J there. Draws come from a
    multivariate t of 5 degrees of freedom around the mode with that covariance, each weighted by posterior / proposal,
    and are resampled (sampling importance resampling: Rubin 1988; Gelman and others, Bayesian Data Analysis, 10.4).

    Each draw is multiplied by one residual factor, log-normal: a server under other conditions differs from the
    model by as much. The overhead, which comes last, is left out of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from caveat.errors import CannotSayError, InputError
from caveat.simulator.evidence import Evidence
from caveat.simulator.multipliers import PRIORS, RESIDUAL, Float64, Multipliers, Prior, multipliers_of
from caveat.simulator.roofline import Basis, step_time
from caveat.simulator.step_time import StepTime

DRAWS = 200
MOST_DRAWS = 10_000
_PROPOSED_PER_DRAW = 50
_FREEDOM = 5.0


class Posterior(msgspec.Struct, frozen=True, kw_only=True):
    """`mode` and `draws` (rows of parameters in the order of `names`, positive; the residual is in the draws).

    `effective` is how many independent draws the weighted proposals were worth (1 / sum of squared weights).
    """

    names: tuple[str, ...]
    mode: tuple[float, ...]
    draws: tuple[tuple[float, ...], ...]
    effective: float
    evidence: tuple[Evidence, ...]

    @property
    def multipliers(self) -> Multipliers:
        """Of the mode, where the parameters are those of a roofline."""
        return multipliers_of(self.mode)

    @property
    def overhead_s(self) -> float:
        """Of the mode."""
        return self.mode[-1]

    def table(self) -> Float64:
        """The draws as an array (draws, parameters)."""
        return np.array(self.draws)

    def step_times(self, basis: Basis) -> tuple[StepTime, ...]:
        """One StepTime for each draw of a roofline's multipliers."""
        return tuple(step_time(basis, multipliers_of(draw)) for draw in self.draws)


def fit(
    evidence: Sequence[Evidence],
    rng: np.random.Generator,
    *,
    priors: Sequence[Prior] = PRIORS,
    draws: int = DRAWS,
    residual: float = RESIDUAL,
) -> Posterior:
    """The posterior after the evidence; the prior where there is none. The same generator state, the same draws.

    Raises InputError for a number of draws outside 1 to 10,000, CannotSayError when the evidence is so far from any
    roofline that no proposal carries weight.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise InputError(f"draws: found {draws}, expected from 1 to {MOST_DRAWS:,}")
    problem = _Problem(evidence, priors)
    mode, root = _laplace(problem)
    proposed, surprise = _propose(mode, root, rng, draws * _PROPOSED_PER_DRAW)
    log_weight = -0.5 * np.square(problem.residuals(proposed)).sum(axis=1) - surprise
    weight = np.exp(log_weight - log_weight.max())
    total = float(weight.sum())
    if not math.isfinite(total) or total <= 0:
        raise CannotSayError("calibration: the evidence fits no multipliers", next="check its units")
    weight /= total
    chosen = proposed[rng.choice(len(proposed), size=draws, p=weight)]
    steps_only = np.array([1.0] * (len(priors) - 1) + [0.0])
    settled = np.exp(chosen + steps_only * rng.normal(0.0, residual, (draws, 1)))
    return Posterior(
        names=tuple(prior.name for prior in priors),
        mode=tuple(float(value) for value in np.exp(mode)),
        draws=tuple(tuple(float(value) for value in row) for row in settled),
        effective=float(1.0 / np.square(weight).sum()),
        evidence=tuple(evidence),
    )


class _Problem:
    """Evidence and prior as arrays: what is to be made small."""

    def __init__(self, evidence: Sequence[Evidence], priors: Sequence[Prior]) -> None:
        self.centre: Float64 = np.log([prior.median for prior in priors])
        self.spread: Float64 = np.array([prior.sd for prior in priors])
        self.rows: Float64 = np.array([one.coefficients for one in evidence]).reshape(len(evidence), len(priors))
        self.seen: Float64 = np.log([one.seen_s for one in evidence])
        self.sd: Float64 = np.array([one.sd for one in evidence])

    def residuals(self, theta: Float64) -> Float64:
        """(draws, evidence + parameters): standardised misses of the evidence, then of the prior."""
        prior: Float64 = (theta - self.centre) / self.spread
        if not len(self.rows):
            return prior
        model = np.log(np.exp(theta) @ self.rows.T)
        missed: Float64 = np.hstack([(model - self.seen) / self.sd, prior])
        return missed

    def jacobian(self, theta: Float64) -> Float64:
        """(evidence + parameters, parameters) at one point."""
        parts = self.rows * np.exp(theta)
        shares = parts / parts.sum(axis=1, keepdims=True) / self.sd[:, None]
        return np.vstack([shares, np.diag(1.0 / self.spread)])


def _laplace(problem: _Problem) -> tuple[Float64, Float64]:
    """The mode of log parameters, and a square root of the Laplace covariance there."""
    from scipy.optimize import least_squares  # slow to import, and a model file is read without it

    found = least_squares(lambda theta: problem.residuals(theta[None, :])[0], problem.centre, jac=problem.jacobian)
    return found.x, np.linalg.cholesky(np.linalg.inv(found.jac.T @ found.jac))


def _propose(mode: Float64, root: Float64, rng: np.random.Generator, count: int) -> tuple[Float64, Float64]:
    """(count, parameters) proposals of a multivariate t, and log of its density at each, up to a constant."""
    z = rng.standard_normal((count, len(mode)))
    scaled = z / np.sqrt(rng.chisquare(_FREEDOM, (count, 1)) / _FREEDOM)
    density = -0.5 * (_FREEDOM + len(mode)) * np.log1p(np.square(scaled).sum(axis=1) / _FREEDOM)
    return mode + scaled @ root.T, density
