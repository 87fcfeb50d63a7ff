"""tokens: who counted, for whom, and how long things were."""

import numpy as np
import pytest

from caveat.measure import columns_of
from caveat.measure.tokens import lengths, token_counts
from caveat.measure.windows import window_of
from tests.measure.samples import samples


def counts(table):
    columns = columns_of(table)
    return token_counts(columns, window_of(columns))


def test_the_servers_record_comes_first_and_a_source_that_counted_nothing_is_none():
    """Usage before the tokenizer; chunks are in neither."""
    both = counts(samples([0, 1], 0.5, output_tokens_client=[9, 9]))
    assert [(one.source, one.output.tolist()) for one in both] == [("usage", [10, 10]), ("client", [9, 9])]
    only = counts(samples([0, 1], 0.5, output_tokens_usage=None, output_tokens_client=[9, None]))
    assert [(one.source, one.counted.missing) for one in only] == [("client", 1)]
    assert counts(samples([0, 1], 0.5, output_tokens_usage=None, chunks=[64, 64])) == ()


def test_tokens_of_a_failed_request_are_not_counted():
    """Nor is a failure missing a count."""
    (one,) = counts(samples([0, 1], 0.5, error_class=[None, "reset"]))
    np.testing.assert_array_equal(one.output, [10, np.nan])
    assert (one.counted.missing, one.counted.successes, one.counted.notes) == (0, 1, ())


@pytest.mark.parametrize(("missing", "complete"), [(0, True), (1, True), (2, False)])
def test_a_hundredth_may_be_missing(missing, complete):
    """Of 100 successes one may lack its count; the note or the reason says how many."""
    usage = [None] * missing + [10] * (100 - missing)
    (one,) = counts(samples(np.arange(100), 0.5, output_tokens_usage=usage))
    assert one.counted.complete is complete
    assert f"for {missing} of 100 successes" in one.counted.reason


def test_lengths_are_a_distribution_by_nearest_rank():
    """Of what is known; of nothing there is none."""
    found = lengths(np.array([*range(1, 101), np.nan], dtype=float))
    assert found == {"mean": 50.5, "p50": 50, "p90": 90, "p99": 99, "max": 100, "n": 100}
    assert lengths(np.array([np.nan])) is None
