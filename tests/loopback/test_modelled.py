"""The modelled engine in virtual time: given the arrivals of a plan its tokens are due as the simulation says."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import CannotSayError, UsageError
from caveat.loopback import Behaviour, Emission, Fixed, Job, ModelledEngine, modelled
from caveat.measure import Kept
from caveat.simulator import (
    ROUTERS,
    Live,
    Piece,
    Routing,
    Scheduler,
    SimulatedServer,
    Speculation,
    StepTime,
    VirtualClock,
    decode_model,
)
from tests.loopback.test_engine import play
from tests.simulator.plans import Columns, poisson
from tests.simulator.strategies import plans, routings, schedulers, step_times

MS = 1_000_000
LONGEST = 100
BLOCK = 8  # tokens in a block of the plans of the strategies
STEP = StepTime(pieces=(Piece(step_s=0.010, prompt_token_s=1e-5),))

DOCUMENT = """
format = "caveat-model/1"
name = "twin"
grade = "A"
prefix_hit = 0.0
[step_time]
kind = "pieces"
pieces = [{step_s = 0.01, prompt_token_s = 1e-5, sequence_s = 1e-4}]
[overheads]
intake_s = 0.0
[scheduler]
max_num_seqs = 8
[provenance]
origin = "stated"
date = "2026-11-30"
"""


def engine(step_time=STEP, **settings):
    return ModelledEngine(Live(SimulatedServer(step_time, Scheduler(**settings))))


def job(number, arrival_ns=0, prompt_tokens=10, output_tokens=4, **more):
    return Job(number=number, arrival_ns=arrival_ns, prompt_tokens=prompt_tokens, output_tokens=output_tokens, **more)


def chain(ids):
    """Numbers that are equal where beginnings are."""
    return tuple(hash(tuple(ids[: end + 1])) & ((1 << 63) - 1) for end in range(len(ids)))


def jobs_of(plan):
    rows = zip(plan.at_ns, plan.input_tokens, plan.output_tokens, plan.prefixes or [()] * len(plan.at_ns), strict=True)
    return [
        job(number, int(at_ns), int(prompt), int(output), chain=chain(ids))
        for number, (at_ns, prompt, output, ids) in enumerate(rows)
    ]


def simulated(server, plan):
    """First token, last token and tokens by number."""
    sink = Kept()
    server.offer(plan, sink, VirtualClock())
    table = sink.table().sort_by("request")
    names = ("first_token_ns", "last_token_ns", "output_tokens_usage")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def emitted(server, plan):
    """The same of the engine; None where it refuses."""
    one, wanted = ModelledEngine(Live(server)), jobs_of(plan)
    accepted = [made for made in map(one.accept, wanted) if isinstance(made, Job)]
    found: dict[int, list[Emission]] = {made.number: [] for made in accepted}
    for emission in play(one, accepted):
        found[emission.number].append(emission)
    assert (one.running, one.waiting, one.next_ns()) == (0, 0, None)
    for made in accepted:
        dues = [emission.due_ns for emission in found[made.number]]
        assert dues == sorted(dues) and sum(e.tokens for e in found[made.number]) == made.output_tokens
    return [
        (found[n][0].due_ns, found[n][-1].due_ns, sum(e.tokens for e in found[n])) if n in found else (None, None, None)
        for n in range(len(wanted))
    ]


def open_loop(plan):
    """The plan with its times alone: who waits for whom is the client's affair."""
    return Columns(plan.at_ns, plan.input_tokens, plan.output_tokens, prefixes=plan.prefixes, block_tokens=BLOCK)


