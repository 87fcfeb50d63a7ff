"""What must hold for any workload and any settings: nothing is lost, nothing comes early, nobody idles."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.simulator.instants import NEVER_FS
from caveat.simulator.prefix import chained
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import StepTime
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import Columns, serve
from tests.simulator.strategies import plans, schedulers, step_times

LONGEST = 100
any_case = {"step_time": step_times, "scheduler": schedulers(longest=LONGEST), "plan": plans()}


@settings(max_examples=30, deadline=None)
@given(**any_case)
def test_tokens_in_are_tokens_out_and_times_are_in_order(step_time, scheduler, plan):
    """Every request has one row with all its tokens; due <= first token <= last token."""
    served = serve(SimulatedServer(step_time, scheduler), plan)
    assert served.ints("request").tolist() == list(range(len(plan.at_ns)))
    assert served.ints("input_tokens_usage").tolist() == list(plan.input_tokens)
    assert served.ints("output_tokens_usage").tolist() == list(plan.output_tokens)
    assert (served.ttft_s() <= served.e2e_s()).all() and (served.ttft_s() > 0).all()
    inside = served.internals
    assert inside.prompt_tokens == sum(plan.input_tokens)
    assert inside.cached_tokens == served.ints("cached_tokens_usage").sum()
    if not inside.preemptions:
        assert inside.computed_tokens == inside.prompt_tokens - inside.cached_tokens
        if scheduler.speculation is None:
            assert round((inside.mean_batch or 0) * inside.steps) == sum(plan.output_tokens) - len(plan.at_ns)


@settings(max_examples=30, deadline=None)
@given(**any_case)
def test_it_works_whenever_somebody_is_there(step_time, scheduler, plan):
    """The time in steps is the time with anybody in the system; and the counts at once agree (Little's two sides)."""
    at_once = msgspec.structs.replace(scheduler, intake_s=0.0, output_s=0.0)
    served = serve(SimulatedServer(step_time, at_once), plan)
    due, end = served.ints("ready_ns"), served.ints("end_ns")
    busy_ns, until = 0, 0
    for begin, stop in sorted(zip(due.tolist(), end.tolist(), strict=True)):
        busy_ns += max(0, stop - max(begin, until))
        until = max(until, stop)
    assert abs(served.internals.busy_share * served.internals.span_s * 1e9 - busy_ns) < 1e3
    instants = np.sort(due)
    inside = np.searchsorted(instants, due, side="right") - np.searchsorted(np.sort(end), due, side="right")
    assert served.internals.most_outstanding == inside.max()


@settings(max_examples=30, deadline=None)
@given(**any_case)
def test_first_come_first_token(step_time, scheduler, plan):
    """Without priorities first tokens come in the order of arrival."""
    scheduler = msgspec.structs.replace(scheduler, policy="fcfs")
    served = serve(SimulatedServer(step_time, scheduler), Columns(plan.at_ns, plan.input_tokens, plan.output_tokens))
    assert (np.diff(served.ints("first_token_ns")) >= 0).all()


@settings(max_examples=25, deadline=None)
@given(scale=st.integers(2, 5), **any_case)
def test_slower_by_a_factor_is_later_by_that_factor(scale, step_time, scheduler, plan):
    """Arrivals, thinking, steps and overheads times k: every instant times k, exactly."""
    slower = Columns(
        np.asarray(plan.at_ns) * scale,
        plan.input_tokens,
        plan.output_tokens,
        plan.after,
        np.asarray(plan.think_ns) * scale,
        plan.prefixes,
        plan.concurrency,
        plan.block_tokens,
    )
    one = serve(SimulatedServer(step_time, scheduler), plan)
    other = serve(SimulatedServer(_scaled_steps(step_time, scale), _scaled(scheduler, scale)), slower)
    for name in ("ready_ns", "first_token_ns", "last_token_ns"):
        assert (other.ints(name) == one.ints(name) * scale).all()


def _scaled_steps(step_time: StepTime, scale: int) -> StepTime:
    times = ("step_s", "prompt_token_s", "prompt_pair_s", "sequence_s", "context_token_s")
    return StepTime(
        pieces=tuple(
            msgspec.structs.replace(piece, **{name: getattr(piece, name) * scale for name in times})
            for piece in step_time.pieces
        )
    )


def _scaled(scheduler: Scheduler, scale: int) -> Scheduler:
    draft = scheduler.speculation
    if draft is not None:
        draft = msgspec.structs.replace(
            draft, draft_step_s=draft.draft_step_s * scale, draft_sequence_s=draft.draft_sequence_s * scale
        )
    return msgspec.structs.replace(
        scheduler, speculation=draft, intake_s=scheduler.intake_s * scale, output_s=scheduler.output_s * scale
    )


@settings(max_examples=30, deadline=None)
@given(stepping=st.booleans(), **any_case)
def test_kv_never_holds_more_than_there_is(stepping, step_time, scheduler, plan):
    """At every event blocks in use and idle ones fit; at the end none is in use and nothing is owed."""
    replica = Replica(scheduler, step_time, plan_block_tokens=8, stepping=stepping)
    for number, (at, prompt, output, ids) in enumerate(
        zip(plan.at_ns, plan.input_tokens, plan.output_tokens, plan.prefixes, strict=True)
    ):
        _run_until(replica, at * 10**6)
        every = max(1, scheduler.block_tokens // 8)
        request = Request(number, at * 10**6, prompt, output, chained(ids, every))
        request.key = number
        assert not replica.refusal(request)
        replica.arrive(request, at * 10**6)
    _run_until(replica, NEVER_FS - 1)
    assert len(replica.done) == len(plan.at_ns)
    assert (replica.kv.used, replica.outstanding, replica.queued_tokens) == (0, 0, 0)
    assert replica._batch.context_at(replica._tick) == 0


def _run_until(replica: Replica, until_fs: int) -> None:
    while replica.next_fs <= until_fs:
        now_fs = replica.next_fs
        replica.end(now_fs)
        replica.begin(now_fs)
        if replica.kv.capacity is not None:
            cache = replica.kv.cache
            assert 0 <= replica.kv.used <= replica.kv.capacity
            assert replica.kv.used + (cache.idle if cache else 0) <= replica.kv.capacity
            assert replica.free_kv_blocks(now_fs) == replica.kv.capacity - replica.kv.used
