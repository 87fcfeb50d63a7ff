"""windows: who is measured is chosen by when it was due, by a rule that is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CannotSayError, UsageError
from caveat.measure import WarmUp, columns_of
from caveat.measure.windows import steady_from, window_of
from tests.measure.samples import samples


def window(table, warmup=None):
    return window_of(columns_of(table), warmup)


def test_requests_stand_in_the_order_in_which_they_were_due():
    """Samples come in order of their end; the window puts them right."""
    found = window(samples([3.0, 1.0, 2.0], [0.1, 9.0, 0.5]))
    assert found.rows.tolist() == [1, 2, 0]
    assert (found.start_ns, found.last_due_ns, found.last_end_ns) == (1e9, 3e9, 10e9)


@pytest.mark.parametrize(
    ("rule", "left", "words"),
    [
        (None, 100, "none"),
        (WarmUp(first_s=2.0), 80, "requests due in the first 2 s"),
        (WarmUp(first_requests=30), 70, "the first 30 requests"),
        (WarmUp(first_s=0.0), 100, "requests due in the first 0 s"),
    ],
)
def test_a_fixed_rule_cuts_by_due_time_and_says_so(rule, left, words):
    """A request that was due in the warm-up and ended long after it is still of the warm-up."""
    latency = np.full(100, 0.05)
    latency[0] = 60.0
    found = window(samples(np.arange(100) * 0.1, latency), rule)
    assert (len(found.rows), found.warmup, found.steady) == (left, words, None)


def test_what_the_run_marked_is_left_out_and_counted():
    """Rows of other phases are not measured, and the words say how many there were."""
    phase = ["warmup"] * 10 + ["measured"] * 25 + ["drain"] * 5
    found = window(samples(np.arange(40), 0.5, phase=phase))
    assert found.rows.tolist() == list(range(10, 35))
    assert found.warmup == "none; 15 requests that the run itself marked as not measured"


def test_failures_are_measured_requests_that_did_not_succeed():
    """They stay in the window; so does one whose end is not known, as no success."""
    table = samples([0, 1, 2], 0.5, error_class=[None, "timeout", None], end_ns=[1, 2, None])
    assert window(table).ok.tolist() == [True, False, False]


@pytest.mark.parametrize("rule", [WarmUp(first_requests=5), WarmUp(first_s=100.0)])
def test_a_rule_that_leaves_nothing_cannot_say(rule):
    """The message names the rule."""
    with pytest.raises(CannotSayError, match="first"):
        window(samples(np.arange(5), 0.5), rule)


def test_samples_without_a_measured_request_cannot_say():
    """All were warm-up."""
    with pytest.raises(CannotSayError, match="no request was measured"):
        window(samples([0.0], 0.5, phase=["warmup"]))


@pytest.mark.parametrize(
    "amounts", [{}, {"first_s": 1.0, "until_steady": True}, {"first_s": -1.0}, {"first_requests": -1}]
)
def test_a_rule_is_exactly_one_of_the_three(amounts):
    """None, two or a negative one is refused."""
    with pytest.raises(UsageError, match="warm-up"):
        WarmUp(**amounts)


@pytest.mark.parametrize("seed", range(5))
def test_a_start_that_is_slow_is_cut_about_where_it_ends(seed):
    """The first 300 of 3,000 latencies decay from five times the rest: the cut falls where the rest begins."""
    rng = np.random.default_rng(seed)
    latency = 1 + rng.exponential(0.2, 3000)
    latency[:300] += 5 * np.exp(-np.arange(300) / 100)
    cut = steady_from(latency)
    assert cut is not None
    assert 150 <= cut <= 600


def test_a_series_that_still_moves_has_no_steady_state():
    """A queue that grows to the end: nothing is left out, and the window says that none was found."""
    growing = np.linspace(1, 50, 2000)
    assert steady_from(growing) is None
    found = window(samples(np.arange(2000), growing), WarmUp(until_steady=True))
    assert (len(found.rows), found.steady) == (2000, False)
    assert found.warmup == "MSER-5 found no steady state, nothing left out"


@given(st.lists(st.floats(0, 1e12), max_size=400))
def test_the_cut_lies_in_the_first_half_or_nowhere(values):
    """Whatever the series; a multiple of five."""
    cut = steady_from(np.array(values))
    assert cut is None or (cut % 5 == 0 and 0 <= cut <= len(values) // 2)


def test_the_steady_rule_counts_failures_but_looks_at_successes():
    """The cut is a place among all requests, found on the latencies of those that succeeded."""
    rng = np.random.default_rng(4)
    latency = 1 + rng.exponential(0.1, 2000)
    latency[:200] += 10
    errors = ["refused" if place % 2 else None for place in range(2000)]
    found = window(samples(np.arange(2000), latency, error_class=errors), WarmUp(until_steady=True))
    assert found.steady is True
    assert 200 <= found.rows[0] <= 260
