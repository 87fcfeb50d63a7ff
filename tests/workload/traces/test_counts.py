"""Counts in bins, and the numbers made of them."""

import numpy as np
import pytest

from caveat.workload import Constant, Gamma, Mmpp, Poisson, State
from caveat.workload.traces.counts import autocorrelation, counted, dispersion, gap_cv, rate_at_scale
from tests.workload.cases import times
from tests.workload.traces.samples import SECOND


def test_only_whole_bins_are_counted():
    """A broken last bin would look like a lull."""
    at_ns = np.array([0, 1, 11, 25, 29])
    assert counted(at_ns, 30, 10).tolist() == [2, 1, 2]
    assert counted(at_ns, 29, 10).tolist() == [2, 1]
    assert counted(at_ns, 9, 10).tolist() == []


@pytest.mark.parametrize(
    ("process", "expected"), [(Poisson(20.0), 1.0), (Gamma(20.0, cv=2.0), 4.0), (Constant(20.0), 0.0)]
)
def test_dispersion_is_that_of_the_process(process, expected):
    """1 for Poisson; cv squared for gaps over bins much longer than they; chance of a false alarm below 1e-6."""
    counts = counted(times(process, 20_000.0), 20_000 * SECOND, 10 * SECOND)
    found = dispersion(counts)
    assert found is not None
    assert abs(found - expected) <= 0.16 * expected + 0.05  # 5 sd of a variance of 2,000 counts


def test_dispersion_of_too_little_is_unknown():
    """Not zero."""
    assert dispersion(np.array([3])) is None
    assert dispersion(np.array([0, 0, 0])) is None
    assert gap_cv(np.array([0, 0, 0])) is None


def test_memory_of_the_rate_shows_in_the_counts():
    """A rate that jumps every 100 s is remembered after 10 s, and Poisson arrivals remember nothing."""
    jumping = Mmpp((State(20.0, 100.0), State(1.0, 100.0)))
    remembered = autocorrelation(counted(times(jumping, 20_000.0), 20_000 * SECOND, 10 * SECOND), 1)
    forgotten = autocorrelation(counted(times(Poisson(10.0), 20_000.0), 20_000 * SECOND, 10 * SECOND), 1)
    assert remembered is not None
    assert forgotten is not None
    assert remembered > 0.6
    assert abs(forgotten) < 0.12


def test_a_scale_longer_than_the_trace_says_nothing():
    """And with few bins there are rates, but no dispersion."""
    assert rate_at_scale(np.arange(10) * SECOND, 10 * SECOND, 60.0) is None
    few = rate_at_scale(np.arange(10) * SECOND, 10 * SECOND, 2.0)
    assert few is not None
    assert (few.mean_qps, few.peak_qps, few.dispersion, few.autocorrelation) == (1.0, 1.0, None, {})
