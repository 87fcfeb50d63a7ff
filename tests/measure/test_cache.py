"""cache: the share of prompt tokens from a cache, as the server's answers tell it."""

import numpy as np
import pytest

from caveat.measure import CACHED_SHARE, summarize
from tests.measure.samples import row, samples


def told(cached, prompt=100, **columns):
    n = len(cached)
    table = samples(np.arange(n), 0.1, cached_tokens_usage=cached, input_tokens_usage=[prompt] * n, **columns)
    return summarize(table, workload={})


def test_the_share_is_of_tokens_and_has_an_interval():
    """Half of the prompts, a fifth of each."""
    cached = np.random.default_rng(2).permutation([20, 0] * 200)
    found = told(list(cached))
    share = row(found, CACHED_SHARE)
    assert share.value == 0.1
    assert share.n == 400
    assert share.spread is not None
    assert share.spread.low < 0.1 < share.spread.high
    assert found.conditions["cached_share"] == 0.1


def test_a_server_that_says_zero_is_not_one_that_says_nothing():
    """Zero is a figure, silence is none."""
    assert row(told([0] * 100), CACHED_SHARE).value == 0.0
    silent = told([None] * 100)
    assert silent.row(CACHED_SHARE) is None
    assert silent.why_absent(CACHED_SHARE) == "the server's usage record stated cached tokens of 0 of 100 successes"
    assert "cached_share" not in silent.conditions


@pytest.mark.parametrize(("missing", "known"), [(1, True), (2, False)])
def test_a_share_that_stands_for_the_run_needs_99_of_100_answers(missing, known):
    """As with every other count of tokens."""
    found = told([10] * (100 - missing) + [None] * missing)
    assert (found.row(CACHED_SHARE) is not None) == known


def test_prompts_without_tokens_have_no_share():
    """Nothing of nothing."""
    assert "no prompt had a token" in str(told([0] * 50, prompt=0).why_absent(CACHED_SHARE))
