"""Curves and the change of time: where the integral of the rate reaches a number, that arrival comes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Points, Sine
from caveat.workload.rates import Segments, mean_rate, repeated, then_steady, warp
from tests.workload.cases import SECOND


def segments(*rows: tuple[float, float, float]) -> Segments:
    length_s, start, end = zip(*rows, strict=True)
    return Segments((np.array(length_s) * SECOND).astype(np.int64), np.array(start), np.array(end))


def warped(arrivals: list[float], curve) -> list[float]:
    """Times in seconds of whole numbers of arrivals."""
    unit = np.rint(np.array(arrivals) * 1e9).astype(np.int64)
    return [time / 1e9 for times in warp([unit], curve) for time in times.tolist()]


def test_a_level_rate_scales_time():
    """Two a second."""
    assert warped([0, 1, 2, 5], repeated(segments((10, 2, 2)))) == [0, 0.5, 1, 2.5]


def test_a_rising_rate_is_a_square_root():
    """From 0 to 2 in 2 s the integral is t^2 / 2."""
    assert warped([0.5, 1.0, 2.0], iter([segments((2, 0, 2), (1, 2, 2))])) == [1.0, pytest.approx(math.sqrt(2)), 2.0]


def test_nothing_arrives_in_silence():
    """An arrival due when silence begins comes when it ends."""
    assert warped([1, 2], repeated(segments((1, 1, 1), (5, 0, 0)))) == [6.0, 12.0]


def test_a_curve_that_ends_ends_the_arrivals():
    """What it does not cover does not come."""
    assert warped([0.5, 1.5, 2.5], iter([segments((2, 1, 1))])) == [0.5, 1.5]


def test_a_ramp_stays_at_its_last_rate():
    """After the rise of 10 s from 0 to 2, two a second."""
    assert warped([10, 12, 110], then_steady(segments((10, 0, 2)))) == [10.0, 11.0, 60.0]


rates = st.floats(0, 50)


@given(st.lists(st.tuples(st.floats(0.001, 20), rates, rates), min_size=1, max_size=8), st.integers(1, 400))
def test_the_integral_up_to_an_arrival_is_its_number(rows: list[tuple[float, float, float]], steps: int):
    """The inverse is right to a nanosecond's worth of rate and the rounding of each segment."""
    curve = segments(*rows)
    total = int(curve.integrals().sum())
    unit = np.arange(0, total, max(total // steps, 1), dtype=np.int64)[:steps]
    times = np.concatenate([np.empty(0, np.int64), *warp([unit] if len(unit) else [], iter([curve]))])
    assert len(times) == len(unit)
    assert (np.diff(times) >= 0).all()
    for number, time in zip(unit.tolist(), times.tolist(), strict=True):
        assert abs(integral(curve, time) - number) <= 60 + len(rows)


def integral(curve: Segments, time_ns: int) -> float:
    """Billionths of an arrival up to a time, added up plainly."""
    total, start_ns = 0.0, 0
    for length, start, end in zip(curve.length_ns.tolist(), curve.start_qps, curve.end_qps, strict=True):
        within = min(max(time_ns - start_ns, 0), length)
        total += start * within + (end - start) * within * within / (2 * length)
        start_ns += length
    return total


def test_chunks_of_arrivals_do_not_matter():
    """One at a time or all at once."""
    unit = np.arange(0, 200 * SECOND, 3 * SECOND // 2, dtype=np.int64)
    curve = segments((1, 0, 5), (2, 5, 1), (0.5, 0, 0))
    together = np.concatenate(list(warp([unit], repeated(curve))))
    alone = np.concatenate(list(warp(np.split(unit, len(unit)), repeated(curve))))
    assert together.tolist() == alone.tolist()


def test_a_curve_with_many_segments_between_arrivals_is_followed():
    """Ten thousand seconds of almost nothing before each arrival, in steps of one second."""
    curve = segments(*[(1, 1e-4, 1e-4)] * 1000)
    assert warped([1, 20], repeated(curve)) == pytest.approx([1e4, 2e5])


def test_a_sine_has_its_mean_and_its_peak():
    """Straight lines of a quarter of a degree."""
    sine = Sine(10.0, swing=0.5, period_s=1440.0, peak_s=360.0)
    period = sine.one_period()
    assert mean_rate(period) == pytest.approx(10.0, rel=1e-9)
    assert period.start_qps[[0, 360, 720, 1080]].tolist() == pytest.approx([10, 15, 10, 5])


def test_two_points_of_one_time_are_a_step():
    """From 4 to 1 at once."""
    curve = Points(((0.0, 4.0), (1.0, 4.0), (1.0, 1.0), (3.0, 1.0)))
    assert warped([4, 5, 6], repeated(curve.one_period())) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (((0.0, 1.0),), "2 to 1,000,000 entries"),
        (((1.0, 1.0), (2.0, 1.0)), "expected time 0"),
        (((0.0, 1.0), (2.0, 1.0), (1.0, 1.0)), "not below the one before"),
        (((0.0, 0.0), (2.0, 0.0)), "a rate above 0 somewhere"),
        (((0.0, -1.0), (2.0, 1.0)), "found -1.0"),
        (((0.0, 1.0), (math.nan, 1.0)), "found nan"),
        (((0.0, 1.0), (1e300, 1.0)), "found 1e[+]300"),
        (((0.0, 1e8), (1e6, 1e8)), "about 100,000,000,000,000 requests"),
        (((0.0, 1e-5), (1e-6, 1e-5)), "changes of the rate for each request"),
    ],
)
def test_points_that_make_no_curve_are_refused(points, expected: str):
    """Order, sign, size, and work out of all proportion."""
    with pytest.raises(InputError, match=expected):
        Points(points)
