"""Estimates with their intervals, honest under autocorrelation, each saying by which method.

percentiles    order statistics, for the effective sample size of "is below the percentile"
means          batch means with automatic batch size, Student's t
ratios         moving-block bootstrap of both sums together
shares         Wilson's interval, for the effective sample size

Where a sample is too small for an interval there is none; a percentile without one is not an estimate at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from caveat.measure.blocks import FEWEST_EFFECTIVE, Dependence, block_means, dependence, resampled_means
from caveat.measure.columns import Flags, Floats
from caveat.measure.percentiles import fewest_for, nearest_rank, order_interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the interval around it, in the unit of the series; `low` and `high` are None where none exists."""

    value: float
    n: int
    n_effective: float
    low: float | None = None
    high: float | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class TooFew:
    """Why there is no estimate: the sample cannot support it."""

    reason: str


def mean(series: Floats, confidence: float) -> Estimate:
    """The mean of a series in order of arrival, by batch means.

    The variance is not taken smaller than the long-run variance gives: batches of a short series are too short.
    """
    value, held = float(series.mean()), dependence(series)
    plain = Estimate(value, held.n, held.n_effective)
    if held.n_effective < FEWEST_EFFECTIVE:
        return plain
    means = block_means(series, held.block)
    error = math.sqrt(max(means.var(ddof=1) / len(means), float(series.var()) / held.n_effective))
    half = student(confidence, len(means) - 1) * error
    method = f"{_percent(confidence)} of the mean, {len(means)} batch means of {held.block:,}; {_effective(held)}"
    return Estimate(value, held.n, held.n_effective, value - half, value + half, method)


def ratio(above: Floats, below: Floats, confidence: float, rng: np.random.Generator) -> Estimate:
    """Sum of one series over the sum of another, request by request, by moving-block bootstrap."""
    value = float(above.sum() / below.sum())
    held = dependence(above - value * below)  # the residual carries the ratio's variance
    if held.n_effective < FEWEST_EFFECTIVE:
        return Estimate(value, held.n, held.n_effective)
    sums = resampled_means(np.column_stack((above, below)), held.block, rng)
    low, high = bootstrap_ends(sums[:, 0] / sums[:, 1], value, confidence, held.n // held.block)
    method = f"{_percent(confidence)}, moving-block bootstrap, blocks of {held.block:,}; {_effective(held)}"
    return Estimate(value, held.n, held.n_effective, low, high, method)


def share(flags: Flags, confidence: float) -> Estimate:
    """A share of requests, by Wilson's interval for the effective sample size. Also 0 and 1 have one."""
    value, held = float(flags.mean()), dependence(flags.astype(np.float64))
    low, high = wilson(value, held.n_effective, confidence)
    method = f"{_percent(confidence)}, Wilson; {_effective(held)}"
    return Estimate(value, held.n, held.n_effective, low, high, method)


def wilson(value: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval (1927) of a proportion seen in n independent trials."""
    z2 = normal(confidence) ** 2
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(value * (1 - value) * z2 / n + z2 * z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))


def quantile(
    series: Floats, ascending: Floats, at: float, confidence: float, rank: int | None = None
) -> Estimate | TooFew:
    """A percentile of a series in order of arrival, whose sorted copy is given, at the nearest or a given rank.

    The effective sample size is that of the indicator "below the percentile": it is what the binomial counts.
    """
    value = float(ascending[nearest_rank(len(ascending), at) if rank is None else rank])
    held = dependence((series <= value).astype(np.float64))
    ends = order_interval(ascending, at, confidence, held.n_effective)
    if ends is None:
        return TooFew(_too_few(at, confidence, held))
    if not math.isfinite(value):
        return TooFew("that many requests failed: it never came")
    low, high = min(ends[0], value), max(ends[1], value)
    if held.n_effective < FEWEST_EFFECTIVE or not math.isfinite(high):  # the upper end may lie among the failures
        return Estimate(value, held.n, held.n_effective)
    method = f"{_percent(confidence)}, order statistics; {_effective(held)}"
    return Estimate(value, held.n, held.n_effective, low, high, method)


def bootstrap_ends(resampled: Floats, value: float, confidence: float, blocks: int) -> tuple[float, float]:
    """Ends of a bootstrap interval: the percentiles of the resamples, moved out as far as so few blocks ask.

    Resampled blocks vary by (blocks - 1) / blocks too little, and few of them have the tails of Student's t.
    """
    tail = (1 - confidence) / 2
    stretch = math.sqrt(blocks / (blocks - 1)) * student(confidence, blocks - 1) / normal(confidence)
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return value - stretch * max(0.0, value - float(low)), value + stretch * max(0.0, float(high) - value)


def student(confidence: float, freedom: float) -> float:
    """The two-sided quantile of Student's t."""
    from scipy import special

    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def normal(confidence: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 at 95 %."""
    from scipy import special

    return float(special.ndtri((1 + confidence) / 2))


def _percent(confidence: float) -> str:
    return f"{100 * confidence:.4g} %"


def _effective(held: Dependence) -> str:
    return f"effective sample size {held.n_effective:,.0f} of {held.n:,}"


def _too_few(at: float, confidence: float, held: Dependence) -> str:
    need = fewest_for(at, confidence)
    found = f"{held.n:,} requests"
    if held.n >= need:
        told = math.floor(held.n_effective)  # rounded down: "36 found, 36 expected" would be no reason
        found += f" tell as much as {told:,} independent ones"
    return f"found {found}, expected {need:,} for an interval at {_percent(confidence)}"
