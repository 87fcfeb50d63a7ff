"""Arrays for drawing: exact shares, few points, and nothing where nothing is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.workload import describe_trace
from caveat.workload.traces.plots import cdf_points
from tests.workload.traces.samples import SECOND, mooncake, needs_traces, recording


@given(st.lists(st.integers(0, 50), min_size=1, max_size=400))
def test_each_point_of_a_distribution_is_the_share_of_values_at_most_so_great(values):
    """Whatever ties there are; the last point is the greatest value with all of them."""
    array = np.array(values, np.int64)
    points = cdf_points(array)
    assert [share for _, share in points] == [float(np.mean(array <= value)) for value, _ in points]
    assert points[-1] == (max(values), 1.0)


def test_even_arrivals_have_no_dispersion_and_one_gap():
    """A request a second, counted in bins of whole seconds."""
    plots = describe_trace(recording([k * SECOND for k in range(200)])).plots
    assert [(scale_s, index, bins) for scale_s, index, bins in plots.dispersion] == [
        (1.0, 0.0, 200),
        (2.0, 0.0, 100),
        (5.0, 0.0, 40),
        (10.0, 0.0, 20),
        (20.0, 0.0, 10),
    ]
    assert plots.gaps_s == ((1.0, 1.0),)


def test_poisson_arrivals_have_a_dispersion_of_one_at_every_scale():
    """Within what chance allows, over twenty seeds."""
    found: dict[float, list[float]] = {}
    for seed in range(20):
        t_ns = np.cumsum(np.random.default_rng(seed).exponential(1.0, 5_000) * SECOND).astype(np.int64)
        for scale_s, index, _ in describe_trace(recording((t_ns - t_ns[0]).tolist())).plots.dispersion:
            found.setdefault(scale_s, []).append(index)
    means = [np.mean(values) for values in found.values() if len(values) == 20]
    assert len(means) >= 6
    assert means == pytest.approx([1.0] * len(means), abs=0.15)


def test_conversations_are_drawn_where_they_were_recorded():
    """Turns and the time from one to the next."""
    trace = recording([0, SECOND, 3 * SECOND, 9 * SECOND], [10, 10, 30, 12], [5, 5, 5, 5], sessions=[0, 1, 0, 0])
    plots = describe_trace(trace).plots
    assert plots.turns == ((1.0, 0.5), (3.0, 1.0))
    assert plots.between_s == ((3.0, 0.5), (6.0, 1.0))


def test_what_was_not_recorded_has_no_curve():
    """Empty, not a line at zero."""
    plots = describe_trace(recording([0])).plots
    assert (plots.rate_qps, plots.dispersion, plots.gaps_s, plots.reuse_by_s, plots.turns) == ((), (), (), (), ())


@needs_traces
def test_bins_of_a_trace_with_a_coarse_clock_are_whole_steps():
    """Three seconds and its multiples; reuse ends at the share that the description states."""
    described = describe_trace(mooncake())
    assert [scale_s for scale_s, _, _ in described.plots.dispersion] == [3.0, 6.0, 15.0, 30.0, 60.0, 150.0, 300.0]
    assert described.prefixes is not None
    assert described.plots.reuse_by_blocks[-1][1] == pytest.approx(described.prefixes.share)
    assert described.plots.reuse_by_s[-1][1] == pytest.approx(described.prefixes.share)
