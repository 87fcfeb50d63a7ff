"""early stopping: the vectors of the harness, the definition by brute force, and what a certified value promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from caveat.errors import UsageError
from caveat.measure.early_stopping import budget, certified, fewest_to_certify, h_min, queries_needed

# percentile, over, h_min, queries: LoadGen's early_stopping.cc compiled alone
VECTORS = [
    (0.90, 0, 44, 44),
    (0.90, 1, 63, 64),
    (0.90, 10, 187, 197),
    (0.90, 100, 1146, 1246),
    (0.95, 5, 254, 259),
    (0.97, 5, 428, 433),
    (0.99, 0, 459, 459),
    (0.99, 1, 661, 662),
    (0.99, 10, 2000, 2010),
    (0.99, 100, 12471, 12571),
    (0.99, 245, 28131, 28376),
    (0.999, 1, 6635, 6636),
]
BUDGETS = [
    (0.90, 250, 14),
    (0.90, 5000, 450),
    (0.90, 10000, 930),
    (0.99, 1000, 2),
    (0.99, 10000, 77),
    (0.99, 24576, 209),
    (0.99, 13368, 107),
    (0.99, 6396, 45),
    (0.99, 270336, 2583),
]


@pytest.mark.parametrize(("percentile", "over", "under", "queries"), VECTORS)
def test_the_fewest_queries_are_those_of_the_harness(percentile, over, under, queries):
    """To the query, also far out."""
    assert h_min(percentile, over) == under
    assert queries_needed(percentile, over) == queries


@pytest.mark.parametrize(("percentile", "queries", "over"), BUDGETS)
def test_the_budget_is_that_of_the_harness(percentile, queries, over):
    """At 24,576 queries 0.85 % may lie above p99, not 1 %."""
    assert budget(percentile, queries) == over


def test_below_the_floor_there_is_neither_budget_nor_value():
    """p99 needs 459 queries to pass at all and 662 to be certified; p90 44 and 64."""
    assert (budget(0.99, 458), budget(0.99, 459), budget(0.90, 43), budget(0.90, 44)) == (None, 0, None, 0)
    assert budget(0.99, 0) is None
    assert (fewest_to_certify(0.99), fewest_to_certify(0.90)) == (662, 64)
    assert certified(np.zeros(661), 0.99) is None
    assert certified(np.zeros(662), 0.99) == 0.0


def test_a_single_stream_of_250_discards_13():
    """The end-to-end vector: t = 14, and the reported value has 13 above it."""
    values = np.random.default_rng(1).permutation(np.arange(250.0))
    assert certified(values, 0.90) == 236
    assert int((values > 236).sum()) == 13


def test_what_failed_is_above_everything():
    """More failures than the budget leave no finite value."""
    values = np.arange(662.0)
    values[:1] = np.inf
    assert certified(values, 0.99) == np.inf
    assert certified(np.append(values[1:], np.arange(400.0)), 0.99) < np.inf


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.integers(0, 300))
def test_needed_and_budget_are_each_others_inverse(percentile, over):
    """With so many queries so many may be above, with one fewer not; and it is the binomial test that it says."""
    needed = queries_needed(percentile, over)
    assert budget(percentile, needed) == over
    assert (budget(percentile, needed - 1) or 0) <= max(over - 1, 0)
    assert stats.binom.cdf(over, needed, 1 - percentile) < 0.01
    assert stats.binom.cdf(over, needed - 1, 1 - percentile) >= 0.01


def test_a_certified_value_is_above_the_percentile_in_99_of_100_runs():
    """Of 600 runs of 1,000 independent values, whose true p90 is known; binomial slack on the share."""
    runs = np.random.default_rng(2).exponential(size=(600, 1000))
    true = -np.log(0.1)
    below = sum(certified(run, 0.90) < true for run in runs)
    assert below <= stats.binom.ppf(0.9999, 600, 0.01)


@pytest.mark.parametrize("percentile", [0.0, 1.0, 99.0, float("nan")])
def test_a_percentile_that_is_none_is_refused(percentile):
    """99 is not 0.99."""
    with pytest.raises(UsageError, match="percentile"):
        h_min(percentile, 0)
    with pytest.raises(UsageError, match="percentile"):
        budget(percentile, 100)
    with pytest.raises(UsageError, match="over"):
        h_min(0.99, -1)
