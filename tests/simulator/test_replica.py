"""The replica: stepping and fast-forward agree, both agree with a plain one, and what one can say beforehand holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.simulator.instants import NEVER_FS
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.target import SimulatedServer
from tests.simulator.naive import Naive
from tests.simulator.plans import Columns, affine, poisson, serve
from tests.simulator.strategies import fleets, plans, routings, schedulers, step_times

LONGEST = 100  # tokens of a prompt of the strategies with its answer


def by_remainder(block):
    return block.input_tokens % 3


cases = {
    "step_time": step_times,
    "scheduler": schedulers(longest=LONGEST, cuts=True),
    "plan": plans(),
    "routing": routings,
    "fleet": fleets(),
    "limit": st.none() | st.integers(1, 12),
}
plain_cases = {
    "step_time": step_times,
    "scheduler": schedulers(longest=LONGEST, output_s=0.0, cuts=True),
    "plan": plans(),
}


def fast_and_slow(step_time, scheduler, plan, routing, fleet, limit):
    """Both modes give equal samples, to the last nanosecond, and equal counters."""
    replicas, shape = fleet
    options = {"replicas": replicas, "routing": routing, "limit": limit, "priorities": by_remainder}
    options |= {name: getattr(shape, name) for name in shape.__struct_fields__}
    fast = serve(SimulatedServer(step_time, scheduler, **options), plan)
    slow = serve(SimulatedServer(step_time, scheduler, **options, stepping=True), plan)
    assert fast.table.equals(slow.table)
    broken_off = slow.internals.turns - slow.internals.steps  # the step under way when a replica failed
    assert fast.internals.turns <= slow.internals.turns and 0 <= broken_off <= slow.internals.failures
    same = set(fast.internals.__struct_fields__) - {"turns", "longest_queue"}  # the queue is looked at once a turn
    assert {key: getattr(fast.internals, key) for key in same} == {key: getattr(slow.internals, key) for key in same}


def with_a_plain_one(step_time, scheduler, plan):
    """The simulator and the plain replica give equal first and last tokens, cached tokens, preemptions and steps; both
    refuse what no context holds, and cut the same answers."""
    served = serve(
        SimulatedServer(step_time, scheduler, priorities=by_remainder),
        Columns(plan.at_ns, plan.input_tokens, plan.output_tokens, prefixes=plan.prefixes, block_tokens=8),
    )
    naive = Naive(scheduler, step_time)
    rows = zip(plan.at_ns, plan.input_tokens, plan.output_tokens, plan.prefixes, strict=True)
    every = naive.run([(at * 10**6, prompt, output, prompt % 3, tuple(ids)) for at, prompt, output, ids in rows])
    expected = {
        "cached_tokens_usage": [None if one.refused else one.cached for one in every],
        "output_tokens_usage": [None if one.refused else one.output for one in every],
        "first_token_ns": [None if one.refused else one.first // 10**6 for one in every],
        "last_token_ns": [None if one.refused else one.last // 10**6 for one in every],
    }
    assert {name: served.table[name].to_pylist() for name in expected} == expected
    assert served.internals.preemptions == sum(one.preempted for one in every)
    assert served.internals.steps == naive.steps


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_fast_forward_is_stepping(**case):
    """With every feature on."""
    fast_and_slow(**case)


@settings(max_examples=40, deadline=None)
@given(**plain_cases)
def test_a_plain_replica_says_the_same(**case):
    """Written without heap, closed form or runs, with a prefix cache under a limit; only the draws of speculation are
    shared."""
    with_a_plain_one(**case)


@pytest.mark.full
@settings(max_examples=3000, deadline=None)
@given(**cases)
def test_fast_forward_is_stepping_in_thousands_of_cases(**case):
    """The same, for an hour in which nobody waits."""
    fast_and_slow(**case)


@pytest.mark.full
@settings(max_examples=3000, deadline=None)
@given(**plain_cases)
def test_a_plain_replica_says_the_same_in_thousands_of_cases(**case):
    """The same."""
    with_a_plain_one(**case)


@pytest.mark.parametrize("seed", range(4))
def test_who_was_preempted_goes_on_in_its_own_stream(seed):
    """Drafts under a limit that preempts: the draws of steps that were taken do not come again."""
    speculation = Speculation(draft_tokens=2, acceptance=0.5, seed=seed)
    scheduler = Scheduler(kv_blocks=30, block_tokens=1, speculation=speculation)
    plan = Columns([0] * 4, [10, 3, 6, 9], [9, 15, 12, 8], prefixes=[[]] * 4)
    with_a_plain_one(affine(10, 0.1, 1, 0.01), scheduler, plan)
    assert serve(SimulatedServer(affine(10), scheduler), plan).internals.preemptions > 1


def test_a_request_alone_takes_its_steps():
    """A prompt of 100 tokens and 11 tokens out: one step of 10 + 100 x 0.1 ms, ten that read 101, 102, ... tokens."""
    served = serve(SimulatedServer(affine(10, 0.1, 1, 0.01)), Columns([5], [100], [11]))
    assert served.ints("first_token_ns")[0] == 5 + 20_000_000
    assert served.ints("end_ns")[0] == 5 + 20_000_000 + 10 * 11_000_000 + 10_000 * sum(range(101, 111))


def test_the_work_does_not_depend_on_the_length_of_answers():
    """Answers a thousand times as long take a thousand times the steps, and the simulator not one look more."""
    rng = np.random.default_rng(3)
    for limit in (None, 10_000_000):
        inside = []
        for times in (1, 1000):
            plan = Columns(poisson(rng, 1.0 / times, 200), np.full(200, 50), np.full(200, 40 * times))
            scheduler = Scheduler(kv_blocks=limit, block_tokens=1)
            inside.append(serve(SimulatedServer(affine(10, 0.1, 0.1, 1e-6), scheduler), plan).internals)
        assert inside[1].steps > 500 * inside[0].steps
        assert max(one.turns for one in inside) <= 4 * 200


def test_a_prompt_is_cut_at_the_budget():
    """250 tokens with a budget of 100: three steps."""
    plan = Columns([0], [250], [1])
    served = serve(SimulatedServer(affine(10), Scheduler(token_budget=100)), plan)
    assert served.e2e_s().tolist() == [0.030]
    served = serve(SimulatedServer(affine(10), Scheduler(token_budget=100, chunked_prefill=False)), plan)
    assert served.e2e_s().tolist() == [0.010]


def test_prefill_first_makes_those_who_decode_wait():
    """The second prompt takes 50 ms: the first request's next token comes after it, or within the same step."""
    plan = Columns([0, 15_000_000], [1, 50], [3, 1])
    mixed = serve(SimulatedServer(affine(10, 1)), plan)
    first = serve(SimulatedServer(affine(10, 1), Scheduler(prefill_first=True)), plan)
    assert mixed.s("end_ns").tolist() == [0.081, 0.081]
    assert first.s("end_ns").tolist() == [0.091, 0.081]


