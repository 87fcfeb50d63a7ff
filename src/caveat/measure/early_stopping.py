"""Early stopping: how many queries make a percentile certain, and which value is certified by those there are.

LoadGen's test (mlcommons/inference loadgen/early_stopping.cc @ b66003e; inference_rules.adoc, appendix "Early Stopping
Criterion"): with over-rate 1 - p the chance of seeing at most t queries over the limit in h + t is I_p(h, t + 1), the
regularized incomplete beta function. Where that is below 1 - confidence, the true over-rate is below 1 - p. It takes
queries for independent; a queue makes neighbours alike, and then the certainty is less than it says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from caveat.errors import UsageError
from caveat.measure.columns import Floats

CONFIDENCE = 0.99
"""Fixed in LoadGen, as is a tolerance of 0."""


@lru_cache(maxsize=4096)
def h_min(percentile: float, over: int) -> int:
    """Fewest queries under the limit beside `over` above it: smallest h with I_p(h, over + 1) < 1 - confidence."""
    _check(percentile)
    if over < 0:
        raise UsageError(f"early stopping: found {over} queries over the limit, expected 0 or more")
    high = 1
    while not _is_certain(percentile, high, over):
        high *= 2
    return _first(lambda under: _is_certain(percentile, under, over), high // 2 + 1, high)


def queries_needed(percentile: float, over: int) -> int:
    """Fewest queries in all with which a run with `over` of them above the limit passes."""
    return h_min(percentile, over) + over


def fewest_to_certify(percentile: float) -> int:
    """Fewest queries that have a certified percentile, with room for one above it: 64 at p90, 662 at p99."""
    return queries_needed(percentile, 1)


def budget(percentile: float, queries: int) -> int | None:
    """The most of `queries` that may lie above a limit; None where even a run without any is too short."""
    _check(percentile)
    if queries < 1 or not _is_certain(percentile, queries, 0):
        return None
    return _first(lambda over: not _is_certain(percentile, queries - over, over), 1, queries) - 1


def certified(values: Floats, percentile: float) -> float | None:
    """The value below which the percentile lies with 99 % confidence: ascending[n - t], t the budget of n queries.

    In the unit of the values, in any order; infinite for what failed. None below the fewest queries. This is the
    estimate that LoadGen reports for its streams (results.cc); NaN must not be among the values.
    """
    n = len(values)
    if n < fewest_to_certify(percentile):
        return None
    over = budget(percentile, n)
    assert over is not None  # n is above the floor
    place = n - over
    return float(np.partition(values, place)[place])


def _is_certain(percentile: float, under: int, over: int) -> bool:
    from scipy import special

    # betaincc would be the other tail; under = 0 leaves no evidence at all.
    return under > 0 and float(special.betainc(under, over + 1, percentile)) < 1 - CONFIDENCE


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number from low to high for which a condition holds, which stays true once it is; high if none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _check(percentile: float) -> None:
    if not 0 < percentile < 1:
        raise UsageError(f"early stopping: found the percentile {percentile}, expected a share between 0 and 1")
