"""Requests counted in equal bins of time, and what the counts say: rate, peak, dispersion, memory.

The index of dispersion is variance / mean of the counts: 1 for Poisson arrivals at every scale, 0 for even ones, and
growing with the scale where the rate itself varies (Cox and Lewis, 1966).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.plan import Int64

FEWEST_BINS = 10
_LAGS = (1, 2, 5, 10)


class RateAtScale(msgspec.Struct, frozen=True, kw_only=True):
    """Counts in bins of one length. Rates are requests per second; None where the bins are too few to say.

    `dispersion` is variance / mean of the counts; `autocorrelation` that of the counts, by lag in bins.
    """

    scale_s: float
    bins: int
    mean_qps: float
    peak_qps: float
    p99_qps: float
    dispersion: float | None
    autocorrelation: dict[str, float]


def counted(t_ns: Int64, span_ns: int, scale_ns: int) -> Int64:
    """Requests in each whole bin of the span; what lies in a broken last bin is left out."""
    bins = span_ns // scale_ns
    place = t_ns // scale_ns
    return np.bincount(place[place < bins], minlength=bins).astype(np.int64)


def dispersion(counts: Int64) -> float | None:
    """Variance (of the sample) / mean; None for fewer than two bins or none occupied."""
    if len(counts) < 2 or not counts.any():
        return None
    return float(counts.var(ddof=1) / counts.mean())


def autocorrelation(counts: Int64, lag: int) -> float | None:
    """Correlation of each count with the one `lag` bins later; None where nothing varies or too little is there."""
    if len(counts) < lag + FEWEST_BINS:
        return None
    away = counts - counts.mean()
    variance = float(away @ away)
    return float(away[lag:] @ away[:-lag]) / variance if variance > 0 else None


def rate_at_scale(t_ns: Int64, span_ns: int, scale_s: float) -> RateAtScale | None:
    """Counts at one scale described; None where not one bin is whole."""
    counts = counted(t_ns, span_ns, round(scale_s * NS_PER_S))
    if not len(counts):
        return None
    by_rank = np.sort(counts)
    enough = len(counts) >= FEWEST_BINS
    lags = {str(lag): autocorrelation(counts, lag) for lag in _LAGS}
    return RateAtScale(
        scale_s=scale_s,
        bins=len(counts),
        mean_qps=float(counts.mean()) / scale_s,
        peak_qps=float(by_rank[-1]) / scale_s,
        p99_qps=float(by_rank[math.ceil(0.99 * len(counts)) - 1]) / scale_s,
        dispersion=dispersion(counts) if enough else None,
        autocorrelation={lag: value for lag, value in lags.items() if value is not None and enough},
    )


def gap_cv(t_ns: Int64) -> float | None:
    """Standard deviation / mean of the gaps between arrivals; None for fewer than two gaps or no time passed."""
    gaps = np.diff(t_ns)
    return float(gaps.std(ddof=1) / gaps.mean()) if len(gaps) >= 2 and t_ns[-1] > t_ns[0] else None
