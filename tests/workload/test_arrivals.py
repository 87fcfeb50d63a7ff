"""Arrival processes keep what their names promise: rate, spread, distribution and order, over 100 seeds."""

import math

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import (
    Constant,
    Gamma,
    Loadgen,
    Open,
    Poisson,
    ScheduleSettings,
    Trace,
    Weibull,
    loadgen_schedule,
)
from caveat.workload.streams import Stream
from tests.workload.cases import ARRIVALS, CRITICAL, SECOND, SEEDS, kolmogorov, times


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
def test_times_are_whole_and_never_go_back(arrivals: Open):
    """From 0 on."""
    at_ns = times(arrivals, 30.0)
    assert at_ns.dtype == np.int64
    assert at_ns[0] >= 0
    assert (np.diff(at_ns) >= 0).all()


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=ARRIVALS)
def test_a_seed_gives_the_same_times_again(arrivals: Open):
    """Nothing else goes in."""
    assert times(arrivals, 30.0, seed=5).tolist() == times(arrivals, 30.0, seed=5).tolist()


def test_constant_is_constant():
    """cv 0 for a rate that divides a second, and never more than a nanosecond apart for one that does not."""
    assert set(np.diff(times(Constant(8.0), 1000.0)).tolist()) == {SECOND // 8}
    assert len(times(Constant(8.0), 1000.0)) == 8000
    assert np.ptp(np.diff(times(Constant(7.0), 1000.0))) == 1


@pytest.mark.parametrize("arrivals", [Poisson(50.0), Gamma(50.0, cv=0.4), Gamma(50.0, cv=3.0), Weibull(50.0, cv=2.0)])
def test_renewal_processes_have_their_rate_from_the_start(arrivals: Poisson | Gamma | Weibull):
    """100 windows of 4 s hold 20,000 in the mean, within 5 standard errors (a false alarm in 1.7 million).

    For cv 3 a plan that began with a gap instead of within one would be 400 above.
    """
    cv = getattr(arrivals, "cv", 1.0)
    total = sum(len(times(arrivals, 4.0, seed)) for seed in SEEDS)
    assert abs(total - 20_000) < 5 * cv * math.sqrt(20_000)


def test_poisson_gaps_are_exponential():
    """100 seeds of 40 s at 50 a second; chance of a false alarm about 3e-7."""
    for seed in SEEDS:
        gaps = np.diff(times(Poisson(50.0), 40.0, seed), prepend=0) / SECOND * 50.0
        assert kolmogorov(gaps, -np.expm1(-gaps)) < CRITICAL


@pytest.mark.parametrize(
    "arrivals", [Gamma(50.0, cv=0.4), Gamma(50.0, cv=2.5), Weibull(50.0, cv=0.5), Weibull(50.0, cv=2.0)]
)
def test_gaps_have_the_cv_of_the_name(arrivals: Gamma | Weibull):
    """100 seeds of 40 s together, within 4 %."""
    gaps = np.concatenate([np.diff(times(arrivals, 40.0, seed)) for seed in SEEDS])
    assert gaps.std() / gaps.mean() == pytest.approx(arrivals.cv, rel=0.04)


def test_loadgen_is_loadgens_schedule():
    """Bit for bit, whatever the workload's seed."""
    loadgen = Loadgen(seed=3, target_qps=20.0, min_duration_ns=30 * SECOND)
    settings = ScheduleSettings(seed=3, target_qps=20.0, min_duration_ns=30 * SECOND, min_queries=100)
    assert np.concatenate(list(loadgen.times(Stream(99)))).tolist() == loadgen_schedule(settings).tolist()


def test_a_trace_is_played_as_recorded_or_faster():
    """Twice the speed is half the time."""
    recorded = (0, 10, 10, 40 * SECOND)
    assert times(Trace(recorded), 100.0).tolist() == list(recorded)
    assert times(Trace(recorded, speed=2.0), 100.0).tolist() == [0, 5, 5, 20 * SECOND]


@pytest.mark.parametrize("name", [name for name in ARRIVALS if name != "loadgen"])
def test_the_expected_number_is_about_the_number(name: str):
    """Over whole periods of the curves: within 5 standard errors of a burstiness of 40 over 20 seeds."""
    expected = ARRIVALS[name].expected(60.0)
    found = np.mean([len(times(ARRIVALS[name], 60.0, seed)) for seed in range(20)])
    assert abs(found - expected) < 5 * math.sqrt(40 * expected / 20)


@pytest.mark.parametrize("rate_qps", [0.0, -1.0, 1e300, 1e-300, math.nan, math.inf])
@pytest.mark.parametrize("make", [Constant, Poisson, lambda rate: Gamma(rate, 1.0), lambda rate: Weibull(rate, 1.0)])
def test_a_rate_out_of_range_is_refused(make, rate_qps: float):
    """With the range."""
    with pytest.raises(InputError, match=r"rate_qps: found .*, expected a number from 1e-06 to 1,000,000,000"):
        make(rate_qps)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Trace(()), "times_ns: found 0 entries"),
        (lambda: Trace((5, 3)), r"times_ns\[1\]: found 3, expected a value not below the one before it, 5"),
        (lambda: Trace((-5, 3)), r"times_ns\[0\]: found -5"),
        (lambda: Trace((0, 10**40)), "found an integer of 133 bits"),
        (lambda: Trace((0, 10**16), speed=0.001), "last time / speed"),
        (lambda: Trace((0,), speed=math.nan), "speed: found nan"),
        (lambda: Loadgen(seed=1, target_qps=-1.0), "target_qps"),
    ],
)
def test_arrivals_that_are_none_are_refused(make, expected: str):
    """With the field."""
    with pytest.raises(InputError, match=expected):
        make()
