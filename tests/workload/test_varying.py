"""Rates that vary: arrivals follow the curve, whatever the gaps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import (
    ConstantGaps,
    Diurnal,
    GammaGaps,
    Gaps,
    LognormalGaps,
    Points,
    Ramp,
    Sine,
    WeibullGaps,
    Window,
    Windows,
)
from tests.workload.cases import CRITICAL, SECOND, SEEDS, kolmogorov, times

SAW = Points(((0.0, 0.0), (10.0, 40.0)))


@given(st.floats(0.5, 60.0))
def test_constant_gaps_on_a_curve_count_its_integral(until_s: float):
    """The number of arrivals up to any time is the curve's integral, rounded up: one is at 0."""
    whole, rest = divmod(until_s, 10.0)
    integral = 200.0 * whole + 2.0 * rest * rest
    found = len(times(Diurnal(SAW, gaps=ConstantGaps()), until_s))
    assert abs(found - math.ceil(integral)) <= (1 if abs(integral - round(integral)) < 1e-4 else 0)


@pytest.mark.parametrize("gaps", [GammaGaps(0.5), GammaGaps(2.0), WeibullGaps(2.0), LognormalGaps(1.5)])
def test_any_gaps_on_a_curve_have_its_rate_at_every_hour(gaps: Gaps):
    """Counts in ten slices of the period, 100 seeds: each within 5 standard errors and the reach of a gap."""
    found = np.concatenate([times(Diurnal(SAW, gaps=gaps), 10.0, seed) for seed in SEEDS])
    counted = np.histogram(found, np.arange(11) * SECOND)[0]
    expected = 100 * 2.0 * (2 * np.arange(10) + 1)
    assert (np.abs(counted - expected) < 5 * gaps.cv * np.sqrt(expected)).all()


def test_poisson_on_a_curve_is_exponential_in_its_own_time():
    """Gaps of the curve's integral are exponential; chance of a false alarm about 3e-7."""
    for seed in SEEDS:
        at_s = times(Diurnal(SAW), 60.0, seed) / SECOND
        gaps = np.diff(200.0 * (at_s // 10) + 2.0 * (at_s % 10) ** 2, prepend=0)
        assert kolmogorov(gaps, -np.expm1(-gaps)) < CRITICAL


def test_a_sine_repeats_with_its_mean():
    """Over five periods 100 a second in the mean, and three times as many around the peak as around the trough."""
    found = times(Diurnal(Sine(100.0, swing=0.5, period_s=20.0, peak_s=5.0), gaps=ConstantGaps()), 100.0)
    assert len(found) == pytest.approx(10_000, abs=1)
    phase = found % (20 * SECOND) / SECOND
    assert (np.abs(phase - 5) < 0.5).sum() / (np.abs(phase - 15) < 0.5).sum() == pytest.approx(3.0, rel=0.02)


def test_a_ramp_rises_and_stays():
    """From 0 to 20 over 10 s: 100 requests, and then 20 a second."""
    found = times(Ramp(0.0, 20.0, over_s=10.0, gaps=ConstantGaps()), 15.0)
    assert [int((found < second * SECOND).sum()) for second in (5, 10, 11, 15)] == [25, 100, 120, 200]


def test_a_ramp_can_fall_to_silence():
    """20 to 0: the rest of the day is empty."""
    found = times(Ramp(20.0, 0.0, over_s=10.0, gaps=ConstantGaps()), 1e6)
    assert len(found) == 100
    assert found[-1] < 10 * SECOND


def test_windows_have_their_own_rates_and_silences():
    """Bursty windows keep their rate in the mean though each begins anew: 100 seeds, 5 standard errors."""
    windows = Windows((Window(0.0, 20.0, GammaGaps(3.0)), Window(10.0, 0.0), Window(20.0, 5.0)), end_s=40.0)
    found = np.concatenate([times(windows, 100.0, seed) for seed in SEEDS])
    first, silent, last = np.histogram(found, np.array([0, 10, 20, 40]) * SECOND)[0]
    assert abs(first - 20_000) < 5 * 3 * math.sqrt(20_000)
    assert silent == 0
    assert abs(last - 10_000) < 5 * math.sqrt(10_000)
    assert found.max() < 40 * SECOND


@settings(max_examples=30)
@given(st.floats(0.0, 100.0), st.floats(0.0, 100.0), st.floats(0.1, 50.0), st.floats(0.1, 100.0))
def test_the_expected_number_of_a_ramp_is_its_integral(start: float, end: float, over_s: float, until_s: float):
    """Against a plain sum over small steps."""
    steps = (np.arange(20_000) + 0.5) * until_s / 20_000
    rates = start + (end - start) * np.minimum(steps / over_s, 1.0)
    if start + end > 1:
        expected = Ramp(start, end, over_s).expected(until_s)
        assert expected == pytest.approx(rates.mean() * until_s, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Ramp(0.0, 0.0, 5.0), "a rate above 0"),
        (lambda: Ramp(-1.0, 5.0, 5.0), "ramp.from_qps: found -1.0"),
        (lambda: Ramp(1.0, math.nan, 5.0), "ramp.to_qps: found nan"),
        (lambda: Ramp(1.0, 1.0, 0.0), "ramp.over_s: found 0.0"),
        (lambda: Windows((), end_s=5.0), "found 0 entries"),
        (lambda: Windows((Window(5.0, 1.0), Window(5.0, 1.0)), end_s=9.0), "above the one before it"),
        (lambda: Windows((Window(5.0, 1.0),), end_s=4.0), "windows.end_s: found 4.0"),
        (lambda: Windows((Window(5.0, 0.0),), end_s=9.0), "found 0 requests"),
        (lambda: Window(0.0, 1e300), "rate_qps: found 1e[+]300"),
        (lambda: Sine(10.0, swing=1.5), "sine.swing: found 1.5"),
        (lambda: Sine(10.0, swing=0.5, peak_s=-1.0), "sine.peak_s"),
    ],
)
def test_rates_that_are_none_are_refused(make, expected: str):
    """With the field."""
    with pytest.raises(InputError, match=expected):
        make()