def fitting(scheduler):
    """Blocks of the plan's size where prefixes are shared, and room for the longest request still."""
    if not scheduler.prefix_cache:
        return scheduler
    blocks = None if scheduler.kv_blocks is None else max(scheduler.kv_blocks, -(-(LONGEST + 4) // BLOCK))
    return msgspec.structs.replace(scheduler, block_tokens=BLOCK, kv_blocks=blocks)


cases = {
    "step_time": step_times,
    "scheduler": schedulers(longest=LONGEST).map(fitting),
    "plan": plans().map(open_loop),
    "routing": routings,
    "replicas": st.integers(1, 3),
    "context_tokens": st.none() | st.integers(30, LONGEST),
}


def twins_agree(step_time, scheduler, plan, routing, replicas, context_tokens):
    """Simulation and engine, to the nanosecond. Refusals only on one replica: the engine refuses before it routes."""
    scheduler = msgspec.structs.replace(scheduler, context_tokens=context_tokens if replicas == 1 else None)
    server = SimulatedServer(step_time, scheduler, replicas=replicas, routing=routing)
    assert emitted(server, plan) == simulated(server, plan)


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_the_engine_is_the_simulation(**case):
    """With every feature on, refusals and cut answers included."""
    twins_agree(**case)


@pytest.mark.full
@settings(max_examples=2000, deadline=None)
@given(**cases)
def test_the_engine_is_the_simulation_in_thousands_of_cases(**case):
    """The same, for longer."""
    twins_agree(**case)


LOADED = {
    "token budget": Scheduler(max_num_seqs=16, token_budget=64),
    "whole prompts": Scheduler(max_num_seqs=16, chunked_prefill=False),
    "prefill first": Scheduler(max_num_seqs=16, prefill_first=True),
    "static slots": Scheduler(static_slots=8, context_tokens=8 * 400),
    "preemption": Scheduler(max_num_seqs=16, kv_blocks=100, block_tokens=16),
    "speculation": Scheduler(max_num_seqs=16, speculation=Speculation(draft_tokens=3, acceptance=0.7)),
    "overheads": Scheduler(max_num_seqs=16, intake_s=0.0021, output_s=0.0313),
}


@pytest.mark.parametrize("name", LOADED)
def test_hundreds_of_requests_on_a_loaded_server_are_due_when_the_simulation_says(name):
    """Arrivals at odd nanoseconds, a queue, and for one of the settings sequences that lose their blocks."""
    rng = np.random.default_rng(5)
    plan = Columns(poisson(rng, 40.0, 300), rng.integers(20, 200, 300), rng.integers(1, 40, 300))
    server = SimulatedServer(STEP, LOADED[name])
    assert emitted(server, plan) == simulated(server, plan)
    assert server.internals.longest_queue > 1
    assert (server.internals.preemptions > 0) == (name == "preemption")


@pytest.mark.parametrize("router", ROUTERS)
def test_each_router_sends_requests_where_the_simulation_does(router):
    """Three replicas."""
    rng = np.random.default_rng(6)
    plan = Columns(poisson(rng, 100.0, 100), rng.integers(20, 200, 100), rng.integers(1, 40, 100))
    server = SimulatedServer(STEP, Scheduler(max_num_seqs=8), replicas=3, routing=Routing(router=router))
    assert emitted(server, plan) == simulated(server, plan)


def test_steps_end_at_absolute_times_however_late_the_driver_is():
    """Taking what was due long ago moves nothing; an arrival in between is in the step after its own time."""
    one = engine()
    one.submit(job(0, 0, output_tokens=3))
    one.submit(job(1, 15 * MS, output_tokens=1))  # nobody has taken anything yet
    assert one.waiting == 2
    found = [emission for _ in range(9) if one.next_ns() is not None for emission in one.take()]
    first_ns = 10 * MS + 100_000
    joined_ns = first_ns + 10 * MS  # the step under way at 15 ms ends; the newcomer's prompt is in the next
    last_ns = joined_ns + 10 * MS + 100_000
    assert sorted(found) == [
        Emission(0, first_ns, 1),
        Emission(0, joined_ns, 1),
        Emission(0, last_ns, 1),
        Emission(1, last_ns, 1),
    ]


def test_a_job_in_one_piece_has_one_emission_with_its_last_token():
    """Beside one that is streamed."""
    found = play(engine(), [job(0, whole=True), job(1)])
    assert [(e.number, e.tokens) for e in found if e.number == 0] == [(0, 4)]
    assert [(e.number, e.tokens) for e in found if e.number == 1] == [(1, 1)] * 4
    assert found[-1].due_ns == next(e.due_ns for e in found if e.number == 0)


@pytest.mark.parametrize(
    ("at_ms", "seat_at_ms"),
    [(0.0, 0.1), (5.0, 10.1), (10.05, 10.1), (25.0, 30.1)],
    ids=["before it began", "in its prompt", "in its first step", "while it decodes"],
)
def test_whoever_leaves_makes_room_at_the_end_of_the_step(at_ms, seat_at_ms):
    """One seat: the second begins when the first is gone, and is served as if alone."""
    found = play(
        engine(max_num_seqs=1, token_budget=16, kv_blocks=2, block_tokens=16),
        [job(0, 0, output_tokens=20), job(1, 100_000, output_tokens=2)],
        cancels=[(0, round(at_ms * MS))],
    )
    seat_ns = round(seat_at_ms * MS)
    first_ns = seat_ns + 10 * MS + 100_000
    assert [e for e in found if e.number == 1] == [Emission(1, first_ns, 1), Emission(1, first_ns + 10 * MS, 1)]
    assert all(e.due_ns <= at_ms * MS for e in found if e.number == 0)


@given(st.data())
def test_the_others_are_served_whoever_leaves(data):
    """Room is given back whole: everybody who stays gets every token, and nothing is left over."""
    plan = open_loop(data.draw(plans()))
    scheduler = fitting(data.draw(schedulers(longest=LONGEST)))
    one = ModelledEngine(Live(SimulatedServer(data.draw(step_times), scheduler, replicas=2)))
    jobs = jobs_of(plan)
    leavers = data.draw(st.sets(st.integers(0, len(jobs) - 1)))
    cancels = [(n, jobs[n].arrival_ns + data.draw(st.integers(0, 300)) * MS) for n in leavers]
    found = play(one, jobs, cancels)
    given = {n: sum(e.tokens for e in found if e.number == n) for n in range(len(jobs))}
    assert all(given[n] == jobs[n].output_tokens for n in set(range(len(jobs))) - leavers)
    assert all(given[n] <= jobs[n].output_tokens for n in leavers)
    assert (one.running, one.waiting, one.next_ns()) == (0, 0, None)


def test_leaving_twice_or_after_the_end_is_no_error():
    """Nor is a number that nobody knows."""
    one = engine()
    play(one, [job(0)], cancels=[(0, 5 * MS), (0, 6 * MS), (7, 6 * MS)])
    one.cancel(0, 900 * MS)
    assert (one.running, one.waiting, one.next_ns()) == (0, 0, None)


def test_what_cannot_be_served_is_refused_and_an_answer_is_cut_at_the_context():
    """With the reason."""
    one = engine(context_tokens=30)
    assert one.accept(job(0, output_tokens=20)).output_tokens == 20
    assert one.accept(job(0, output_tokens=21)).output_tokens == 20
    assert "the prompt has 30 tokens" in one.accept(job(0, prompt_tokens=30))
    assert "it needs 7 KV blocks, there are 4" in engine(kv_blocks=4).accept(job(0, prompt_tokens=100))


def test_a_model_file_makes_the_engine():
    """With the choices that the file leaves open."""
    model = decode_model(DOCUMENT)
    assert len({e.due_ns for e in play(modelled(model)(Behaviour()), [job(0)])}) == 4
    open_model = decode_model(DOCUMENT.replace("max_num_seqs = 8", 'max_num_seqs = "unknown"'))
    with pytest.raises(CannotSayError, match="max_num_seqs is not one number"):
        modelled(open_model)
    found = play(modelled(open_model, max_num_seqs=1)(Behaviour()), [job(0), job(1)])
    assert [e.number for e in found] == [0] * 4 + [1] * 4


def test_a_behaviour_that_says_what_the_model_says_is_refused():
    """Each name is told."""
    with pytest.raises(UsageError, match="found ttft_s, slots beside a model"):
        modelled(decode_model(DOCUMENT))(Behaviour(ttft_s=Fixed(0.1), slots=3))
