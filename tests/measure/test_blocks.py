"""blocks: how much a series of alike neighbours tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure.blocks import MOST_BLOCKS, RESAMPLES, block_means, dependence, resampled_means


def autoregressive(n: int, memory: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    series, state = np.empty(n), 0.0
    for place, noise in enumerate(rng.normal(size=n)):
        state = memory * state + noise
        series[place] = state
    return series


@pytest.mark.parametrize(("memory", "inflation"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_the_inflation_of_an_autoregressive_series_is_the_known_one(memory, inflation):
    """(1 + memory) / (1 - memory), found within a fifth from 50,000 values, averaged over ten seeds."""
    found = np.mean([dependence(autoregressive(50_000, memory, seed)).inflation for seed in range(10)])
    assert found == pytest.approx(inflation, rel=0.2)


def test_neighbours_that_alternate_do_not_make_a_sample_larger_than_it_is():
    """Negative correlation would give more effective values than there are; that is not claimed."""
    assert dependence(np.tile([1.0, -1.0], 500)).n_effective == 1000


@given(st.lists(st.floats(-1e12, 1e12), max_size=300))
def test_dependence_is_defined_for_every_series(values):
    """Empty, constant, short, huge: the inflation is at least one and a block fits into the series."""
    held = dependence(np.array(values))
    assert held.n == len(values)
    assert 1 <= held.inflation < np.inf
    assert 1 <= held.block <= max(1, len(values))


def test_long_series_have_a_bounded_number_of_blocks():
    """A million independent values are not a million blocks."""
    held = dependence(np.random.default_rng(1).normal(size=200_000))
    assert len(block_means(np.zeros(200_000), held.block)) in (MOST_BLOCKS, MOST_BLOCKS + 1)


def test_resamples_keep_columns_together_and_centre_on_the_mean():
    """A column that is twice another is twice it in every resample; means of resamples lie about the mean."""
    series = np.random.default_rng(2).gamma(2.0, size=2000)
    means = resampled_means(np.column_stack((series, 2 * series)), 20, np.random.default_rng(3))
    assert means.shape == (RESAMPLES, 2)
    np.testing.assert_allclose(means[:, 1], 2 * means[:, 0])
    assert means[:, 0].mean() == pytest.approx(series.mean(), rel=0.01)
    assert means[:, 0].std() == pytest.approx(series.std() / np.sqrt(2000), rel=0.15)


def test_the_same_seed_gives_the_same_resamples():
    """Randomness comes in as an argument."""
    series = np.arange(100.0)[:, None]
    one, other = (resampled_means(series, 5, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
