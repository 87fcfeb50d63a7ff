"""Truth: lags, the bounded log, and the log as others read it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import Lag, Truth, read_log
from caveat.loopback.truth import TruthLog, Witness, lag_of


def truth(number, outcome="done"):
    return Truth(number=number, path="/x", stream=True, connection=0, arrival_ns=1, end_ns=2, outcome=outcome)


@given(st.lists(st.integers(-100, 10**9), min_size=1))
def test_percentiles_of_lag_are_observed_values_that_cover_their_share(lags):
    """At least half, and 99 in a hundred, are no larger."""
    lag = lag_of(lags)
    assert lag is not None
    assert (lag.writes, lag.max_ns) == (len(lags), max(lags))
    for value, share in ((lag.p50_ns, 0.5), (lag.p99_ns, 0.99)):
        assert value in lags
        assert sum(one <= value for one in lags) >= share * len(lags)
        assert sum(one < value for one in lags) < share * len(lags)


def test_there_is_no_lag_of_nothing():
    """Unknown, not zero."""
    assert lag_of([]) is None
    assert TruthLog(1).lag() is None


def test_a_witness_keeps_the_first_and_the_last_write():
    """Each with its deadline; stamps never run backwards."""
    witness = Witness()
    for due_ns in (5, 6, 7):
        witness.note(due_ns)
    assert (witness.first_due_ns, witness.last_due_ns) == (5, 7)
    assert witness.first_write_ns is not None and witness.last_write_ns is not None
    assert witness.first_write_ns <= witness.last_write_ns
    assert witness.lags[0] == witness.first_write_ns - 5
    assert witness.lags[2] == witness.last_write_ns - 7


def test_the_log_holds_the_newest_and_says_how_many_there_were():
    """A head line, then a line a request."""
    log = TruthLog(2)
    for number in range(3):
        log.add(truth(number, "gone" if number else "done"), [number])
    head, *_ = log.lines().splitlines()
    assert json.loads(head) == {
        "format": "caveat-loopback-log/1",
        "clock": "CLOCK_MONOTONIC",
        "requests": 3,
        "kept": 2,
        "lag": {"writes": 3, "p50_ns": 1, "p99_ns": 2, "max_ns": 2},
    }
    assert read_log(log.lines()) == log.kept() == (truth(1, "gone"), truth(2, "gone"))
    assert log.outcomes == {"done": 1, "gone": 2}


def test_a_log_that_was_cleared_is_empty():
    """What is counted for metrics goes on."""
    log = TruthLog(2)
    log.add(truth(0), [1])
    log.clear()
    assert (log.kept(), log.lag(), log.total, log.outcomes["done"]) == ((), None, 0, 1)


@pytest.mark.parametrize("lag", [None, Lag(1, 2, 3, 4)])
def test_a_truth_goes_through_the_log_unchanged(lag):
    """Also what did not happen."""
    log = TruthLog(5)
    one = Truth(number=3, path="/x", stream=False, connection=2, arrival_ns=1, end_ns=2, outcome="done", lag=lag)
    log.add(one)
    assert read_log(log.lines()) == (one,)
