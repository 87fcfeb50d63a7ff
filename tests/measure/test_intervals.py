"""intervals: they hold the truth as often as they say, also where neighbours are alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure import intervals
from caveat.measure.intervals import Estimate, TooFew
from tests.measure.test_blocks import autoregressive


def holds(found, truth):
    """Whether an interval that must be there holds the truth."""
    assert isinstance(found, Estimate), found
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


SEEDS = range(100)
# Of 100 intervals at 95 % fewer than 88 hold the truth with a chance of 4 in 1,000; the seeds are fixed besides.
ENOUGH = 88


@pytest.mark.parametrize(("n", "memory"), [(300, 0.0), (2000, 0.5), (4000, 0.9)])
def test_a_mean_is_held_as_often_as_stated(n, memory):
    """Batch means over autoregressive series of mean zero."""
    found = [intervals.mean(autoregressive(n, memory, seed), 0.95) for seed in SEEDS]
    assert sum(holds(one, 0) for one in found) >= ENOUGH


def test_the_plain_interval_would_be_wrong_half_the_time():
    """What is gained: 1.96 standard deviations / sqrt(n) hold a mean of alike neighbours far too rarely."""
    held = 0
    for seed in SEEDS:
        series = autoregressive(4000, 0.9, seed)
        held += abs(series.mean()) <= 1.96 * series.std() / np.sqrt(len(series))
    assert held < 60


@pytest.mark.parametrize(("n", "memory"), [(400, 0.0), (8000, 0.8)])
def test_a_percentile_is_held_as_often_as_stated(n, memory):
    """p90 of a normal autoregressive series is 1.2816 of its standard deviations."""
    truth = 1.2815515655 / np.sqrt(1 - memory**2)
    found = [intervals.quantile(x, np.sort(x), 0.9, 0.95) for x in (autoregressive(n, memory, s) for s in SEEDS)]
    assert sum(holds(one, truth) for one in found) >= ENOUGH


def test_a_ratio_of_sums_is_held_as_often_as_stated():
    """Numerator twice the denominator plus noise: the ratio of the sums is two."""
    held = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        below = rng.gamma(4.0, size=500)
        found = intervals.ratio(2 * below + rng.normal(size=500), below, 0.95, rng)
        held += holds(found, 2)
    assert held >= ENOUGH


@given(st.floats(0, 1), st.integers(1, 10**6), st.sampled_from([0.8, 0.95, 0.999]))
def test_wilson_stays_inside_and_around_its_share(share, n, confidence):
    """Never below 0, above 1, or away from what was seen; of none and of all it has a width."""
    low, high = intervals.wilson(share, n, confidence)
    assert 0 <= low <= share <= high <= 1
    assert low < high


def test_wilson_is_the_published_interval():
    """Newcombe (1998), table I: 81 of 263 at 95 % is 0.2553 to 0.3662; 0 of 20 is 0 to 0.1611."""
    assert intervals.wilson(81 / 263, 263, 0.95) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert intervals.wilson(0.0, 20, 0.95) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_students_t_and_the_normal_are_those_of_the_tables():
    """t at 95 % with 10 degrees of freedom is 2.228; z is 1.960."""
    assert intervals.student(0.95, 10) == pytest.approx(2.228, abs=5e-4)
    assert intervals.normal(0.95) == pytest.approx(1.960, abs=5e-4)


def test_too_few_values_make_no_interval_and_no_percentile():
    """Thirty values have a mean but no interval; p99 of thirty is not known, and the reason says what is missing."""
    few = np.arange(30.0)
    assert intervals.mean(few, 0.95).low is None
    found = intervals.quantile(few, few, 0.99, 0.95)
    assert isinstance(found, TooFew)
    assert found.reason == "found 30 requests, expected 368 for an interval at 95 %"


def test_a_percentile_among_failures_never_came():
    """A tenth failed: p99 has no value, p50 has one, and what a slow tail hides is said."""
    series = np.where(np.arange(5000) % 10 == 0, np.inf, np.arange(5000) % 7)
    ascending = np.sort(series)
    assert isinstance(intervals.quantile(series, ascending, 0.5, 0.95), Estimate)
    gone = intervals.quantile(series, ascending, 0.99, 0.95)
    assert isinstance(gone, TooFew)
    assert "never" in gone.reason
