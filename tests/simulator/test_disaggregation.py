"""Disaggregation: alone it is one replica and a transfer; links queue; blocks are held until they have travelled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.failures import Failures, Outage
from caveat.simulator.samples import Rows
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import MS, Columns, S, affine, poisson, serve
from tests.simulator.queues import lindley
from tests.simulator.strategies import schedulers, step_times

INSTANT = Disaggregation(prefill_replicas=1, kv_bytes_per_token=0, link_bytes_per_s=1)
MS_A_TOKEN = Disaggregation(prefill_replicas=1, kv_bytes_per_token=1e6, link_bytes_per_s=1e9)


@settings(max_examples=30, deadline=None)
@given(step_times, schedulers(longest=100), st.integers(1, 40), st.integers(1, 60), st.sampled_from([0.0, 0.5]))
def test_alone_and_with_no_time_to_travel_it_is_one_replica(step_time, scheduler, prompt, output, latency_s):
    """A request alone: the same first token, and every later one a transfer later."""
    plan = Columns([0], [prompt], [output])
    one = serve(SimulatedServer(step_time, scheduler), plan)
    split = Disaggregation(prefill_replicas=1, kv_bytes_per_token=0, link_bytes_per_s=1, latency_s=latency_s)
    two = serve(SimulatedServer(step_time, scheduler, replicas=2, disaggregation=split), plan)
    assert two.ttft_s() == one.ttft_s()
    late = latency_s if output > 1 else 0.0
    assert two.e2e_s()[0] == pytest.approx(one.e2e_s()[0] + late, abs=2e-9)
    assert two.internals.transfers == (output > 1)


def test_answers_of_one_token_never_travel():
    """The prefill pool by itself is a fleet of its size."""
    rng = np.random.default_rng(1)
    plan = Columns(poisson(rng, 40, 500), rng.integers(1, 50, 500), np.ones(500))
    pool = SimulatedServer(affine(5, 0.5), replicas=2)
    split = SimulatedServer(
        affine(5, 0.5),
        replicas=5,
        disaggregation=Disaggregation(prefill_replicas=2, kv_bytes_per_token=1e9, link_bytes_per_s=1),
    )
    assert serve(split, plan).table.equals(serve(pool, plan).table)


def test_the_link_is_a_queue_of_one_server():
    """Prompts that take no time, a transfer of 1 ms a token: each waits for the link what Lindley's recursion says."""
    rng = np.random.default_rng(2)
    count = 5_000
    at_ns = poisson(rng, 7, count)
    plan = Columns(at_ns, np.full(count, 100), np.full(count, 2))
    scheduler = Scheduler(max_num_seqs=10**6)
    served = serve(SimulatedServer(affine(1e-6), scheduler, replicas=2, disaggregation=MS_A_TOKEN), plan)
    waits_s = served.e2e_s() - 0.1
    assert np.abs(waits_s - lindley(at_ns / S, np.full(count, 0.1))).max() < 1e-6
    assert served.internals.transfer_wait_s == pytest.approx(waits_s.mean(), abs=1e-6)
    assert served.internals.transferred_tokens == 100 * count


def test_two_links_carry_two_at_once():
    """Three transfers of 100 ms: with one link the last arrives after 300 ms, with two after 200."""
    plan = Columns([0] * 3, [100] * 3, [2] * 3)
    ends = {}
    for links in (1, 2):
        split = Disaggregation(prefill_replicas=1, kv_bytes_per_token=1e6, link_bytes_per_s=1e9, links=links)
        served = serve(SimulatedServer(affine(10), replicas=2, disaggregation=split), plan)
        ends[links] = served.s("end_ns").tolist()
    assert ends == {1: [0.12, 0.22, 0.32], 2: [0.12, 0.12, 0.22]}


def test_latency_holds_no_link():
    """Two prompts of a millisecond's bytes and a second of latency: the second arrives a millisecond after the first,
    and decodes from the next boundary on."""
    split = Disaggregation(prefill_replicas=1, kv_bytes_per_token=1e6, link_bytes_per_s=1e9, latency_s=1.0)
    served = serve(SimulatedServer(affine(10), replicas=2, disaggregation=split), Columns([0, 0], [1, 1], [2, 2]))
    assert served.s("end_ns").tolist() == [1.021, 1.031]
    assert served.internals.transfer_wait_s == pytest.approx(0.0005)  # a millisecond, one of two


def test_decoding_is_not_held_up_by_prompts():
    """Two prompts of 1 s while somebody decodes: together each token waits for them, apart none does."""
    plan = Columns([0, 100 * MS, 100 * MS], [1, 1000, 1000], [50, 1, 1])
    together = serve(SimulatedServer(affine(10, 1), Scheduler(token_budget=1001)), plan)
    apart = serve(SimulatedServer(affine(10, 1), replicas=2, disaggregation=INSTANT), plan)
    assert together.e2e_s()[0] > 2.4
    assert apart.e2e_s()[0] == pytest.approx(0.011 + 49 * 0.01)


