"""arrivals: whether what was sent is what was planned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.measure import Client, summarize
from caveat.measure.arrivals import gap_distance
from tests.measure.samples import samples

RNG = np.random.default_rng(11)
POISSON = np.cumsum(RNG.exponential(0.1, 2000))


def checks(table, client=None, **workload):
    found = summarize(table, workload=workload, client=client)
    return [(check.outcome, check.sentence) for check in found.validity if check.aspect == "arrivals"]


def sent(moments):
    return np.round(np.asarray(moments) * 1e9).astype(np.int64)


def test_a_plan_that_was_kept_passes():
    """Number, lateness and gaps; half a millisecond of jitter is nobody's fault."""
    table = samples(POISSON, 0.5, sent_ns=sent(POISSON + RNG.uniform(0, 0.0005, 2000)))
    found = checks(table, Client(planned=2000))
    assert [outcome for outcome, _ in found] == ["pass"] * 4
    assert found[0][1] == "2,000 requests were fed and 2,000 have a sample."
    assert found[1][1] == "Of 2,000 requests that were due 2,000 were sent; 0 were forgotten."


def test_constant_that_is_really_poisson_is_found_by_its_gaps():
    """A timer that promises an even rate and draws exponential gaps."""
    due = np.arange(2000) * 0.1
    found = checks(samples(due, 30.0, sent_ns=sent(due[0] + POISSON - POISSON[0])))
    assert found[-1][0] == "fail"
    assert "cv 0.00 and" in found[-1][1]


def test_constant_with_the_jitter_of_any_timer_is_constant():
    """A plain Kolmogorov-Smirnov distance would be one half."""
    due = np.arange(2000) * 0.1
    found = checks(samples(due, 0.5, sent_ns=sent(due + RNG.uniform(0, 0.0009, 2000))))
    assert found[-1][0] == "pass"


def test_a_rate_that_was_not_delivered_is_late():
    """Asked for ten a second, sent half as many: each is later than the one before."""
    due = np.arange(200) * 0.1
    found = checks(samples(due, 100.0, sent_ns=sent(due * 2), first_token_ns=sent(due * 2 + 0.1)))
    assert ("fail" in found[1][0], "p99 of sent after due is 19.7 s" in found[1][1]) == (True, True)


def test_a_request_without_a_sample_is_missed():
    """1,000 fed, 999 samples: totals do not add up."""
    outcome, sentence = checks(samples(POISSON[:999], 0.5), Client(planned=1000))[0]
    assert (outcome, sentence) == ("fail", "1,000 requests were fed and 999 have a sample.")


def test_who_could_not_be_sent_is_a_failure_and_who_was_not_is_forgotten():
    """A refused connection has a class; a success that was never sent cannot be."""
    moments = [None, *sent(POISSON[1:50]).tolist()]
    refused = checks(samples(POISSON[:50], 0.5, sent_ns=moments, error_class=["refused"] + [None] * 49))
    assert refused[0] == ("pass", "Of 50 requests that were due 49 were sent; 0 were forgotten.")
    forgotten = checks(samples(POISSON[:50], 0.5, sent_ns=moments))
    assert forgotten[0] == ("fail", "Of 50 requests that were due 49 were sent; 1 were forgotten.")


@pytest.mark.parametrize(("held", "outcome"), [(8, "pass"), (2, "fail")])
def test_a_closed_loop_must_hold_what_was_asked(held, outcome):
    """Eight were asked for; a client that keeps two in flight made another test."""
    due = np.arange(400) / held
    found = checks(samples(due, 1.0, scheduled_ns=[None] * 400), concurrency=8)
    assert found[0][0] == outcome
    assert "8 were asked for" in found[0][1]


def test_a_closed_loop_without_a_number_has_no_plan():
    """Not applicable is no verdict."""
    assert checks(samples(np.arange(50), 0.5, scheduled_ns=[None] * 50))[0][0] == "not applicable"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.lists(st.floats(0, 100), min_size=1, max_size=60))
def test_the_distance_without_slack_is_that_of_kolmogorov_and_smirnov(one, other):
    """And with any slack it is no greater."""
    one, other = np.array(one), np.array(other)
    points = np.concatenate((one, other))
    expected = max(abs(np.mean(one <= x) - np.mean(other <= x)) for x in points)
    assert gap_distance(one, other, 0.0) == pytest.approx(expected)
    assert gap_distance(one, other, 5.0) <= expected + 1e-12


@pytest.mark.parametrize(("late_s", "outcome"), [(0.004, "pass"), (0.060, "fail")])
def test_one_late_request_of_ten_is_no_other_arrival_process(late_s, outcome):
    """It moves two of nine gaps. Whether it was too late is told by the lateness alone."""
    due = np.arange(10) * 0.05
    moved = due + np.where(np.arange(10) == 4, late_s, 0)
    found = checks(samples(due, 0.1, sent_ns=sent(moved), first_token_ns=sent(due + 0.09)))
    assert [found[1][0], found[2][0]] == [outcome, "pass"]


def test_a_burst_is_judged_by_how_soon_all_of_it_had_left():
    """Requests that are due at once cannot all leave at once; the server must not wait for the client though."""
    due = np.zeros(1000)
    quick = checks(samples(due, 10.0, sent_ns=sent(np.linspace(0, 0.5, 1000))))
    slow = checks(samples(due, 10.0, sent_ns=sent(np.linspace(0, 4.0, 1000))))
    assert [found[-1][0] for found in (quick, slow)] == ["pass", "fail"]
    assert "the last left after 4 s, 40.0% of the run" in slow[-1][1]
