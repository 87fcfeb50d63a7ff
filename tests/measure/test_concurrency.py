"""concurrency: what was in flight, at every moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure.concurrency import accumulated, mean_in_flight, most_in_flight, over_time

moments = st.integers(0, 1000)
stretches = st.lists(st.tuples(moments, st.integers(0, 300)), min_size=1, max_size=40)


def arrays(stretches):
    starts = np.array([start for start, _ in stretches], dtype=float)
    return starts, starts + np.array([length for _, length in stretches], dtype=float)


def test_a_request_counts_for_as_long_as_it_was_there():
    """Two requests, of which one spans the window and one half of it: one and a half."""
    assert mean_in_flight(np.array([0.0, 50.0]), np.array([100.0, 100.0]), 0, 100) == 1.5
    assert over_time(np.array([0.0]), np.array([50.0]), np.array([0.0, 50.0, 100.0])).tolist() == [1.0, 0.0]


@given(stretches)
def test_the_most_in_flight_is_that_of_counting_at_every_start(stretches):
    """Who ends at the moment another is sent has left."""
    starts, ends = arrays(stretches)
    lasting = ends > starts
    starts, ends = starts[lasting], ends[lasting]
    expected = max((int(np.sum((starts <= moment) & (ends > moment))) for moment in starts), default=0)
    assert most_in_flight(starts, ends) == expected


@given(stretches, st.lists(st.integers(1, 200), min_size=1, max_size=20))
def test_what_came_in_by_a_moment_is_the_sum_of_what_each_brought(stretches, gaps):
    """Evenly between start and end; an amount without length all at once."""
    starts, ends = arrays(stretches)
    at = np.cumsum(gaps).astype(float)
    amounts = np.arange(1.0, len(starts) + 1)
    expected = [
        sum(
            amount * (np.clip((moment - start) / (end - start), 0, 1) if end > start else moment >= start)
            for start, end, amount in zip(starts, ends, amounts, strict=True)
        )
        for moment in at
    ]
    assert accumulated(at, starts, ends, amounts) == pytest.approx(expected, abs=1e-6)