def test_blocks_stay_taken_until_they_have_travelled():
    """Room for one prompt on the prefill replica: the second begins when the first has gone, 100 ms later."""
    plan = Columns([0, 0], [100, 100], [2, 2])
    scheduler = Scheduler(kv_blocks=102, block_tokens=1, token_budget=1000)
    served = serve(SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=MS_A_TOKEN), plan)
    assert served.s("first_token_ns").tolist() == [0.01, 0.12]
    assert served.s("end_ns").tolist() == [0.12, 0.23]


def test_who_finds_no_room_to_decode_waits_there():
    """Room for one sequence on the decode replica: the second decodes when the first has ended, and nobody is
    preempted; with a draft to hold the first one's room is larger."""
    plan = Columns([0, 0], [10, 10], [5, 5])
    split = Disaggregation(prefill_replicas=1, kv_bytes_per_token=0, link_bytes_per_s=1)
    for speculation in (None, Speculation(draft_tokens=2, acceptance=0.0)):
        scheduler = Scheduler(kv_blocks=21, block_tokens=1, speculation=speculation)
        served = serve(SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=split), plan)
        assert served.s("end_ns").round(9).tolist() == [0.05, 0.09]
        assert served.internals.preemptions == 0


def test_a_preempted_sequence_is_computed_again_where_it_decodes():
    """Room for both at first and not to the end: one starts over, on the decode replica."""
    plan = Columns([0, 0], [10, 10], [9, 9])
    scheduler = Scheduler(kv_blocks=24, block_tokens=1)
    served = serve(SimulatedServer(affine(10, 0.1), scheduler, replicas=2, disaggregation=INSTANT), plan)
    assert served.internals.preemptions == 1
    assert served.ints("output_tokens_usage").tolist() == [9, 9]
    assert served.internals.computed_tokens > 20


def test_who_comes_to_decode_does_not_overtake_who_lost_its_blocks():
    """The second is preempted at 30 ms and does not fit again before the first has ended, at 90. The third would fit
    at 40, and decodes after the second was computed again."""
    plan = Columns([0, 0, 25 * MS], [10, 10, 1], [9, 9, 2])
    scheduler = Scheduler(kv_blocks=24, block_tokens=1)
    served = serve(SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=INSTANT), plan)
    assert served.s("end_ns").round(9).tolist() == [0.09, 0.15, 0.11]


def test_the_decode_replica_keeps_its_watermark_free():
    """Five kept free: the second waits for the first's end, at 100 ms; with none it decodes at once."""
    plan = Columns([0, 0], [5, 10], [10, 2])
    for watermark, end_s in ((0, 0.02), (5, 0.11)):
        scheduler = Scheduler(kv_blocks=20, block_tokens=1, watermark_blocks=watermark)
        served = serve(SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=INSTANT), plan)
        assert served.s("end_ns").round(9).tolist() == [0.1, end_s]


def test_a_newcomer_needs_room_for_its_draft():
    """17 blocks: 2 and 3 for the first and its draft, 10 and 3 for the second are one too many: it waits, and nobody
    is preempted."""
    scheduler = Scheduler(kv_blocks=17, block_tokens=1, speculation=Speculation(draft_tokens=2, acceptance=0.0))
    server = SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=INSTANT)
    served = serve(server, Columns([0, 0], [2, 10], [5, 2]))
    assert served.s("end_ns").round(9).tolist() == [0.05, 0.06]
    assert served.internals.preemptions == 0


@pytest.mark.parametrize(("dies", "end_s"), [(0, 0.05), (1, 0.06)])
def test_a_replica_that_fails_takes_what_is_on_its_way_with_it(dies, end_s):
    """The transfer takes from 10 to 110 ms. Without a prefill replica the request is refused at once; without one to
    decode when its prompt was computed again."""
    plan = Columns([0], [100], [2])
    fails = Failures(outages=(Outage(replica=dies, at_s=0.05),))
    served = serve(SimulatedServer(affine(10), replicas=2, disaggregation=MS_A_TOKEN, failures=fails), plan)
    assert served.table["error_class"].to_pylist() == ["http-503"]
    assert served.s("end_ns").tolist() == [end_s]
    assert served.internals.retried == 1


def test_what_was_on_its_way_from_a_failed_replica_comes_from_another():
    """Two prefill replicas: the request begins again on the other, and its first token with it."""
    split = Disaggregation(prefill_replicas=2, kv_bytes_per_token=1e6, link_bytes_per_s=1e9)
    fails = Failures(outages=(Outage(replica=0, at_s=0.05),))
    served = serve(
        SimulatedServer(affine(10), replicas=3, disaggregation=split, failures=fails), Columns([0], [100], [2])
    )
    assert served.s("first_token_ns").tolist() == [0.06]
    assert served.s("end_ns").tolist() == [0.22]  # the link carries what was lost to its end, then 100 ms, then a step
    assert served.internals.transfers == 2


