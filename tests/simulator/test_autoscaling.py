"""Autoscaling: its limits are fixed fleets; in between, what is ordered when, and what is paid for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.autoscaling import Autoscaling
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.failures import Failures, Outage
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import MS, Columns, S, affine, poisson, serve
from tests.simulator.strategies import plans, schedulers, step_times

FLAT = affine(10)
LEAST = Routing(router="least-outstanding")


@settings(max_examples=25, deadline=None)
@given(step_times, schedulers(longest=100), plans(), st.sampled_from(sorted(ROUTERS)), st.booleans())
def test_with_nothing_to_scale_it_is_a_fixed_fleet(step_time, scheduler, plan, router, all_are_needed):
    """As many as there are from the start; or new ones that would come after the run."""
    routing = Routing(router=router)
    fixed = serve(SimulatedServer(step_time, scheduler, replicas=2, routing=routing), plan)
    scaling = Autoscaling(
        target_outstanding=0.1, min_replicas=2, every_s=0.02, provisioning_s=1e9, down_after_s=1e9 * all_are_needed
    )
    scaled = serve(
        SimulatedServer(step_time, scheduler, replicas=2 + all_are_needed, routing=routing, autoscaling=scaling), plan
    )
    assert scaled.ints("end_ns").tolist() == fixed.ints("end_ns").tolist()
    assert scaled.internals.span_s == fixed.internals.span_s


def test_a_burst_orders_replicas_that_come_after_their_provisioning():
    """Six long requests on one seat each: looked at after 1 s, six are wanted, ready at 3 s; the next six find them."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=2, down_after_s=1e6)
    at_ns = [0] * 6 + [2 * S] * 2 + [4 * S] * 4
    plan = Columns(at_ns, [1] * 12, [1000] * 12)
    server = SimulatedServer(FLAT, Scheduler(max_num_seqs=1), replicas=6, routing=LEAST, autoscaling=scaling)
    served = serve(server, plan)
    waited = served.ttft_s() > 0.011
    assert waited.tolist() == [False] + [True] * 7 + [False] * 4
    assert (served.internals.ordered, served.internals.given_up) == (5, 0)
    assert served.internals.replica_s == pytest.approx(6 * served.internals.span_s - 5 * 1)


def test_replicas_are_given_back_when_nothing_was_wanted_for_a_while():
    """Two replicas for a burst; one is given up at the first look at which the whole window was quiet."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=0, down_after_s=3)
    plan = Columns([0, 0, 30 * S], [1] * 3, [150, 150, 1])
    served = serve(SimulatedServer(FLAT, replicas=2, routing=LEAST, autoscaling=scaling), plan)
    inside = served.internals
    assert (inside.ordered, inside.given_up) == (1, 1)
    # ordered at 1 s, both end at 1.5 s; the look at 1 s leaves the window after 4 s, so the look at 5 s gives it up
    assert inside.replica_s == pytest.approx(inside.span_s + 4)


def test_who_is_on_a_replica_that_is_given_up_is_served_to_the_end():
    """One of three empty replicas' worth is wanted; nobody is lost, and a draining replica takes nobody new."""
    rng = np.random.default_rng(3)
    scaling = Autoscaling(target_outstanding=4, every_s=0.2, provisioning_s=0.1, down_after_s=0.2)
    at_ns = np.sort(np.concatenate([poisson(rng, 200, 400), 2 * S + poisson(rng, 5, 40)]))
    plan = Columns(at_ns, rng.integers(1, 9, 440), rng.integers(1, 90, 440))
    server = SimulatedServer(
        affine(10, 0, 1), Scheduler(max_num_seqs=8), replicas=8, routing=LEAST, autoscaling=scaling
    )
    served = serve(server, plan)
    assert served.table["error_class"].null_count == 440
    inside = served.internals
    assert inside.ordered > 3 and inside.given_up > 3
    assert inside.span_s < inside.replica_s < 8 * inside.span_s


def test_a_replica_that_was_off_comes_back_with_an_empty_cache():
    """The same prompt before and after it was given up: computed twice."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=0, down_after_s=0)
    scheduler = Scheduler(prefix_cache=True, block_tokens=8)
    plan = Columns([0, 1500 * MS, 10 * S, 11500 * MS], [32] * 4, [200] * 4, prefixes=[[1, 2, 3, 4]] * 4, block_tokens=8)
    one = serve(SimulatedServer(FLAT, scheduler, autoscaling=scaling), plan)
    assert one.ints("cached_tokens_usage").tolist() == [0, 24, 24, 24]
    burst = Columns(
        [0, 0, 1500 * MS, 20 * S, 20 * S, 21500 * MS], [32] * 6, [300] * 6, prefixes=[[1] * 4] * 6, block_tokens=8
    )
    two = serve(SimulatedServer(FLAT, scheduler, replicas=2, routing=LEAST, autoscaling=scaling), burst)
    assert two.ints("cached_tokens_usage")[[2, 5]].tolist() == [0, 0]
    assert two.internals.given_up == 2


def test_a_failed_replica_is_replaced_by_another():
    """Two of three under way; one fails, the third takes its place at the next look and is paid for from then."""
    scaling = Autoscaling(target_outstanding=10, min_replicas=2, every_s=1, provisioning_s=0, down_after_s=1e6)
    fails = Failures(outages=(Outage(replica=0, at_s=1.5),))
    plan = Columns(np.arange(100) * 100 * MS, [1] * 100, [2] * 100)
    served = serve(SimulatedServer(FLAT, replicas=3, autoscaling=scaling, failures=fails), plan)
    assert served.internals.ordered == 1
    assert served.internals.replica_s == pytest.approx(2 * served.internals.span_s)


def test_of_equally_idle_replicas_the_last_is_given_up():
    """Two for a burst; at 2 s both are idle: the first stays, with what is in its cache."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=0, down_after_s=0)
    scheduler = Scheduler(prefix_cache=True, block_tokens=8)
    ids = [[1] * 4, [1] * 4, [2] * 4, [1] * 4]
    plan = Columns([0, 0, 1500 * MS, 10 * S], [33] * 4, [200, 200, 50, 1], prefixes=ids, block_tokens=8)
    served = serve(SimulatedServer(FLAT, scheduler, replicas=2, routing=LEAST, autoscaling=scaling), plan)
    assert served.ints("cached_tokens_usage").tolist() == [0, 0, 0, 32]
    assert (served.internals.ordered, served.internals.given_up) == (1, 1)


