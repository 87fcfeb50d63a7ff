"""Saturated: the closed form against what a closed loop of many users comes to on the simulated replica."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import CannotSayError
from caveat.simulator import changed, mix_of, server_of
from caveat.simulator.achieved_hit import AchievedHit, achieved_hit
from caveat.simulator.load import capacity_of
from caveat.simulator.model_file import Range
from caveat.simulator.saturated import (
    Filling,
    context_read,
    prompts_that_fit,
    requests_per_s,
    steps_for,
    steps_of,
    tokens_a_step,
)
from caveat.simulator.scheduler import Speculation
from caveat.simulator.standing import standing_of
from caveat.simulator.step_time import Piece, StepTime
from tests.simulator.plans import Columns, serve
from tests.simulator.test_parts import MODEL

ALONE = changed(MODEL, {"fleet.replicas": "1"})
MIXES = {"even": (500, 60), "long prompts": (3000, 30), "long answers": (100, 200), "short": (300, 4)}
DRAFTS = "{draft_tokens=3, acceptance=0.7, draft_step_s=0.001, draft_sequence_s=5e-5}"
MISSES = "{draft_tokens=3, acceptance=0.0, draft_step_s=0.04}"

CASES = {
    "chunked": {},
    "small budget": {"scheduler.token_budget": "512"},
    "tiny budget": {"scheduler.token_budget": "160"},
    "prompts first": {"scheduler.prefill_first": "true"},
    "prompts first, small budget": {"scheduler.prefill_first": "true", "scheduler.token_budget": "512"},
    "whole": {"scheduler.chunked_prefill": "false"},
    "whole, small budget": {"scheduler.chunked_prefill": "false", "scheduler.token_budget": "512"},
    "whole, prompts first": {"scheduler.chunked_prefill": "false", "scheduler.prefill_first": "true"},
    "slots": {"scheduler.static_slots": "4"},
    "scarce blocks": {"scheduler.kv_blocks": "6000", "scheduler.max_num_seqs": "256"},
    "scarce blocks, watermark": {"scheduler.kv_blocks": "4000", "scheduler.watermark_blocks": "400"},
    "scarce blocks, prompts first": {"scheduler.kv_blocks": "3000", "scheduler.prefill_first": "true"},
    "drafts": {"scheduler.speculation": DRAFTS},
    "drafts, all missed": {"scheduler.speculation": MISSES},
    "drafts, prompts first": {"scheduler.speculation": DRAFTS, "scheduler.prefill_first": "true"},
}


def lengths(inputs, outputs, *, count=1500, cv=0.6):
    """Log-normal, whole, at least one."""
    rng = np.random.default_rng(1)
    sd = np.sqrt(np.log(1 + cv**2))
    drawn = np.exp(rng.standard_normal((2, count)) * sd - sd**2 / 2) * [[inputs], [outputs]]
    return np.maximum(1, np.rint(drawn)).astype(int)


def carried(model, inputs, outputs, *, users=400, **more):
    """Requests/s between ramp and tail, with many more users than seats."""
    plan = Columns(np.zeros(len(inputs), int), inputs, outputs, concurrency=users, **more)
    end_s = np.sort(serve(server_of(model), plan).s("end_ns"))
    begin, end = int(0.3 * len(end_s)), int(0.8 * len(end_s))
    return (end - begin) / (end_s[end] - end_s[begin])


def told(model, inputs, outputs):
    return capacity_of(model, lambda hit: mix_of(inputs, outputs, prefix_hit=hit)).rate_per_s.median


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("case", CASES)
def test_the_closed_form_is_what_a_full_replica_carries(case, mix):
    """Within six in a hundred, most within two, whatever the way to fill a step."""
    model = changed(ALONE, CASES[case])
    inputs, outputs = lengths(*MIXES[mix])
    assert told(model, inputs, outputs) == pytest.approx(carried(model, inputs, outputs), rel=0.06)


def test_pairs_of_prompt_tokens_are_part_of_it():
    """Long prompts, a quarter of their time in attention."""
    inputs, outputs = lengths(3000, 30)
    pieces = {"step_time.pieces": "[{step_s=0.01, sequence_s=1e-4, prompt_token_s=2e-5, prompt_pair_s=4e-9}]"}
    quick, slow = changed(ALONE, {}), changed(ALONE, pieces)
    assert told(slow, inputs, outputs) < 0.85 * told(quick, inputs, outputs)
    assert told(slow, inputs, outputs) == pytest.approx(carried(slow, inputs, outputs), rel=0.04)


def test_steps_with_and_without_a_prompt_have_pieces_of_their_own():
    """Dear from 100 tokens on: only steps with a prompt pay it, and half a mean of both would be wrong."""
    same = "sequence_s=1e-4, prompt_token_s=2e-5"
    model = changed(ALONE, {"step_time.pieces": f"[{{step_s=0.01, {same}}}, {{from_tokens=100, step_s=0.05, {same}}}]"})
    inputs, outputs = lengths(500, 200)
    assert told(model, inputs, outputs) == pytest.approx(carried(model, inputs, outputs), rel=0.05)


def test_what_is_found_in_a_cache_is_neither_computed_nor_held_twice():
    """Six tenths of every prompt alike, and blocks for few requests."""
    inputs, outputs = lengths(800, 60)
    cached = {"scheduler.prefix_cache": "true", "scheduler.kv_blocks": "800", "prefix_hit": "0.6"}
    model = changed(ALONE, cached)
    seen = carried(model, inputs, outputs, block_tokens=16, prefixes=[list(range(int(n * 0.6) // 16)) for n in inputs])
    assert told(model, inputs, outputs) == pytest.approx(seen, rel=0.07)
    assert told(model, inputs, outputs) > 1.15 * told(changed(model, {"prefix_hit": "0.0"}), inputs, outputs)


@pytest.mark.parametrize("fleet", [("round-robin", 1), ("round-robin", 4), ("prefix-aware", 4)])
@pytest.mark.parametrize("blocks", ["none", "600"])
def test_the_hit_that_a_fleet_achieves_gives_its_capacity(fleet, blocks):
    """Forty beginnings in turn: an endless cache finds almost all, four small ones do not; the load follows."""
    router, replicas = fleet
    inputs, outputs = lengths(800, 30, cv=0.3)
    rng = np.random.default_rng(2)
    which = rng.integers(0, 40, len(inputs))
    shared = [[1000 * int(w) + i for i in range(min(int(n), 500) // 16)] for w, n in zip(which, inputs, strict=True)]
    model = changed(
        ALONE,
        {
            "scheduler.prefix_cache": "true",
            "scheduler.kv_blocks": blocks,
            "fleet.replicas": str(replicas),
            "fleet.router": router,
        },
    )
    plan = Columns(np.arange(len(inputs)) * 10_000_000, inputs, outputs, prefixes=shared, block_tokens=16)
    hit = achieved_hit(model, plan)
    assert hit.full > 0.45 if blocks == "none" else hit.full < 0.25
    found = capacity_of(model, lambda hit: mix_of(inputs, outputs, prefix_hit=hit), prefix_hit=hit.full)
    seen = carried(model, inputs, outputs, users=100 * replicas, prefixes=shared, block_tokens=16)
    assert found.rate_per_s.median == pytest.approx(seen, rel=0.08)


def test_a_server_that_caches_nothing_finds_nothing():
    """Blocks in the plan, none in the cache: the load is that of a hit of 0."""
    plan = Columns([0, 10**9], [160, 160], [4, 4], prefixes=[[1] * 10] * 2, block_tokens=16)
    assert achieved_hit(ALONE, plan) == AchievedHit(0.0, 0.0)
    found = achieved_hit(changed(ALONE, {"scheduler.prefix_cache": "true"}), plan)
    assert found.planned == pytest.approx(144 / 320)
    assert found.full == 0.0  # both begin at once, and neither finds what the other has not computed
    assert found.range == Range(low=0.0, high=found.planned)


def test_blocks_without_a_cache_leave_the_load_at_that_of_no_hit():
    """And with one the load is told as a range, lower."""
    plan = Columns(
        np.arange(200) * 10**8, np.full(200, 160), np.full(200, 40), prefixes=[[1] * 5] * 200, block_tokens=16
    )
    alone = Columns(plan.at_ns, plan.input_tokens, plan.output_tokens)
    none, bare, some = (
        standing_of(model, one, extrapolate=True).load.fraction
        for model, one in (
            (ALONE, plan),
            (ALONE, alone),
            (changed(ALONE, {"scheduler.prefix_cache": "true"}), plan),
        )
    )
    assert none == bare
    assert some.high < none.low


@pytest.mark.parametrize("acceptance", [0.0, 0.6, 1.0])
def test_tokens_a_step_are_those_of_counting(acceptance):
    """Against the steps that answers of 50 tokens take, drawn one by one."""
    drafts = Speculation(draft_tokens=3, acceptance=acceptance)
    mean, overshoot = tokens_a_step(drafts)
    assert mean == pytest.approx(drafts.tokens_per_step())
    rng = np.random.default_rng(3)
    steps = []
    for _ in range(2000):
        left, taken = 50, 0
        while left > 0:
            left -= 1 + int((rng.random(3) < acceptance).cumprod().sum())
            taken += 1
        steps.append(taken)
    assert (50 + overshoot) / mean == pytest.approx(np.mean(steps), rel=0.01)
    assert tokens_a_step(None) == (1.0, 0.0)


@settings(max_examples=20)
@given(count=st.integers(1, 6), share=st.floats(0.05, 8), cv=st.floats(0.2, 1.5))
def test_counts_of_steps_are_those_of_drawing(count, share, cv):
    """Gamma prompts cut at the budget; and whole ones put into it until one does not fit."""
    rng = np.random.default_rng(4)
    drawn = rng.gamma(1 / cv**2, cv**2, (20_000, 40))
    cut = np.ceil(drawn[:, :count].sum(axis=1) / (1 / share)).mean()
    assert steps_for(count, 1 / share, 1.0, cv) == pytest.approx(cut, rel=0.03)
    fits = 1 + (drawn.cumsum(axis=1) <= share)[:, 1:].sum(axis=1).mean()
    assert prompts_that_fit(share, 1.0, cv) == pytest.approx(fits, rel=0.05)


def filling(**changes) -> Filling:
    usual = {
        "seats": 8.0,
        "token_budget": 1000,
        "chunked": True,
        "prefill_first": False,
        "kv_tokens": None,
        "block_tokens": 16,
        "speculation": None,
    }
    return Filling(**{**usual, **changes})


def test_context_is_counted_token_by_token():
    """An answer of four after a prompt of ten reads 11, 12 and 13 tokens."""
    assert context_read(mix_of(np.array([10]), np.array([4]))) == pytest.approx(11 + 12 + 13)


def test_answers_of_one_token_are_prompts_alone():
    """No step decodes; the budget is full."""
    mix, steps = mix_of(np.full(5, 250), np.full(5, 1)), StepTime(pieces=(Piece(step_s=0.01, prompt_token_s=1e-5),))
    for first in (False, True):
        found = requests_per_s(steps, mix, filling(prefill_first=first, seats=64.0))
        assert found == pytest.approx(4 / (0.01 + 1e-2), rel=1e-3)


def test_a_cache_that_holds_no_request_is_refused():
    """And so is a replica on which nothing bounds the batch, elsewhere: see the tests of load."""
    mix = mix_of(np.full(5, 250), np.full(5, 100))
    with pytest.raises(CannotSayError, match="kv_tokens of 300 leave room for less than two requests"):
        steps_of(mix, filling(kv_tokens=300.0))


def test_steps_that_take_no_time_carry_any_rate():
    """Endless, and no error."""
    mix = mix_of(np.full(5, 250), np.full(5, 100))
    assert requests_per_s(StepTime(pieces=(Piece(),)), mix, filling()) == float("inf")