def test_slots_share_the_context():
    """Two slots of 50 tokens: a prompt of 50 is refused, an answer is cut where the slot ends."""
    scheduler = Scheduler(static_slots=2, context_tokens=100)
    served = serve(SimulatedServer(affine(10), scheduler), Columns([0, 0, 0, 0], [50, 40, 10, 10], [5, 20, 5, 5]))
    assert served.table["error_class"].to_pylist() == ["http-400", None, None, None]
    assert served.table["output_tokens_usage"].to_pylist() == [None, 10, 5, 5]
    assert served.s("end_ns")[1:].tolist() == [0.1, 0.05, 0.1]


def test_the_latest_arrival_is_preempted_and_computed_again():
    """Eight blocks of one token for two requests that end with six each: the second starts over and still answers."""
    scheduler = Scheduler(kv_blocks=8, block_tokens=1)
    served = serve(SimulatedServer(affine(10, 1), scheduler), Columns([0, 0], [2, 2], [5, 5]))
    assert served.internals.preemptions == 1
    # 2 prompts (14), tokens at 24, 34; no room for both; 44, 54; then 5 tokens at once (15), one more (10).
    assert served.s("end_ns").round(9).tolist() == [0.054, 0.079]
    assert served.internals.kv_peak_share == 1.0


def test_who_is_preempted_may_still_have_been_computing_its_prompt():
    """Eight blocks: the second has computed half of its prompt when the first needs a block, and begins it again when
    the first has ended. The first is not touched: it came before."""
    scheduler = Scheduler(kv_blocks=8, block_tokens=1, token_budget=2)
    served = serve(SimulatedServer(affine(10, 1), scheduler), Columns([0, 0], [2, 4], [7, 1]))
    assert served.internals.preemptions == 1
    # 2 prompt tokens (12), twice an answer's and a prompt's (23, 34), four answers (74), then 2 and 2 of a prompt
    assert served.s("end_ns").round(9).tolist() == [0.074, 0.098]
    assert served.internals.computed_tokens == 2 + 2 + 4


def test_what_was_computed_of_a_prompt_and_lost_is_queued_again():
    """The same on a replica by itself: tokens queued go down to 2 of 4, up to 4 with the loss, and down to none."""
    replica = Replica(Scheduler(kv_blocks=8, block_tokens=1, token_budget=2), affine(10, 1))
    for number, (prompt, output) in enumerate(((2, 7), (4, 1))):
        request = Request(number, 0, prompt, output)
        request.key = number
        replica.arrive(request, 0)
    queued = []
    while replica.next_fs < NEVER_FS:
        replica.advance(replica.next_fs)
        queued.append(replica.queued_tokens)
    assert queued == [6, 4, 3, 4, 4, 4, 2, 0]


