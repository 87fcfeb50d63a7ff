"""Blocks: what neighbouring requests share. Effective sample size, block lengths, block sums, the block bootstrap.

Queueing makes neighbours alike: a thousand requests of a busy server may tell as much as fifty independent ones.
Everything that makes an interval here goes through `dependence`. A series stands in the order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caveat.measure.columns import Floats

FEWEST_EFFECTIVE = 40.0  # fewer independent values than this make no interval: their own number is not known
MOST_BLOCKS = 256
RESAMPLES = 1999
_BLOCKS_AT_ONCE = 100_000

_FEWEST_BLOCKS = 20
_POINTS = 4096  # a longer series is averaged down to so many points before its correlation is taken
_CORRELATIONS = 10  # a block is so many times longer than what a value shares with its neighbours


@dataclass(frozen=True, slots=True)
class Dependence:
    """How alike neighbours are: `inflation` is the variance of the mean over what independent values would give."""

    n: int
    inflation: float

    @property
    def n_effective(self) -> float:
        """How many independent values tell as much about the mean; never more than there are."""
        return self.n / self.inflation

    @property
    def block(self) -> int:
        """Length of a block: ten times `inflation`, with at least 20 blocks and at most 256."""
        count = int(np.clip(self.n_effective / _CORRELATIONS, _FEWEST_BLOCKS, MOST_BLOCKS))
        return max(1, self.n // count)


def dependence(series: Floats) -> Dependence:
    """The dependence in a series. A constant one has none.

    The long-run variance is Geyer's initial monotone sequence (1992), on batch means where the series is long: batch
    means have the long-run variance of the series divided by their size, so nothing is lost.
    """
    n = len(series)
    size = -(-n // _POINTS)
    short = series if size <= 1 else series[: n // size * size].reshape(-1, size).mean(axis=1)
    variance = float(series.var()) if n else 0.0
    if n < 4 or not variance > 0 or not np.isfinite(variance):
        return Dependence(n, 1.0)
    return Dependence(n, max(1.0, size * _long_run_variance(short) / variance))


def _long_run_variance(series: Floats) -> float:
    """Sum of the autocovariances over all lags, cut where the sum of a pair of lags is no longer positive."""
    n = len(series)
    padded = np.fft.rfft(series - series.mean(), 2 * n)
    covariance = np.fft.irfft(padded * padded.conj(), 2 * n)[:n] / n
    pairs = covariance[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    monotone = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    return float(2 * monotone.sum() - covariance[0])


def block_means(series: Floats, block: int) -> Floats:
    """Means of consecutive blocks; an incomplete last block is left out."""
    return np.asarray(series[: len(series) // block * block].reshape(-1, block).mean(axis=1))


def resampled_means(columns: Floats, block: int, rng: np.random.Generator) -> Floats:
    """Means of moving-block bootstrap resamples, shape (RESAMPLES, columns), of series of shape (n, columns).

    A resample is n // block blocks that start anywhere (Kuensch 1989); all columns take the same blocks.
    """
    n = len(columns)
    sums = np.zeros((n + 1, columns.shape[1]))
    np.cumsum(columns, axis=0, out=sums[1:])
    means = (sums[block:] - sums[:-block]) / block
    blocks = n // block
    found = np.empty((RESAMPLES, columns.shape[1]))
    at_once = max(1, _BLOCKS_AT_ONCE // blocks)  # all at once would take gigabytes for a million requests
    for first in range(0, RESAMPLES, at_once):
        some = found[first : first + at_once]
        starts: npt.NDArray[np.int64] = rng.integers(0, len(means), size=(len(some), blocks))
        some[:] = means[starts].mean(axis=1)
    return found
