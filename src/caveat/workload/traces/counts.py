"""Requests counted in equal bins of time, and what the counts say: rate, peak, dispersion, memory.

The index of dispersion is variance / mean of the counts: 1 for Poisson arrivals at every scale, 0 for even ones, and
growing with the scale where the rate itself varies (Cox and Lewis, 1966). Long traces are counted part by part: sums
of whole numbers, so the parts change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.plan import Int64
from caveat.workload.summary import LengthCounts
from caveat.workload.traces.passes import gaps_in_slices, slices

FEWEST_BINS = 10
_LAGS = (1, 2, 5, 10)
_BINS_AT_ONCE = 1 << 17


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


def counted_in_parts(t_ns: Int64, span_ns: int, scale_ns: int) -> Iterator[Int64]:
    """The same counts, some bins at a time; times are in order."""
    bins = span_ns // scale_ns
    for part in slices(bins, _BINS_AT_ONCE):
        first, last = np.searchsorted(t_ns, [part.start * scale_ns, part.stop * scale_ns])
        counts = np.zeros(part.stop - part.start, np.int64)
        for some in slices(int(last - first)):
            place = t_ns[first + some.start : first + some.stop] // scale_ns - part.start
            counts += np.bincount(place, minlength=len(counts))
        yield counts


def dispersion(counts: Int64) -> float | None:
    """Variance (of the sample) / mean; None for fewer than two bins or none occupied."""
    if len(counts) < 2 or not counts.any():
        return None
    return float(counts.var(ddof=1) / counts.mean())


def dispersion_at(t_ns: Int64, span_ns: int, scale_ns: int) -> float | None:
    """The same for times in order, however many bins there are."""
    sums = CountSums(())
    for counts in counted_in_parts(t_ns, span_ns, scale_ns):
        sums.add(counts)
    return sums.dispersion()


def autocorrelation(counts: Int64, lag: int) -> float | None:
    """Correlation of each count with the one `lag` bins later; None where nothing varies or too little is there."""
    if len(counts) < lag + FEWEST_BINS:
        return None
    away = counts - counts.mean()
    variance = float(away @ away)
    return float(away[lag:] @ away[:-lag]) / variance if variance > 0 else None


class CountSums:
    """Sums over counts that come part by part: number, sum, squares, and products of counts `lag` bins apart."""

    def __init__(self, lags: tuple[int, ...] = _LAGS) -> None:
        self.bins = self._sum = self._squares = 0
        self._products = dict.fromkeys(lags, 0)
        self._reach = max(lags, default=0)
        self._first = self._last = np.empty(0, np.int64)

    def add(self, counts: Int64) -> None:
        """The next bins."""
        self.bins += len(counts)
        self._sum += int(counts.sum())
        self._squares += int(counts @ counts)
        joined = np.concatenate([self._last, counts])
        for lag in self._products:
            start = min(max(len(self._last), lag), len(joined))
            self._products[lag] += int(joined[start:] @ joined[max(0, start - lag) : max(0, len(joined) - lag)])
        self._first = np.concatenate([self._first, counts])[: self._reach]
        self._last = joined[max(0, len(joined) - self._reach) :]

    def dispersion(self) -> float | None:
        """Variance (of the sample) / mean; None for fewer than two bins or none occupied."""
        if self.bins < 2 or not self._sum:
            return None
        return (self.bins * self._squares - self._sum**2) / (self._sum * (self.bins - 1))

    def autocorrelation(self, lag: int) -> float | None:
        """Correlation of each count with the one `lag` bins later; None as in autocorrelation()."""
        spread = self.bins * self._squares - self._sum**2
        if self.bins < lag + FEWEST_BINS or spread <= 0:
            return None
        ends = 2 * self._sum - int(self._first[:lag].sum()) - int(self._last[len(self._last) - lag :].sum())
        # Times the number of bins squared, the sum of (count - mean) x (later count - mean), in whole numbers.
        tied = self.bins**2 * self._products[lag] - self.bins * self._sum * ends + (self.bins - lag) * self._sum**2
        return tied / (self.bins * spread)


def rate_at_scale(t_ns: Int64, span_ns: int, scale_s: float) -> RateAtScale | None:
    """Counts at one scale described; None where not one bin is whole. Times are in order."""
    sums, by_count = CountSums(), LengthCounts()
    for counts in counted_in_parts(t_ns, span_ns, round(scale_s * NS_PER_S)):
        sums.add(counts)
        by_count.add(counts)
    if not sums.bins:
        return None
    different, often = by_count.table()
    enough = sums.bins >= FEWEST_BINS
    lags = {str(lag): sums.autocorrelation(lag) for lag in _LAGS}
    p99 = different[np.searchsorted(np.cumsum(often), math.ceil(0.99 * sums.bins))]
    return RateAtScale(
        scale_s=scale_s,
        bins=sums.bins,
        mean_qps=by_count.total() / sums.bins / scale_s,
        peak_qps=float(different[-1]) / scale_s,
        p99_qps=float(p99) / scale_s,
        dispersion=sums.dispersion() if enough else None,
        autocorrelation={lag: value for lag, value in lags.items() if value is not None and enough},
    )


def gap_cv(t_ns: Int64) -> float | None:
    """Standard deviation / mean of the gaps between arrivals; None for fewer than two gaps or no time passed."""
    if len(t_ns) < 3 or t_ns[-1] <= t_ns[0]:
        return None
    mean_ns = float(t_ns[-1] - t_ns[0]) / (len(t_ns) - 1)
    squares = 0.0
    for gaps in gaps_in_slices(t_ns):
        away = gaps - mean_ns
        squares += float(away @ away)
    return math.sqrt(squares / (len(t_ns) - 2)) / mean_ns