def test_with_nobody_to_decode_the_prompt_gives_its_blocks_back():
    """The only decode replica is gone: each prompt is computed and refused, also the second, which needs the blocks of
    the first."""
    fails = Failures(outages=(Outage(replica=1, at_s=0.005),))
    scheduler = Scheduler(kv_blocks=110, block_tokens=1)
    server = SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=INSTANT, failures=fails)
    served = serve(server, Columns([0, 20 * MS], [100, 100], [2, 2]))
    assert served.table["error_class"].to_pylist() == ["http-503", "http-503"]
    assert served.s("end_ns").tolist() == [0.01, 0.03]


def test_those_on_their_way_count_where_they_go():
    """Two travel for 100 ms to two decode replicas of one seat: each gets one, and neither waits."""
    split = Disaggregation(prefill_replicas=1, kv_bytes_per_token=0, link_bytes_per_s=1, latency_s=0.1)
    scheduler = Scheduler(max_num_seqs=2, token_budget=100)
    server = SimulatedServer(affine(10, 0, 10), scheduler, replicas=3, disaggregation=split)
    served = serve(server, Columns([0, 0], [10, 10], [3, 3]))
    assert served.s("end_ns").round(9).tolist() == [0.15, 0.15]  # two steps of 20 ms; with both in one, of 30


@pytest.mark.parametrize("dies", [0, 2])
def test_a_transfer_that_is_lost_leaves_nothing_behind(dies):
    """Whether the replica that it came from fails or the one that it goes to: its prompt finds its blocks free and is
    computed again, and in the end nobody has a request under way."""
    split = Disaggregation(prefill_replicas=2, kv_bytes_per_token=1e6, link_bytes_per_s=1e9)
    fails = Failures(outages=(Outage(replica=dies, at_s=0.05), Outage(replica=1 - dies % 2, at_s=0.04, for_s=0.001)))
    scheduler = Scheduler(kv_blocks=102, block_tokens=1)
    server = SimulatedServer(affine(10), scheduler, replicas=4, disaggregation=split, failures=fails)
    fleet, _ = server._fleet(Columns([0], [100], [2]), rows := Rows(closed=False))
    for _ in fleet.run():
        pass
    assert [replica.outstanding for replica in fleet.replicas] == [0] * 4
    assert [replica.kv.used for replica in fleet.replicas] == [0] * 4
    assert rows.batch()["end_ns"].to_pylist() == [220 * MS]


def test_what_is_lost_begins_again_in_the_order_it_came():
    """When the first prefill replica fails, the first request is on its way from there and the third amid its prompt:
    on the other replica, which takes one at a time, the first comes first."""
    split = Disaggregation(prefill_replicas=2, kv_bytes_per_token=1e6, link_bytes_per_s=1e9)
    fails = Failures(outages=(Outage(replica=0, at_s=0.015),))
    server = SimulatedServer(affine(10), Scheduler(max_num_seqs=1), replicas=3, disaggregation=split, failures=fails)
    served = serve(server, Columns([0, 0, 5 * MS], [100, 1, 100], [2, 2, 2]))
    assert served.s("first_token_ns").tolist() == [0.025, 0.01, 0.035]


def test_an_answer_that_can_never_be_decoded_is_refused_before_its_prompt():
    """15 tokens fit where prompts are computed; with ten of an answer they need 24 blocks of 20."""
    scheduler = Scheduler(kv_blocks=20, block_tokens=1)
    server = SimulatedServer(affine(10), scheduler, replicas=2, disaggregation=INSTANT)
    served = serve(server, Columns([0, 0], [15, 15], [10, 6]))
    assert served.table["error_class"].to_pylist() == ["http-400", None]


def test_what_does_not_fit_is_refused():
    """No replica left to decode; two switches that do not go together; numbers out of range."""
    with pytest.raises(InputError, match="at least one is left to decode"):
        SimulatedServer(affine(1), disaggregation=INSTANT)
    several = SeveralModels(others=(affine(1),), shares=(0.5, 0.5))
    with pytest.raises(UsageError, match="disaggregation with several models"):
        SimulatedServer(affine(1), replicas=2, disaggregation=INSTANT, several_models=several)
    for wrong in ({"prefill_replicas": 0}, {"links": 0}, {"latency_s": -1.0}, {"kv_bytes_per_token": float("nan")}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Disaggregation(**({"prefill_replicas": 1, "kv_bytes_per_token": 1.0, "link_bytes_per_s": 1.0} | wrong))
