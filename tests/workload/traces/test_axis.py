"""Bins that stand for enough requests and keep the percentiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Lognormal
from caveat.workload.traces.axis import Axis, axis_of

VALUES = st.lists(st.integers(0, 5000) | st.just(512), min_size=10, max_size=400)


@given(VALUES, st.integers(2, 10))
def test_no_bin_stands_for_too_few_and_none_is_lost(values: list[int], min_count: int):
    """Every value lies in the bin that is said to hold it."""
    axis, places = axis_of(np.array(values), min_count)
    assert min(count for *_, count in axis.bins) >= min_count
    assert sum(count for *_, count in axis.bins) == len(values)
    for value, place in zip(values, places.tolist(), strict=True):
        assert axis.bins[place][0] <= value <= axis.bins[place][1]
    assert np.bincount(places, minlength=len(axis.bins)).min() >= 0


def test_percentiles_are_kept():
    """Median, p90, p99 and p99.9 of a heavy tail within 3 %."""
    u = (np.arange(100_000) + 0.5) / 100_000
    values = Lognormal(mean=2000.0, cv=2.0).tokens(u)
    drawn = axis_of(values, 10)[0].drawn(u)
    for share in (0.01, 0.5, 0.9, 0.99, 0.999):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(values, share), rel=0.03)


def test_a_value_that_many_have_stays_exact():
    """A limit of 1,024 tokens is still one."""
    values = np.concatenate([np.arange(100, 1000), np.full(300, 1024)])
    axis, _ = axis_of(values, 10)
    assert (1024, 1024, 300) in axis.bins


def test_a_single_long_request_is_not_shown():
    """The longest length is known to the next rounding step only, and shares its bin with nine others."""
    axis, _ = axis_of(np.append(np.arange(100, 200), 77_777), 10)
    low, high, count = axis.bins[-1]
    assert low < 200
    assert high > 77_777
    assert count >= 10
    assert high / 77_777 < 1.05


@pytest.mark.parametrize("bins", [(), ((5, 4, 1),), ((0, 1, 0),), ((-1, 1, 5),), ((0, 1, 1 << 50),)])
def test_bins_that_cannot_be_are_refused(bins):
    """Whatever stands in a document from outside."""
    with pytest.raises(InputError):
        Axis(bins)
