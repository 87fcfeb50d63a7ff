"""What a probe says: counted without its start, at the rate that its arrivals had, and certified only when whole."""

import math

import numpy as np
import pytest

from caveat.measure import PeakAsk, PeakGoal, PeakProbe, queries_needed
from caveat.measure.peak_estimate import Crossing, Seen
from caveat.measure.peak_evidence import oddities, row_of, seen_of

GOAL = PeakGoal(start_qps=10.0)


def ask_of(queries, purpose="estimate"):
    return PeakAsk(number=3, purpose=purpose, rate_qps=10.0, queries=queries, seed=7)


def probe_of(over, *, span_s=None, wait_s=0.0):
    flags = np.asarray(over, dtype=bool)
    return PeakProbe(over=flags, span_s=len(flags) / 10 if span_s is None else span_s, latency_s=0.1, wait_s=wait_s)


def test_the_start_of_a_probe_is_left_out():
    """An empty system flatters; of a long backlog at most a quarter goes."""
    over = np.arange(1000) < 100
    assert seen_of(ask_of(1000), probe_of(over)).queries == 950
    assert seen_of(ask_of(1000), probe_of(over)).over == 50
    assert seen_of(ask_of(1000), probe_of(over, wait_s=1e3)).queries == 750
    assert [seen_of(ask_of(1000, purpose), probe_of(over)).long for purpose in ("bracket", "estimate")] == [False, True]


@pytest.mark.parametrize(
    ("queries", "span_s", "rate_qps"),
    [(1001, 99.0, 1000 / 99.0), (1001, 50.0, 10.0), (1001, 0.0, 10.0), (999, 99.0, 10.0)],
)
def test_the_rate_is_that_of_the_arrivals_where_chance_made_it(queries, span_s, rate_qps):
    """A few per cent are chance; half is a shape, and a short probe says nothing of it."""
    found = seen_of(ask_of(queries), probe_of(np.zeros(queries), span_s=span_s))
    assert math.exp(found.log_rate) == pytest.approx(rate_qps)


def test_a_row_is_certified_when_whole_hopeful_and_long_enough():
    """One query less, one that was cut short, or more over than allowed: none of them is."""
    enough = queries_needed(0.99, 0)
    rows = [
        row_of(ask_of(enough), probe_of(np.zeros(enough)), GOAL),
        row_of(ask_of(enough - 1), probe_of(np.zeros(enough - 1)), GOAL),
        row_of(ask_of(enough + 1), probe_of(np.zeros(enough)), GOAL),
        row_of(ask_of(enough), probe_of(np.arange(enough) % 50 == 0), GOAL),
    ]
    assert [row.certified for row in rows] == [True, False, False, False]
    assert (rows[0].number, rows[0].seed, rows[0].queries, rows[0].over) == (3, 7, enough, 0)


def seen(rate_qps, over, queries=10_000):
    return Seen(log_rate=math.log(rate_qps), queries=queries, over=over, dispersion=1.0, backlog=0.0, long=True)


def test_fewer_over_at_a_higher_rate_is_odd():
    """So is scatter beyond queueing; a steady system and a search without an estimate say nothing."""
    calm = Crossing(middle=0.0, low=-0.1, high=0.1, slope=20.0, dispersion=1.0, misfit=1.0)
    wild = Crossing(middle=0.0, low=-0.1, high=0.1, slope=20.0, dispersion=1.0, misfit=3.0)
    assert oddities([seen(10, 100), seen(11, 200)], calm) == []
    (changed,) = oddities([seen(11, 100), seen(10, 300)], calm)
    assert "Fewer were over at 11 requests/s (1.00%) than at 10 (3.00%)" in changed
    assert "3.0 times more than queueing explains" in oddities([seen(10, 100)], wild)[0]
    assert oddities([seen(11, 100), seen(10, 300)], None) == []
