"""Where the share of requests over a limit crosses the allowed one, from probes at several rates, with an interval.

Model: the log-odds of being over grow in a line with the log of the rate, near the crossing. Requests over the limit
come in clusters, so counts vary `dispersion` times as much as binomial ones (quasi-likelihood, Wedderburn 1974). The
posterior of crossing and slope is taken on a grid: probes that all pass or all fail leave it wide, never undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caveat.measure.blocks import dependence
from caveat.measure.columns import Flags, Floats

FAR = 8.0  # beyond so many times the allowed share the line is not believed: such a probe says only "too fast"

_FLATTEST, _STEEPEST, _USUAL, _SPREAD = math.log(0.7), math.log(300.0), math.log(15.0), 1.5
"""Log slopes. Those of queues go from 2 (one slot, a tight limit) to 500 (a cliff); the prior is that wide."""
_SLOPES = 28
_POINTS = 160
_SPAN = 0.5  # half of the first grid, in log rate
_LEAST_HALF = 0.02  # start-up and the bend of the curve are not in the statistics: never narrower than this

# Clusters are seen too rarely in short probes to be measured well. In a queue the dispersion is tied to the slope:
# for M/D/n it is 0.07 to 0.12 of its square where that is above 8. The tie is worth so many clusters.
_TIE, _TIE_WEIGHT, _TIE_MOST = 0.07, 8.0, 70.0
_CALM, _CALM_WEIGHT = 2.0, 10.0  # dispersion before any cluster was seen, and the events that it counts for
# Of the error that the confidence leaves: stopping when narrow enough favours intervals that are too narrow.
_LOOKS = 0.45
_FREEDOM = 12.0  # degrees of freedom of "the probes agree with the line", before they are heard


@dataclass(frozen=True, slots=True)
class Seen:
    """What of a probe goes into the estimate: after its start was left out.

    log_rate  natural log of the rate as it was offered; backlog: requests that may wait before one is over
    long      made for the estimate, long enough for a backlog to show
    """

    log_rate: float
    queries: int
    over: int
    dispersion: float
    backlog: float
    long: bool

    @property
    def share(self) -> float:
        """Share over the limit."""
        return self.over / self.queries

    @property
    def place(self) -> float:
        """Log rate at which it counts. None over: an overload that small would not have filled the queue in time."""
        return self.log_rate - (self.backlog / self.queries if not self.over else 0.0)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Log rates: median and ends of the interval. `slope` is of log-odds on log rate, `dispersion` of the counts.

    `misfit` is how many times more the long probes scatter about the line than clusters explain (1: not more).
    """

    middle: float
    low: float
    high: float
    slope: float
    dispersion: float
    misfit: float

    @property
    def width(self) -> float:
        """The interval's width as a share of the estimate."""
        return math.exp(self.high - self.middle) - math.exp(self.low - self.middle)


def dispersion_of(over: Flags) -> float:
    """How many times a count of these varies more than independent ones would."""
    return dependence(over.astype(np.float64)).inflation if 0 < over.sum() < len(over) else 1.0


@dataclass(frozen=True, slots=True)
class _Grid:
    """Log rates of the crossing and log slopes, on which weights of shape (rates, slopes) stand."""

    rates: Floats
    slopes: Floats

    def means(self, weights: Floats) -> tuple[float, float]:
        """Mean log rate of the crossing, and the slope (a geometric mean)."""
        return float(weights.sum(axis=1) @ self.rates), float(np.exp(weights.sum(axis=0) @ self.slopes))

    def posterior(self, deviance: Floats, own: Floats, dispersion: float, misfit: float = 1.0) -> Floats:
        """Weights that sum to one. Flat prior in the log of the crossing, wide normal in the log of the slope."""
        prior = -0.5 * ((self.slopes - _USUAL) / _SPREAD) ** 2
        scaled = np.tensordot(1 / np.maximum(own, dispersion), deviance, axes=1)
        log_weights = prior[None, :] - scaled / misfit
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def finer(self, weights: Floats, low: float, high: float) -> _Grid:
        """A grid about what these weights found."""
        reach = high - low
        slopes = weights.sum(axis=0)
        mean = float(slopes @ self.slopes)
        spread = 4 * math.sqrt(float(slopes @ (self.slopes - mean) ** 2)) + (self.slopes[1] - self.slopes[0])
        return _Grid(
            np.linspace(max(self.rates[0], low - reach), min(self.rates[-1], high + reach), _POINTS),
            np.linspace(max(_FLATTEST, mean - spread), min(_STEEPEST, mean + spread), _SLOPES),
        )


def crossing(seen: Sequence[Seen], share: float, confidence: float, around: float) -> Crossing:
    """The crossing of `share`, looked for about the log rate `around`. `seen` must not be empty."""
    grid = _Grid(np.linspace(around - _SPAN, around + _SPAN, _POINTS), np.linspace(_FLATTEST, _STEEPEST, _SLOPES))
    found, weights = _on_grid(seen, share, confidence, grid)
    for _ in range(2):
        grid = grid.finer(weights, found.low, found.high)
        found, weights = _on_grid(seen, share, confidence, grid)
    return found


