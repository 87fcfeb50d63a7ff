"""Failures: what is lost, who tries again where, and how often replicas fail by chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.failures import Failures, Outage
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import MS, Columns, affine, serve
from tests.simulator.strategies import plans, schedulers, step_times

FLAT = affine(10)


@settings(max_examples=25, deadline=None)
@given(step_times, schedulers(longest=100), plans(), st.sampled_from(sorted(ROUTERS)))
def test_nothing_that_fails_changes_nothing(step_time, scheduler, plan, router):
    """No outages and none by chance; or long after the run, which then ends no later."""
    routing = Routing(router=router)
    plain = serve(SimulatedServer(step_time, scheduler, replicas=2, routing=routing), plan)
    late = Failures(outages=(Outage(replica=0, at_s=1e6, for_s=1.0),), mean_between_s=1e12)
    for failures in (Failures(), late):
        served = serve(SimulatedServer(step_time, scheduler, replicas=2, routing=routing, failures=failures), plan)
        assert served.table.equals(plain.table)
        assert served.internals == plain.internals


def test_what_was_on_it_begins_again_elsewhere():
    """Two requests of 50 ms on two replicas; one fails at 25 ms: its request takes 50 ms from there, with the other."""
    failures = Failures(outages=(Outage(replica=1, at_s=0.025),))
    served = serve(SimulatedServer(FLAT, replicas=2, failures=failures), Columns([0, 0], [1, 1], [5, 5]))
    assert served.s("end_ns").tolist() == [0.05, 0.08]  # it joins at the boundary after 25 ms
    assert served.s("first_token_ns").tolist() == [0.01, 0.04]
    assert (served.internals.failures, served.internals.retried, served.internals.lost) == (1, 1, 0)


@pytest.mark.parametrize(("at_ms", "whole"), [(29, 2), (30, 3), (31, 3)])
def test_whole_steps_before_a_failure_count(at_ms, whole):
    """A run of steps that is broken off amid its third, at its end, or amid the fourth; as step by step."""
    failures = Failures(outages=(Outage(replica=0, at_s=at_ms / 1e3),), retries=0)
    for stepping in (False, True):
        served = serve(SimulatedServer(FLAT, failures=failures, stepping=stepping), Columns([0], [1], [9]))
        assert served.internals.steps == whole
        assert served.internals.busy_share == pytest.approx(whole * 10 / at_ms)


def test_a_replica_that_is_down_does_not_fail_again():
    """Two outages that overlap are one failure, and end with the first repair."""
    outages = (Outage(replica=0, at_s=0.5, for_s=1.0), Outage(replica=0, at_s=0.7, for_s=0.1))
    plan = Columns(np.arange(10) * 100 * MS, [1] * 10, [1] * 10)
    served = serve(SimulatedServer(FLAT, failures=Failures(outages=outages)), plan)
    assert served.internals.failures == 1
    refused = [error is not None for error in served.table["error_class"].to_pylist()]
    assert refused == [False] * 5 + [True] * 3 + [False] * 2


def test_after_its_retries_a_request_is_lost_and_a_sample():
    """No retry: it fails when its replica fails."""
    failures = Failures(outages=(Outage(replica=1, at_s=0.025),), retries=0)
    served = serve(SimulatedServer(FLAT, replicas=2, failures=failures), Columns([0, 0], [1, 1], [5, 5]))
    assert served.table["error_class"].to_pylist() == [None, "reset-mid-stream"]
    row = served.table.slice(1, 1).to_pylist()[0]
    assert (row["end_ns"], row["first_token_ns"], row["output_tokens_usage"]) == (25 * MS, None, None)
    assert "replica failed" in row["error_text"]
    assert served.internals.lost == 1


def test_while_nobody_is_there_requests_are_refused():
    """One replica, away from 1 s to 2 s."""
    failures = Failures(outages=(Outage(replica=0, at_s=1.0, for_s=1.0),))
    served = serve(SimulatedServer(FLAT, failures=failures), Columns(np.arange(4) * 700 * MS, [1] * 4, [1] * 4))
    assert served.table["error_class"].to_pylist() == [None, None, "http-503", None]


def test_a_cache_is_lost():
    """The same prompt before and after."""
    failures = Failures(outages=(Outage(replica=0, at_s=1.0, for_s=0.0),))
    scheduler = Scheduler(prefix_cache=True, block_tokens=8)
    plan = Columns(np.arange(4) * 700 * MS, [32] * 4, [1] * 4, prefixes=[[1, 2, 3, 4]] * 4, block_tokens=8)
    served = serve(SimulatedServer(FLAT, scheduler, failures=failures), plan)
    assert served.ints("cached_tokens_usage").tolist() == [0, 24, 0, 24]


def test_by_chance_a_replica_is_away_for_its_share_of_the_time():
    """Mean time to failure 3 s, to repair 1 s, 20 replicas of which each request sees one: a quarter of the time away;
    the share of refusals over 2,000 s is that within five standard errors of its renewals."""
    failures = Failures(mean_between_s=3.0, mean_repair_s=1.0, seed=5)
    count = 40_000
    plan = Columns(np.arange(count) * 50 * MS, np.ones(count), np.ones(count))
    served = serve(SimulatedServer(affine(1), failures=failures), plan)
    away = served.internals.refused / count
    assert away == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / (2000 / 2)))
    assert served.internals.failures == pytest.approx(500, abs=5 * np.sqrt(500))


def test_replicas_fail_by_themselves():
    """Streams by replica: another replica more changes nothing for the first."""
    settings_of = {"mean_between_s": 0.5, "mean_repair_s": 0.2, "seed": 1}
    plan = Columns(np.arange(300) * 10 * MS, np.ones(300), np.ones(300))
    few = serve(SimulatedServer(affine(1), replicas=1, failures=Failures(**settings_of)), plan)
    again = serve(SimulatedServer(affine(1), replicas=1, failures=Failures(**settings_of)), plan)
    other = serve(SimulatedServer(affine(1), replicas=1, failures=Failures(**{**settings_of, "seed": 2})), plan)
    assert few.table.equals(again.table) and not few.table.equals(other.table)


def test_settings_out_of_range_are_refused():
    """With the name of the setting, or the replica that there is not."""
    for wrong in ({"mean_between_s": 0.0}, {"mean_repair_s": -1.0}, {"retries": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Failures(**wrong)
    with pytest.raises(InputError, match="at_s"):
        Outage(replica=0, at_s=float("nan"))
    with pytest.raises(InputError, match="replica: found 3, expected below 1"):
        serve(SimulatedServer(FLAT, failures=Failures(outages=(Outage(replica=3, at_s=0),))), Columns([0], [1], [1]))
