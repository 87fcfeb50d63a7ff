"""Logarithmic buckets: a histogram of times with a bounded relative error and a fixed size, however many there are.

Where a column of everything would not fit: gaps between all chunks of a run, and the live view.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.measure.columns import Floats
from caveat.measure.percentiles import nearest_rank

WIDTH = 0.001  # a bucket is 0.1 % wide, its middle at most 0.05 % from any value inside
_LONGEST_NS = 1e14  # 28 hours; longer times count as this
_STEP = math.log1p(WIDTH)
_BUCKETS = int(math.log(_LONGEST_NS) / _STEP) + 2  # the first is for times under 1 ns


class Buckets:
    """Counts of times in nanoseconds. The mean, the least and the greatest are exact."""

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, dtype=np.int64)
        self.n = 0
        self._sum = 0.0
        self.least = math.inf
        self.greatest = -math.inf

    def add(self, times_ns: Floats) -> None:
        """Count times; those that are not finite are not times."""
        times = times_ns[np.isfinite(times_ns)]
        if not len(times):
            return
        places = np.log(np.clip(times, 1.0, _LONGEST_NS)) / _STEP
        places = np.where(times < 1.0, 0, places.astype(np.int64) + 1)
        self._counts += np.bincount(places, minlength=_BUCKETS)
        self.n += len(times)
        self._sum += float(times.sum())
        self.least = min(self.least, float(times.min()))
        self.greatest = max(self.greatest, float(times.max()))

    @property
    def mean(self) -> float:
        """The mean in nanoseconds; NaN of nothing."""
        return self._sum / self.n if self.n else math.nan

    def percentile(self, share: float) -> float:
        """The middle of the bucket that holds the nearest rank, in nanoseconds; NaN of nothing."""
        if not self.n:
            return math.nan
        place = int(np.searchsorted(np.cumsum(self._counts), nearest_rank(self.n, share) + 1))
        middle = math.exp((place - 0.5) * _STEP) if place else 0.0
        return min(max(middle, self.least), self.greatest)