def _on_grid(seen: Sequence[Seen], share: float, confidence: float, grid: _Grid) -> tuple[Crossing, Floats]:
    """Three passes: clusters as they were seen; tied to the slope; and as much more as the probes disagree."""
    deviance = _deviances(seen, share, grid.rates[:, None], np.exp(grid.slopes)[None, :])
    own = np.array([probe.dispersion if probe.share > FAR * share else 0.0 for probe in seen])
    pooled, clusters = _pooled(seen, share)
    _, slope = grid.means(grid.posterior(deviance, own, pooled))
    dispersion = _tied(pooled, clusters, slope)
    weights = grid.posterior(deviance, own, dispersion)
    misfit = 1.0
    for _ in range(2):
        middle, slope = grid.means(weights)
        misfit = _misfit(seen, share, middle, slope, dispersion)
        weights = grid.posterior(deviance, own, dispersion, misfit)
    ends = _LOOKS * (1 - confidence) / 2
    total = np.cumsum(weights.sum(axis=1))
    low, middle, high = np.interp([ends, 0.5, 1 - ends], total / total[-1], grid.rates)
    found = Crossing(
        middle=float(middle),
        low=float(min(low, middle - _LEAST_HALF)),
        high=float(max(high, middle + _LEAST_HALF)),
        slope=grid.means(weights)[1],
        dispersion=dispersion * misfit,
        misfit=misfit,
    )
    return found, weights


def _deviances(seen: Sequence[Seen], share: float, crossings: Floats, slopes: Floats) -> Floats:
    """Half deviances, (probes, rates, slopes), before dispersion: queries times divergence of model from seen share.

    The model is cut off below share / FAR, where none over is no news. Far above, only a model that does not see the
    probe as far above is wrong, and by how much.
    """
    place = np.array([probe.place for probe in seen])[:, None, None]
    found = np.array([probe.share for probe in seen])[:, None, None]
    queries = np.array([probe.queries for probe in seen])[:, None, None]
    model = np.clip(over_share(place, crossings, slopes, share), share / FAR, 1 - 1e-6)
    far = FAR * share
    beyond = np.where(model >= far, 0.0, _divergence(found, model) - _divergence(found, np.full_like(found, far)))
    return np.asarray(queries * np.where(found > far, beyond, _divergence(found, model)))


def over_share(place: Floats, crossings: Floats, slopes: Floats, share: float) -> Floats:
    """The line: share over the limit at log rates `place`."""
    logit = math.log(share / (1 - share)) + slopes * (place - crossings)
    return np.asarray(1 / (1 + np.exp(-np.clip(logit, -500, 500))))


def _divergence(found: Floats, model: Floats) -> Floats:
    """Kullback-Leibler, of one yes or no."""
    from scipy import special

    return np.asarray(special.rel_entr(found, model) + special.rel_entr(1 - found, 1 - model))


def _pooled(seen: Sequence[Seen], share: float) -> tuple[float, float]:
    """(dispersion, clusters) of the probes near the allowed share. Much above it clusters are longer than at it."""
    near = [probe for probe in seen if 0 < probe.share < FAR * share]
    weights = [min(probe.over, 2 * share * probe.queries) for probe in near]
    told = sum(weight * probe.dispersion for weight, probe in zip(weights, near, strict=True))
    clusters = sum(probe.over / probe.dispersion for probe in near)
    return (told + _CALM * _CALM_WEIGHT) / (sum(weights) + _CALM_WEIGHT), clusters


def _tied(pooled: float, clusters: float, slope: float) -> float:
    """The dispersion that was seen, raised towards what a queue of that slope has as long as few clusters were."""
    expected = 1 + _TIE * min(slope, _TIE_MOST) ** 2
    both = (_TIE_WEIGHT * math.log(expected) + clusters * math.log(pooled)) / (_TIE_WEIGHT + clusters)
    return max(pooled, math.exp(both))


def _misfit(seen: Sequence[Seen], share: float, middle: float, slope: float, dispersion: float) -> float:
    """Deviance per degree of freedom of the long probes near the line, two of which the line took; at least 1."""
    used = [probe for probe in seen if probe.long]
    if not used:
        return 1.0
    places = np.array([probe.place for probe in used])
    model = over_share(places, np.array(middle), np.array(slope), share)
    near = (model > share / FAR) & (model < FAR * share)
    half = _deviances(used, share, np.array(middle), np.array(slope)).reshape(-1)[near]
    total = 2 * float(half.sum()) / dispersion
    return max(1.0, (total + _FREEDOM) / (max(int(near.sum()) - 2, 0) + _FREEDOM))
