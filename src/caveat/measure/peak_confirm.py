"""At which rate a full-length run is likely to be certified: early stopping allows less than the share itself."""

from __future__ import annotations

import math

import numpy as np

from caveat.measure.early_stopping import budget
from caveat.measure.peak_estimate import Crossing, over_share
from caveat.measure.peak_records import PeakGoal

_SURE = 1.3  # standard errors of the count that are left free: about 90 %
_FURTHEST = 0.5  # in log rate


def certain_rate(found: Crossing, goal: PeakGoal) -> float:
    """Log of the highest rate at which the expected count and its scatter fit into early stopping's budget.

    Counts scatter by the dispersion of the crossing, though the test takes queries for independent.
    """
    queries = goal.full_length(math.exp(found.middle))
    allowed = budget(1 - goal.share, queries)
    if allowed is None:
        return found.low
    places = np.linspace(found.low, found.low - _FURTHEST, 200)
    model = over_share(places, np.array(found.middle), np.array(found.slope), goal.share)
    most = queries * model + _SURE * np.sqrt(queries * found.dispersion * model)
    fits = np.flatnonzero(most <= allowed)
    return float(places[fits[0]]) if len(fits) else float(places[-1])
