"""percentiles: ranks without interpolation, and the order statistics that bracket them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure.percentiles import (
    SHARES,
    fewest_for,
    floor_rank,
    known_percentile,
    nearest_rank,
    order_interval,
    order_ranks,
)


@pytest.mark.parametrize(
    ("n", "share", "nearest", "floor"),
    [
        (1, 0.99, 0, 0),
        (100, 0.99, 98, 99),
        (101, 0.99, 99, 99),
        (1000, 0.999, 998, 999),
        (10, 0.5, 4, 5),
        (7, 0.5, 3, 3),
    ],
)
def test_the_two_ranks_are_those_of_their_definitions(n, share, nearest, floor):
    """Nearest rank is ceil(n p) - 1; LoadGen's is floor(n p), one higher wherever n p is whole."""
    assert nearest_rank(n, share) == nearest
    assert floor_rank(n, share) == floor


@given(st.integers(1, 10**7), st.sampled_from(sorted(SHARES.values())))
def test_at_least_the_share_lies_at_or_below_the_nearest_rank(n, share):
    """And one rank lower would not do: the definition of the empirical quantile."""
    rank = nearest_rank(n, share)
    assert (rank + 1) / n >= share - 1e-9
    assert rank == 0 or rank / n < share


def binomial_below(k: int, n: int, p: float) -> float:
    """P(B <= k) by summing the terms."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@given(st.integers(1, 400), st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.sampled_from([0.8, 0.95, 0.99]))
def test_order_ranks_miss_with_at_most_half_the_rest_on_each_side(n, share, confidence):
    """Summed term by term: each end keeps its tail, and the next rank inwards would not."""
    ranks, tail = order_ranks(n, share, confidence), (1 - confidence) / 2
    if ranks is None:
        assert binomial_below(0, n, share) > tail or binomial_below(n - 1, n, share) < 1 - tail
        return
    low, high = ranks
    assert binomial_below(low - 1, n, share) <= tail + 1e-12 < binomial_below(low, n, share)
    assert binomial_below(high - 1, n, share) >= 1 - tail - 1e-12 > binomial_below(high - 2, n, share) - 2e-12


@pytest.mark.parametrize(("share", "fewest"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)])
def test_a_percentile_needs_so_many_values_and_not_one_fewer(share, fewest):
    """At 95 % p99 needs 368 values, p95 72."""
    assert fewest_for(share, 0.95) == fewest
    assert order_ranks(fewest, share, 0.95) is not None
    assert order_ranks(fewest - 1, share, 0.95) is None


def test_an_interval_widens_as_the_sample_tells_less():
    """A thousand values that tell as much as a hundred have the ranks of a hundred, stretched."""
    values = np.arange(1, 1001, dtype=float)
    full = order_interval(values, 0.9, 0.95, 1000)
    tenth = order_interval(values, 0.9, 0.95, 100)
    assert full == (881.0, 919.0)
    assert full is not None
    assert tenth is not None
    assert tenth[0] < full[0] < 900 < full[1] < tenth[1]
    assert order_interval(values, 0.9, 0.95, 30) is None


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_of_what_is_known_ignores_what_is_not(values, share):
    """It equals the nearest rank of the sorted finite values; of none there is none."""
    known = sorted(value for value in values if math.isfinite(value))
    expected = known[nearest_rank(len(known), share)] if known else None
    assert known_percentile(np.array(values, dtype=float), share) == expected
