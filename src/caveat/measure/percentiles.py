"""Percentiles of a sorted column by rank, and their intervals by order statistics.

No interpolation: a percentile is a value that occurred, so that it exists where failures count as never (+infinity).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from caveat.measure.columns import Floats

SHARES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p97": 0.97, "p99": 0.99, "p99.9": 0.999}

_ROUNDING = 1e-9  # 0.07 * 100 is 7.000000000000001 and still rank 7


def nearest_rank(n: int, share: float) -> int:
    """Index of the percentile: ceil(n * share) - 1. The default (Hyndman and Fan's first definition)."""
    return max(0, math.ceil(n * share - _ROUNDING) - 1)


def floor_rank(n: int, share: float) -> int:
    """Index of the percentile as LoadGen takes it: floor(n * share), in double arithmetic as there."""
    return min(n - 1, int(n * share))


def percentile(ascending: Floats, share: float) -> float:
    """The value at the nearest rank of a sorted column that is not empty."""
    return float(ascending[nearest_rank(len(ascending), share)])


def order_ranks(n: int, share: float, confidence: float) -> tuple[int, int] | None:
    """Ranks (from 1) of the two of n independent values between which the percentile lies, or None.

    Exact for any distribution: the number of values below the percentile is binomial. The ends miss it with at most
    (1 - confidence) / 2 each. None where no value lies far enough out: p99 at 95 % needs 368 values, p95 72.
    """
    from scipy import special

    tail = (1 - confidence) / 2
    if n < 1 or special.bdtr(0, n, share) > tail or share**n > tail:
        return None
    below = math.floor(special.bdtrik(tail, n, share) + _ROUNDING)
    above = math.ceil(special.bdtrik(1 - tail, n, share) - _ROUNDING)
    return below + 1, min(n, above + 1)


def fewest_for(share: float, confidence: float) -> int:
    """How many independent values the percentile needs to have an interval."""
    tail = (1 - confidence) / 2
    return math.ceil(math.log(tail) / math.log(max(share, 1 - share)) - _ROUNDING)


def order_interval(
    ascending: Floats, share: float, confidence: float, n_effective: float
) -> tuple[float, float] | None:
    """The interval for a percentile of a sorted column that tells as much as `n_effective` independent values.

    The ranks for so many values, stretched over the ranks that there are: of two ranks the outer one.
    """
    independent = math.floor(n_effective)
    ranks = order_ranks(independent, share, confidence)
    if ranks is None:
        return None
    n = len(ascending)
    low = max(1, math.floor(ranks[0] / independent * n))
    high = min(n, math.ceil(ranks[1] / independent * n))
    return float(ascending[low - 1]), float(ascending[high - 1])


def known_percentile(values: Floats, share: float) -> float | None:
    """The percentile of the values that are finite, in any order; None of nothing. For tolerances, not for rows."""
    known = values[np.isfinite(values)]
    rank = nearest_rank(len(known), share)
    return float(np.partition(known, rank)[rank]) if len(known) else None
