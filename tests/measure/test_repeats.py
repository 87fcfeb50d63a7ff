"""Several runs of one thing: the mean over runs, its interval, and the spread between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.figures import Provenance, Row, Run, conditions_of
from caveat.measure import repeated

RATE, TTFT = "caveat-request-rate", "caveat-ttft.p50"


def run_with(**values):
    rows = tuple(Row(metric=metric, value=value, n=9) for metric, value in values.items())
    return Run(
        subject="measured/1",
        conditions=conditions_of({}),
        provenance=Provenance(origin="measured", sources=()),
        rows=rows,
    )


def runs_of(metric, values):
    return [run_with(**{metric: value}) for value in values]


def test_the_interval_is_students():
    """Hand-calculated: 10, 11, 12 have the mean 11, sd 1, and t(2) = 4.3027 at 95 %."""
    (row,) = repeated(runs_of(RATE, [10.0, 11.0, 12.0]), [RATE])
    assert (row.metric, row.n, row.mean, row.sd, row.least, row.most) == (RATE, 3, 11.0, 1.0, 10.0, 12.0)
    assert (row.low, row.high) == pytest.approx((11 - 4.302653 / 3**0.5, 11 + 4.302653 / 3**0.5), rel=1e-6)


def test_one_run_has_no_interval_and_no_spread():
    """Unknown, not zero."""
    (row,) = repeated(runs_of(RATE, [10.0]), [RATE])
    assert (row.n, row.mean, row.low, row.high, row.sd) == (1, 10.0, None, None, None)


def test_a_metric_counts_the_runs_that_have_it():
    """One that no run has is left out."""
    runs = [run_with(**{RATE: 1.0, TTFT: 0.5}), run_with(**{RATE: 3.0})]
    rows = repeated(runs, [TTFT, "caveat-latency.p50", RATE])
    assert [(row.metric, row.n, row.mean) for row in rows] == [(TTFT, 1, 0.5), (RATE, 2, 2.0)]


@given(st.lists(st.floats(0.001, 1e6), min_size=2, max_size=20))
def test_the_mean_lies_between_the_ends(values):
    """Of the runs, and of the interval, which is symmetric."""
    (row,) = repeated(runs_of(RATE, values), [RATE])
    assert row.least <= row.mean * (1 + 1e-12)
    assert row.mean <= row.most * (1 + 1e-12)
    assert row.low <= row.mean <= row.high


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Five normal runs each, 400 times: 95 % within four standard errors."""
    rng = np.random.default_rng(7)
    covered = 0
    for values in rng.normal(10.0, 2.0, (400, 5)):
        (row,) = repeated(runs_of(RATE, values.tolist()), [RATE])
        covered += row.low <= 10.0 <= row.high
    assert abs(covered / 400 - 0.95) < 4 * (0.95 * 0.05 / 400) ** 0.5