def test_of_those_that_are_not_ready_the_last_ordered_is_given_up():
    """One is ordered at 1 s and one at 2 s; at 3 s one is wanted less. The first is ready at 6 s, and whoever comes
    then begins at once, not at the next boundary of the busy one."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=5, down_after_s=0)
    plan = Columns([0, 0, 1500 * MS, 6505 * MS], [1] * 4, [1000, 1000, 90, 1])
    served = serve(SimulatedServer(FLAT, replicas=3, routing=LEAST, autoscaling=scaling), plan)
    assert served.s("first_token_ns")[3] == 6.515
    assert served.internals.ordered == 2


def test_who_is_ordered_again_is_ready_after_its_second_order():
    """Ordered at 1 s, given up at 2, ordered again at 3: at 6.5 s it is not there yet, at 8.5 it is."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=5, down_after_s=0)
    plan = Columns([0, 0, 2500 * MS, 6505 * MS, 8505 * MS], [1] * 5, [1000, 120, 1000, 1, 1])
    served = serve(SimulatedServer(FLAT, replicas=2, routing=LEAST, autoscaling=scaling), plan)
    assert served.s("first_token_ns")[3:].tolist() == [6.52, 8.515]


@pytest.mark.parametrize("more", [1, 3])
def test_a_draining_replica_counts_what_it_has_and_is_not_ordered(more):
    """Two under way for each replica. The second is given up at 2 s with a long request on it; then more come: with
    one more than two are under way and the third replica is ordered, with three more there is no other to order."""
    scaling = Autoscaling(target_outstanding=2, every_s=1, provisioning_s=0, down_after_s=0)
    at_ns = [0, 0, 0, 1500 * MS, *[2500 * MS] * more]
    plan = Columns(at_ns, [1] * len(at_ns), [1000, 120, 120, 1000, *[60] * more])
    served = serve(SimulatedServer(FLAT, replicas=3, routing=LEAST, autoscaling=scaling), plan)
    assert served.internals.ordered == 2


def test_a_replica_that_fails_while_it_is_made_ready_is_not_there():
    """Ordered at 1 s, failed at 2; at 3.5 s whoever comes goes to the busy one, at its next boundary."""
    scaling = Autoscaling(target_outstanding=1, every_s=1, provisioning_s=2)
    fails = Failures(outages=(Outage(replica=1, at_s=2.0),))
    plan = Columns([0, 0, 3505 * MS], [1] * 3, [1000, 1000, 1])
    server = SimulatedServer(FLAT, replicas=2, routing=LEAST, autoscaling=scaling, failures=fails)
    assert serve(server, plan).s("first_token_ns")[2] == 3.52


def test_a_replica_that_nobody_ordered_is_not_there_after_its_repair():
    """It fails while it is off and is repaired: the second of two requests still waits for the first."""
    scaling = Autoscaling(target_outstanding=100, every_s=10)
    fails = Failures(outages=(Outage(replica=1, at_s=0.5, for_s=0.1),))
    server = SimulatedServer(
        FLAT, Scheduler(max_num_seqs=1), replicas=2, routing=LEAST, autoscaling=scaling, failures=fails
    )
    assert serve(server, Columns([S, S], [1, 1], [2, 2])).s("end_ns").tolist() == [1.02, 1.04]


def test_settings_out_of_range_are_refused():
    """With the name of the setting."""
    wrongs = ({"target_outstanding": 0.0}, {"min_replicas": 0}, {"every_s": 0.0}, {"provisioning_s": float("inf")})
    for wrong in wrongs:
        with pytest.raises(InputError, match=next(iter(wrong))):
            Autoscaling(**({"target_outstanding": 1.0} | wrong))


def test_a_replica_is_kept_while_its_blocks_are_on_their_way():
    """A prefill pool scaled down in the middle of a transfer: what was handed over is let go of afterwards."""
    server = SimulatedServer(
        affine(1),
        Scheduler(max_num_seqs=1, token_budget=1, chunked_prefill=False, block_tokens=1, prefix_cache=True),
        replicas=3,
        routing=Routing(router="least-outstanding"),
        disaggregation=Disaggregation(prefill_replicas=2, link_bytes_per_s=1e8, kv_bytes_per_token=1e5),
        autoscaling=Autoscaling(target_outstanding=0.5, every_s=0.01, provisioning_s=0.0, down_after_s=0.0),
    )
    plan = Columns(
        [0] * 14 + [10 * MS], [1] * 14 + [9], [1] * 14 + [2], prefixes=[[] for _ in range(14)] + [[0]], block_tokens=8
    )
    served = serve(server, plan)
    assert np.isfinite(served.s("last_token_ns")).all()
    assert served.internals.transfers == 1
