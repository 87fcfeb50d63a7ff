"""Capacity in closed form, and the load fraction that comes first in every answer."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CannotSayError, InputError
from caveat.simulator.capacity import (
    BatchLimit,
    Interval,
    Part,
    batch_limit,
    capacity,
    fraction_of,
    interval_of,
    largest_rate,
    mean_step_s,
    steady_sequences,
    why_unpredictable,
)
from caveat.simulator.length_mix import mix_of_means
from caveat.simulator.step_time import Piece, StepTime

CASE = StepTime(pieces=(Piece(step_s=8e-3, prompt_token_s=5e-5, sequence_s=5e-5, context_token_s=2e-8),))


def decode_only(step_s: float, sequence_s: float) -> StepTime:
    return StepTime(pieces=(Piece(step_s=step_s, sequence_s=sequence_s),))


def test_capacity_with_prefill_is_the_reference_value():
    """1 / (E[O] (a/B + c + d ctx) + b E[I]) = 12.467/s: a 8 ms, b = c = 0.05 ms, d 20 ns, I 1155, O 211, B 256."""
    assert largest_rate(CASE, mix_of_means(1155, 211), 256) == pytest.approx(12.467, abs=5e-4)


def test_capacity_of_a_decode_only_replica_is_the_reference_value():
    """Step a + c n = 10 ms + 0.1 ms n, 200 tokens, at most 64: 19.512/s."""
    mix = mix_of_means(0, 200)
    assert largest_rate(decode_only(10e-3, 0.1e-3), mix, 64) == pytest.approx(19.512, abs=5e-4)


def test_a_closed_loop_of_32_has_the_reference_rate():
    """N / (Lo (a + c N)) = 12.1212 requests/s at a TPOT of 13.2 ms."""
    steps, mix = decode_only(10e-3, 0.1e-3), mix_of_means(0, 200)
    assert mean_step_s(steps, mix, 32) == pytest.approx(13.2e-3)
    assert largest_rate(steps, mix, 32) == pytest.approx(12.1212, abs=1e-4)


@given(
    share=st.floats(0.01, 0.99),
    step_s=st.floats(1e-4, 0.1),
    sequence_s=st.floats(0, 1e-3),
    inputs=st.floats(1, 1e4),
    outputs=st.floats(1, 2e3),
)
def test_the_steady_state_obeys_little(share, step_s, sequence_s, inputs, outputs):
    """N = rate x output tokens x step, at any rate below capacity."""
    steps = StepTime(pieces=(Piece(step_s=step_s, sequence_s=sequence_s, prompt_token_s=1e-6, context_token_s=1e-9),))
    mix = mix_of_means(inputs, outputs)
    rate = share * largest_rate(steps, mix, 128)
    found = steady_sequences(steps, mix, rate, 128)
    assert found == pytest.approx(rate * outputs * mean_step_s(steps, mix, found), rel=1e-6)


def test_above_capacity_there_is_no_steady_state():
    """None, not a number."""
    mix = mix_of_means(1155, 211)
    assert steady_sequences(CASE, mix, 12.4, 256) is not None
    assert steady_sequences(CASE, mix, 12.6, 256) is None


def test_capacity_uses_the_piece_that_the_full_batch_is_in():
    """Twice the step from 100 tokens on: a batch of 64 is not touched by it, one of 128 is."""
    pieces = (Piece(step_s=10e-3), Piece(from_tokens=100, step_s=20e-3))
    mix = mix_of_means(0, 100)
    assert largest_rate(StepTime(pieces=pieces), mix, 64) == pytest.approx(64 / (100 * 10e-3))
    assert largest_rate(StepTime(pieces=pieces), mix, 128) == pytest.approx(128 / (100 * 20e-3))


def test_a_mean_step_holds_all_that_prompts_cost():
    """By hand: 10 sequences of prompts of 40 and answers of 20, so 20 prompt tokens and 400 pairs in the step."""
    piece = Piece(step_s=1e-2, prompt_token_s=1e-4, prompt_pair_s=1e-5, sequence_s=1e-3, context_token_s=1e-6)
    mix = mix_of_means(40, 20)
    by_hand = 1e-2 + 20 * 1e-4 + 10 * (800 / 20) * 1e-5 + 10 * 1e-3 + 10 * 50 * 1e-6
    assert mean_step_s(StepTime(pieces=(piece,)), mix, 10) == pytest.approx(by_hand)


def test_prompts_count_where_the_piece_is_chosen():
    """10 sequences with 20 prompt tokens beside them are past a bend at 25; alone they are not."""
    steps = StepTime(pieces=(Piece(step_s=10e-3), Piece(from_tokens=25, step_s=30e-3)))
    assert mean_step_s(steps, mix_of_means(40, 20), 10) == pytest.approx(30e-3)
    assert mean_step_s(steps, mix_of_means(40, 40), 10) == pytest.approx(10e-3)


@pytest.mark.parametrize(
    ("limits", "sequences", "by"),
    [
        ({"max_num_seqs": 256}, 256, "max_num_seqs"),
        ({"max_num_seqs": 256, "token_budget": 2048}, 2048 / (1 + 1200 / 100), "token_budget"),
        ({"max_num_seqs": 256, "token_budget": 8192, "kv_tokens": 125_000}, 100, "kv_tokens"),
    ],
)
def test_the_tightest_limit_bounds_the_batch_and_is_named(limits, sequences, by):
    """Prompts of 1,200 and answers of 100: 13 tokens of budget a sequence and step, 1,250 of context."""
    found = batch_limit(mix_of_means(1200, 100), **limits)
    assert found.sequences == pytest.approx(sequences)
    assert found.by == by


def test_a_batch_without_any_limit_is_not_endless():
    """It is unknown, and so is capacity."""
    with pytest.raises(CannotSayError, match="neither max_num_seqs"):
        batch_limit(mix_of_means(100, 10))
    with pytest.raises(CannotSayError, match=r"kv_tokens leaves room for 0\.5 sequences"):
        batch_limit(mix_of_means(90, 20), kv_tokens=50)


def test_the_range_of_capacity_is_that_of_its_draws():
    """Replicas multiply it; the load fraction turns it round."""
    mix = mix_of_means(0, 100)
    draws = [decode_only(step_s, 0) for step_s in (0.01, 0.02, 0.04)]
    limit = batch_limit(mix, max_num_seqs=10)
    rates = tuple(2 * largest_rate(step_time, mix, 10) for step_time in draws)
    found = capacity([Part(name="replicas", replicas=2, least=2, rates=rates, batch=limit)])
    assert found.rate_per_s == Interval(low=5.0, median=10.0, high=20.0)
    assert found.load_fraction(4.0) == Interval(low=0.2, median=0.4, high=0.8)
    with pytest.raises(InputError, match="rate: found 0"):
        found.load_fraction(0)
    assert (found.batch, found.at_least, found.one_down) == (limit, None, None)


def test_the_part_that_is_full_first_is_the_capacity():
    """Draw by draw; with fewer replicas, and while one of them is down, it may be another part."""
    limits = [batch_limit(mix_of_means(0, 100), max_num_seqs=n) for n in (10, 20)]
    first = Part(name="a", replicas=4, least=1, rates=(8.0, 9.0, 20.0), batch=limits[0])
    second = Part(name="b", replicas=2, least=2, rates=(10.0, 10.0, 10.0), batch=limits[1])
    links = Part(name="links", replicas=0, least=0, rates=(30.0,) * 3, batch=None)
    found = capacity([first, second, links], scaled=True, works=0.5)
    assert found.rate_per_s == Interval(low=8.0, median=9.0, high=10.0)
    assert found.batch == BatchLimit(sequences=10, by="max_num_seqs (a)")
    assert found.at_least == Interval(low=2.0, median=2.25, high=5.0)
    assert found.one_down == Interval(low=10.0, median=10.0, high=10.0)
    slow = msgspec.structs.replace(links, rates=(1.0,) * 3)
    assert capacity([first, slow]).batch == BatchLimit(sequences=math.inf, by="links between the pools")


def test_while_the_only_replica_is_down_nothing_is_carried():
    """The load is endless then, and said to be."""
    limit = batch_limit(mix_of_means(0, 100), max_num_seqs=10)
    found = capacity([Part(name="a", replicas=1, least=1, rates=(3.0,), batch=limit)], works=1.0)
    assert found.one_down == Interval(low=0.0, median=0.0, high=0.0)
    assert fraction_of(1.0, found.one_down) == Interval(low=math.inf, median=math.inf, high=math.inf)


def test_first_tokens_are_not_told_where_the_load_may_pass_nine_tenths():
    """With the reason; below it there is none."""
    assert why_unpredictable(Interval(low=0.5, median=0.7, high=0.9)) is None
    said = why_unpredictable(Interval(low=0.5, median=0.7, high=0.95))
    assert "TTFT is not predictable: the load fraction is 0.70 and may be as high as 0.95" in said


@given(values=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50))
def test_an_interval_holds_its_median_and_only_values_that_were_drawn(values):
    """Order statistics."""
    found = interval_of(values)
    assert found.low <= found.median <= found.high
    assert {found.low, found.median, found.high} <= set(values)
    assert not math.isnan(found.low)
    with pytest.raises(InputError, match="no draws"):
        interval_of([])
