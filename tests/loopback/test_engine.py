"""The engine in virtual time: due times are exact, the queue is that of n servers, whoever leaves makes room."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import Behaviour, Emission, Engine, Exponential, Fixed, FixedEngine, Job, Lognormal, draw, uniform
from caveat.loopback.engine import ITL_DRAW, TTFT_DRAW

MS = 1_000_000


def job(number, arrival_ns=0, output_tokens=4, **more):
    return Job(number=number, arrival_ns=arrival_ns, prompt_tokens=10, output_tokens=output_tokens, **more)


def play(engine: Engine, jobs, cancels=()):
    """Submit jobs and cancel numbers at their times, take what falls due between; all emissions in order."""
    acts = sorted(
        [(one.arrival_ns, 0, one) for one in jobs] + [(at_ns, 1, number) for number, at_ns in cancels],
        key=lambda act: act[:2],
    )
    emissions: list[Emission] = []
    for at_ns, kind, what in [*acts, (None, 2, None)]:
        while (due_ns := engine.next_ns()) is not None and (at_ns is None or due_ns < at_ns):
            emissions += engine.take()
        if kind == 0:
            engine.submit(what)
        elif kind == 1:
            engine.cancel(what, at_ns)
    return emissions


def test_every_token_is_due_at_the_start_plus_ttft_plus_its_gaps():
    """Multiplied, never added up."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(0.1), itl_s=Fixed(0.0101)))
    emissions = play(engine, [job(0, arrival_ns=7)])
    assert emissions == [Emission(0, 7 + 100 * MS + token * 10_100_000, 1) for token in range(4)]
    assert (engine.running, engine.waiting, engine.next_ns()) == (0, 0, None)


def test_a_chunk_is_due_with_its_first_token():
    """Ten tokens in chunks of four: at tokens 0, 4 and 8."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(0.1), itl_s=Fixed(0.01), tokens_per_chunk=4))
    emissions = play(engine, [job(0, output_tokens=10)])
    assert emissions == [Emission(0, 100 * MS, 4), Emission(0, 140 * MS, 4), Emission(0, 180 * MS, 2)]


def test_prefill_counts_the_prompt_tokens_that_are_not_cached():
    """Ten tokens in the prompt, six of them cached, a millisecond each."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(0.1), prefill_s_per_token=0.001))
    emissions = play(engine, [job(0, output_tokens=1), job(1, output_tokens=1, cached_tokens=6)])
    assert sorted(emissions) == [Emission(0, 110 * MS, 1), Emission(1, 104 * MS, 1)]


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 30)), min_size=1, max_size=40),
    st.integers(1, 5),
)
def test_slots_and_queue_are_those_of_n_servers_first_come_first_served(slots, asked, chunk):
    """Each job starts when it has come and the first of n servers is free: the analytic recurrence, exactly."""
    behaviour = Behaviour(ttft_s=Fixed(100e-9), itl_s=Fixed(10e-9), slots=slots, tokens_per_chunk=chunk)
    arrivals = itertools.accumulate(gap for gap, _ in asked)
    jobs = [job(number, at, tokens) for number, (at, (_, tokens)) in enumerate(zip(arrivals, asked, strict=True))]
    free = [0] * slots
    starts, ends = [], []
    for one in jobs:
        starts.append(max(one.arrival_ns, min(free)))
        ends.append(starts[-1] + 100 + 10 * ((one.output_tokens - 1) // chunk * chunk))
        free[free.index(min(free))] = ends[-1]
    emissions = play(FixedEngine(behaviour), jobs)
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    tokens: dict[int, int] = {}
    for number, due_ns, count, _ in emissions:
        firsts.setdefault(number, due_ns)
        lasts[number] = due_ns
        tokens[number] = tokens.get(number, 0) + count
    assert [firsts[one.number] for one in jobs] == [start + 100 for start in starts]
    assert [lasts[one.number] for one in jobs] == ends
    assert [tokens[one.number] for one in jobs] == [one.output_tokens for one in jobs]


def test_waiting_grows_by_what_the_servers_cannot_do():
    """D/D/2 over capacity: service 10, arrivals every 4, so each pair waits 2 longer than the pair before."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(10e-9), slots=2))
    emissions = play(engine, [job(number, 4 * number, 1) for number in range(8)])
    waits = [due_ns - 10 - 4 * number for number, due_ns, *_ in sorted(emissions)]
    assert waits == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize("law", [Exponential(0.01), Lognormal(0.01, 1.0)])
@pytest.mark.parametrize("chunk", [1, 3])
def test_drawn_delays_are_those_that_the_seed_gives(law, chunk):
    """Worked out from the seed alone, whoever else is served."""
    behaviour = Behaviour(seed=5, ttft_s=law, itl_s=law, tokens_per_chunk=chunk)
    due_ns = [100 + round(draw(law, uniform(5, TTFT_DRAW, 3)) * 1e9)]
    for token in range(1, 8):
        due_ns.append(due_ns[-1] + round(draw(law, uniform(5, ITL_DRAW, 3, token)) * 1e9))
    emissions = play(FixedEngine(behaviour), [job(2, 50, 9), job(3, 100, 8), job(4, 150, 2)])
    assert [due for number, due, *_ in emissions if number == 3] == due_ns[::chunk]


@pytest.mark.parametrize("itl", [Fixed(0.01), Exponential(0.01)])
def test_a_whole_answer_is_due_with_its_last_chunk(itl):
    """Nobody sees the tokens before, and nothing else changes."""
    behaviour = Behaviour(ttft_s=Fixed(0.1), itl_s=itl, tokens_per_chunk=2)
    streamed = play(FixedEngine(behaviour), [job(0, output_tokens=7)])
    assert play(FixedEngine(behaviour), [job(0, output_tokens=7, whole=True)]) == [Emission(0, streamed[-1].due_ns, 7)]


def test_a_client_that_leaves_makes_room_at_that_moment():
    """The slot goes to the first in the queue, who starts then."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(100e-9), slots=1))
    emissions = play(engine, [job(0, 0, 1), job(1, 5, 1), job(2, 6, 1)], cancels=[(0, 40)])
    assert emissions == [Emission(1, 140, 1), Emission(2, 240, 1)]


def test_a_client_that_leaves_the_queue_is_not_served():
    """And one that is not known, or has ended, is no error."""
    engine = FixedEngine(Behaviour(ttft_s=Fixed(100e-9), slots=1))
    emissions = play(engine, [job(0, 0, 1), job(1, 5, 1), job(2, 6, 1)], cancels=[(1, 40), (9, 41), (0, 150)])
    assert emissions == [Emission(0, 100, 1), Emission(2, 200, 1)]


def test_tokens_that_are_due_together_take_turns():
    """Without delays two answers go out side by side, not one after the other."""
    engine = FixedEngine(Behaviour())
    emissions = play(engine, [job(0, 0, 2), job(1, 0, 2)])
    assert [number for number, *_ in emissions] == [0, 1, 0, 1]
