"""Outcome, search and changed plans: percentiles are those of measure, and the search finds what is there."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CannotSayError, UsageError
from caveat.measure import Kept, Slo, summarize
from caveat.simulator.changed_plans import Independent, OneShape, Sped
from caveat.simulator.outcome import highest, times_of
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer, VirtualClock
from tests.simulator.plans import Columns, S, affine, poisson

RNG = np.random.default_rng(1)
PLAN = Columns(poisson(RNG, 20, 1500), RNG.integers(1, 60, 1500), RNG.integers(1, 40, 1500))


def server():
    return SimulatedServer(affine(10, 0.1, 1), Scheduler(max_num_seqs=16))


def test_percentiles_are_those_of_measure():
    """One code makes figures of samples; this one only agrees with it."""
    sink = Kept()
    server().offer(PLAN, sink, VirtualClock())
    summary = summarize(sink.table(), workload={"loop": "open"})
    found = times_of(server(), PLAN).outcome()
    for name, values in (("ttft", found.ttft_s), ("tpot-usage", found.tpot_s), ("latency", found.latency_s)):
        for percentile in ("p50", "p95"):
            row = summary.row(f"caveat-{name}.{percentile}")
            assert getattr(values, percentile) == pytest.approx(row.value, rel=1e-12)
    assert found.tpot_s.p99 == pytest.approx(summary.row("caveat-tpot-usage.p99").value, rel=1e-12)
    assert found.failed == 0 and found.drain_s < 2


def test_failures_are_never():
    """One request in four is refused: no p95 of TTFT, and limits are missed."""
    refusing = SimulatedServer(affine(10), limit=3)
    times = times_of(refusing, Columns([0] * 4, [1] * 4, [5] * 4))
    assert times.outcome().failed == 1
    assert (times.outcome().ttft_s.p50, times.outcome().ttft_s.p95) == (0.01, None)
    assert times.keeps(Slo(ttft_s=1.0, percentile="p50")) and not times.keeps(Slo(ttft_s=1.0, percentile="p95"))


def test_answers_of_one_token_have_no_tpot_to_miss():
    """As in goodput."""
    times = times_of(server(), Columns([0, 1], [5, 5], [1, 1]))
    assert times.keeps(Slo(tpot_s=1e-9))
    assert times.outcome().tpot_s.p50 is None


@given(st.floats(0.001, 1000), st.floats(0.1, 10))
def test_the_search_finds_a_step(edge, start):
    """Within its tolerance below the edge."""
    found = highest(lambda rate: rate <= edge, start)
    if found is None or found.at_least:
        assert edge < start / 2**10 or edge > start * 2**10
    else:
        assert found.rate_per_s <= edge < found.rate_per_s * 1.0101


def test_the_search_knows_its_ends():
    """Nothing slower keeps them; nothing faster may be tried."""
    assert highest(lambda rate: False, 1.0) is None
    found = highest(lambda rate: True, 0.7, most=1.0)
    assert (found.rate_per_s, found.at_least) == (1.0, True)


def test_one_seat_fills_up_at_its_capacity():
    """Requests of 100 ms one at a time: a mean wait below 0.4 s is M/D/1 at a load near 8/9, found by bisection."""
    count = 8_000
    plan = Columns(poisson(np.random.default_rng(3), 1, count), np.ones(count), np.full(count, 10))
    seat = SimulatedServer(affine(10), Scheduler(max_num_seqs=1))

    def keeps(rate):
        return times_of(seat, Sped(plan, rate)).ttft_s().mean() - 0.01 <= 0.4

    assert highest(keeps, 5.0).rate_per_s == pytest.approx(10 * 8 / 9, rel=0.03)


def test_changed_plans_keep_numbers_and_change_one_thing():
    """Twice as fast; all alike with the same tokens in sum; as many in the same time at other times."""
    plan = dataclasses.replace(PLAN, block_requests=400, prefixes=[[1]] * 1500, block_tokens=8)
    before = _columns(plan)
    sped, alike, independent = _columns(Sped(plan, 2.0)), _columns(OneShape(plan)), _columns(Independent(plan, 7))
    assert np.abs(sped[0] * 2 - before[0]).max() <= 1 and (sped[1:] == before[1:]).all()
    assert (alike[0] == before[0]).all() and len(set(alike[1])) == len(set(alike[2])) == 1
    assert alike[1:].sum() == pytest.approx(before[1:].sum(), rel=0.03)
    assert OneShape(plan).block_tokens == 0 and Sped(plan, 2.0).block_tokens == 8
    assert (independent[1:] == before[1:]).all() and (np.diff(independent[0]) >= 0).all()
    assert before[0][0] <= independent[0][0] and independent[0][-1] <= before[0][-1]
    assert (_columns(Independent(plan, 7)) == independent).all()
    gaps = np.diff(_columns(Independent(Columns(np.arange(20_000) * S, [1] * 20_000, [1] * 20_000), 1))[0])
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.04)


def _columns(plan):
    blocks = list(plan.blocks())
    return np.array(
        [np.concatenate([getattr(b, n) for b in blocks]) for n in ("at_ns", "input_tokens", "output_tokens")]
    )


def test_what_waits_for_others_has_no_independent_arrivals():
    """And a plan without requests has no times."""
    with pytest.raises(UsageError, match="wait for others"):
        list(Independent(Columns([0, 0], [1, 1], [1, 1], after=[-1, 0], think_ns=[0, 0]), 1).blocks())
    with pytest.raises(CannotSayError, match="without requests"):
        times_of(server(), Columns([], [], []))
