"""The rate of a confirmation: low enough that early stopping passes, no lower."""

import math

import numpy as np
import pytest

from caveat.measure import PeakGoal, budget
from caveat.measure.peak_confirm import certain_rate
from caveat.measure.peak_estimate import Crossing, over_share


def found(slope, dispersion=1.0):
    middle = math.log(100)
    return Crossing(
        middle=middle, low=middle - 0.03, high=middle + 0.03, slope=slope, dispersion=dispersion, misfit=1.0
    )


@pytest.mark.parametrize("slope", [2.0, 8.0, 30.0])
def test_the_expected_count_fits_into_the_budget(slope):
    """And at a rate 1 % higher it does not, unless the interval ends there."""
    goal = PeakGoal(start_qps=1.0, full_s=1.0)
    crossing = found(slope)
    at = certain_rate(crossing, goal)
    shares = over_share(np.array([at, at + 0.01]), np.array(crossing.middle), np.array(slope), goal.share)
    most = 24_576 * shares + 1.3 * np.sqrt(24_576 * shares)
    assert most[0] <= budget(0.99, 24_576)
    assert at == crossing.low or most[1] > budget(0.99, 24_576)


def test_clusters_ask_for_a_slower_run():
    """Counts that scatter more need more room."""
    goal = PeakGoal(start_qps=1.0, full_s=1.0)
    assert certain_rate(found(8.0, 50.0), goal) < certain_rate(found(8.0, 1.0), goal)


def test_a_run_too_short_to_certify_anything_changes_nothing():
    """Its confirmation will say so itself."""
    goal = PeakGoal(start_qps=1.0, full_s=1e-6, full_queries=50)
    assert certain_rate(found(8.0), goal) == found(8.0).low
