"""buckets: percentiles of any number of times, right to 0.05 %."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure.buckets import Buckets
from caveat.measure.percentiles import percentile

times = st.lists(st.floats(1, 1e13), min_size=1, max_size=200)


@given(times, st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_within_half_a_bucket_of_the_exact_one(values, share):
    """From a nanosecond to hours; the ends are exact."""
    buckets = Buckets()
    buckets.add(np.array(values))
    assert buckets.percentile(share) == pytest.approx(percentile(np.sort(values), share), rel=0.00051)
    assert (buckets.least, buckets.greatest) == (min(values), max(values))
    assert buckets.mean == pytest.approx(math.fsum(values) / len(values))


@given(times, times)
def test_it_does_not_matter_in_which_portions_times_come(one, other):
    """Two portions or one: the same percentiles."""
    together, apart = Buckets(), Buckets()
    together.add(np.array(one + other))
    apart.add(np.array(one))
    apart.add(np.array(other))
    assert [apart.percentile(share) for share in (0.5, 0.99)] == [together.percentile(s) for s in (0.5, 0.99)]


def test_nothing_has_no_percentile_and_zero_is_zero():
    """NaN, infinity and null are not times; a gap of zero is one."""
    buckets = Buckets()
    buckets.add(np.array([np.nan, np.inf]))
    assert buckets.n == 0
    assert math.isnan(buckets.percentile(0.5))
    assert math.isnan(buckets.mean)
    buckets.add(np.array([0.0, 0.0, 5.0]))
    assert buckets.percentile(0.5) == 0.0
