"""Several runs of one thing: the mean of their values with Student's interval over the runs, and how far they spread.

A run is one observation here. Its own interval says how sure one is of that run; this one says what the next run would
change, so it needs no assumption about how requests within a run hang together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caveat.figures import Run
from caveat.measure.intervals import student

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Repeated:
    """A metric over the runs that have it, in its unit; `low`, `high` and `sd` are None of a single run.

    `low` and `high` are the 95 % interval of the mean, `sd` the standard deviation between runs.
    """

    metric: str
    n: int
    mean: float
    least: float
    most: float
    low: float | None = None
    high: float | None = None
    sd: float | None = None


def repeated(runs: Sequence[Run], metrics: Sequence[str]) -> tuple[Repeated, ...]:
    """Each of the metrics over the runs, in the order asked for; one that no run has is left out."""
    values = {key: [row.value for run in runs if (row := run.row(key)) is not None] for key in metrics}
    return tuple(_over_runs(key, np.array(found)) for key, found in values.items() if found)


def _over_runs(metric: str, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Repeated:
    """Mean, and t(n - 1) x sd / sqrt(n) on both sides of it."""
    n, mean = len(values), float(values.mean())
    one = Repeated(metric, n, mean, float(values.min()), float(values.max()))
    if n < 2:
        return one
    sd = float(values.std(ddof=1))
    half = student(CONFIDENCE, n - 1) * sd / math.sqrt(n)
    return Repeated(metric, n, mean, one.least, one.most, mean - half, mean + half, sd)