def test_blocks_stay_free_for_those_who_answer():
    """Two prompts of three blocks among eight. With three kept free the second waits, although it fits, until the first
    has ended; nothing is kept free for nobody."""
    plan = Columns([0, 0], [3, 3], [3, 1])
    ends = {}
    for watermark in (0, 2, 3, 6):
        scheduler = Scheduler(kv_blocks=8, block_tokens=1, watermark_blocks=watermark)
        ends[watermark] = serve(SimulatedServer(affine(10), scheduler), plan).s("end_ns").tolist()
    assert ends == {0: [0.03, 0.01], 2: [0.03, 0.01], 3: [0.03, 0.04], 6: [0.03, 0.04]}


def test_who_is_urgent_passes_those_that_wait_for_room():
    """The second prompt does not fit beside the first, whose answer takes 100 ms. The third, small and more urgent,
    comes at 25 ms and goes in at the next boundary."""
    plan = Columns([0, 0, 25_000_000], [2, 19, 2], [10, 1, 1])

    def urgency(block):
        return np.asarray([0, 5, 1])

    scheduler = Scheduler(policy="priority", kv_blocks=20, block_tokens=1)
    served = serve(SimulatedServer(affine(10), scheduler, priorities=urgency), plan)
    assert served.s("end_ns").round(9).tolist() == [0.1, 0.11, 0.04]


def test_the_last_draft_needs_room_too():
    """Five tokens and four more fit in ten blocks, with a draft of two behind them they do not."""
    for draft, error in ((1, None), (2, "http-400")):
        scheduler = Scheduler(kv_blocks=10, block_tokens=1, speculation=Speculation(draft_tokens=draft, acceptance=0.5))
        served = serve(SimulatedServer(affine(10), scheduler), Columns([0], [5], [5]))
        assert served.table["error_class"].to_pylist() == [error]


def test_who_leaves_amid_its_prompt_holds_nothing():
    """A prompt of ten tokens, half computed, is cancelled: no block is used, no token is queued."""
    replica = Replica(Scheduler(kv_blocks=20, block_tokens=1, token_budget=5), affine(10))
    request = Request(0, 0, 10, 3)
    replica.arrive(request, 0)
    replica.begin(replica.next_fs)
    assert (replica.kv.used, replica.queued_tokens) == (10, 10)
    replica.end(replica.next_fs)
    assert replica.queued_tokens == 5
    replica.cancel(request)
    assert (replica.kv.used, replica.queued_tokens, replica.outstanding) == (0, 0, 0)


def test_a_replica_that_fails_hands_back_everything_in_the_order_it_came():
    """One decodes, one computes its prompt, two are being taken in: all begin again from nothing."""
    replica = Replica(Scheduler(max_num_seqs=2, token_budget=3, intake_s=0.001, kv_blocks=99), affine(10))
    requests = [Request(number, 0, prompt, 9) for number, prompt in enumerate((1, 9, 4, 4))]
    for request, key in zip(requests, (3, 2, 1, 0), strict=True):
        request.key = key
    for request in requests[:2]:
        replica.arrive(request, 0)
    replica.advance(11 * 10**12)
    for request in requests[2:]:
        replica.arrive(request, replica.next_fs - 1)
    lost = replica.abandon(12 * 10**12)
    assert [request.key for request in lost] == [0, 1, 2, 3]
    assert [(request.computed, request.given, request.target) for request in requests] == [
        (0, 0, request.prompt) for request in requests
    ]
    assert (replica.kv.used, replica.outstanding, replica.queued_tokens, replica.next_fs) == (0, 0, 0, NEVER_FS)


def test_intake_and_output_are_added():
    """3 ms before and 2 ms after."""
    scheduler = Scheduler(intake_s=0.003, output_s=0.002)
    served = serve(SimulatedServer(affine(10), scheduler), Columns([0], [1], [2]))
    assert (served.s("first_token_ns")[0], served.s("end_ns")[0]) == (0.015, 0.025)


def test_urgent_requests_overtake():
    """One seat; the third request is the most urgent."""
    plan = Columns([0, 1, 2], [1, 2, 1], [1, 1, 1])

    def urgency(block):
        return np.asarray([0, 5, 1])

    server = SimulatedServer(affine(10), Scheduler(policy="priority", max_num_seqs=1), priorities=urgency)
    assert serve(server, plan).s("end_ns").tolist() == [0.010, 0.030, 0.020]


def test_speculation_shortens_by_its_mean():
    """Acceptance 1 and drafts of 3: four tokens a step; acceptance 0: one."""
    plan = Columns([0], [1], [41])
    for acceptance, steps in ((1.0, 10), (0.0, 40)):
        scheduler = Scheduler(speculation=Speculation(draft_tokens=3, acceptance=acceptance))
        served = serve(SimulatedServer(affine(10), scheduler), plan)
        assert served.e2e_s().round(9).tolist() == [round(0.010 * (1 + steps), 9)]
