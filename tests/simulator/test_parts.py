"""Parts of a fleet: what each carries in closed form is what a simulation of it comes to."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.simulator import changed, decode_model, load_of, mix_of, server_of
from caveat.simulator.parts import decoded
from caveat.simulator.samples import Rows
from tests.simulator.plans import Columns, poisson, serve

MODEL = decode_model("""
format = "caveat-model/1"
name = "m"
grade = "A"
prefix_hit = 0.0
[step_time]
kind = "pieces"
pieces = [{step_s = 0.01, sequence_s = 1e-4, prompt_token_s = 2e-5, context_token_s = 1e-7}]
[overheads]
intake_s = 0.0
[scheduler]
max_num_seqs = 32
token_budget = 2048
[provenance]
origin = "stated"
date = "2026-11-30"
[fleet]
replicas = 4
""")
SPLIT = {"prefill_replicas": "1", "kv_bytes_per_token": "1e5", "link_bytes_per_s": "1e10"}
OTHER = "{kind='pieces', pieces=[{step_s=0.02, sequence_s=2e-4, prompt_token_s=1e-5}]}"


def with_fleet(**settings):
    return changed(MODEL, {f"fleet.{key.replace('__', '.')}": value for key, value in settings.items()})


def split(**more):
    return with_fleet(**{f"disaggregation__{key}": value for key, value in {**SPLIT, **more}.items()})


def offered(rate_per_s, count, *, seed=1, prompts=(100, 900), answers=(2, 120)):
    rng = np.random.default_rng(seed)
    tokens_in, tokens_out = rng.integers(prompts[0], prompts[1], count), rng.integers(answers[0], answers[1] + 1, count)
    return Columns(poisson(rng, rate_per_s, count), tokens_in, tokens_out)


def load_at(model, plan, rate_per_s):
    return load_of(model, lambda hit: mix_of(plan.input_tokens, plan.output_tokens, prefix_hit=hit), rate_per_s)


def busy_shares(model, plan, pools):
    """Time in which steps were under way, as a share of the time in which requests came; for each pool."""
    server = server_of(model)
    fleet, _ = server._fleet(plan, Rows(closed=False))
    for _ in fleet.run():
        pass
    span_fs = int(plan.at_ns[-1]) * 1_000_000
    return [np.mean([fleet.replicas[number].busy_fs / span_fs for number in pool]) for pool in pools], fleet, span_fs


def test_load_of_pools_is_the_share_of_time_in_which_they_are_busy():
    """Batches of one: a step is as long as it is at capacity, so that load fraction and busy share are one thing."""
    alone = changed(split(prefill_replicas="2"), {"scheduler.max_num_seqs": "1", "scheduler.token_budget": "100000"})
    plan = offered(4, 8000, answers=(2, 40))
    load = load_at(alone, plan, 4)
    shares, fleet, span_fs = busy_shares(alone, plan, [range(2), range(2, 4)])
    links = fleet.link.tokens * 1e5 / 1e10 / (span_fs / 1e15)
    for name, share in zip(("prefill pool", "decode pool", "links"), (*shares, links), strict=True):
        assert load.parts[name].median == pytest.approx(share, rel=0.03)
    assert load.fraction == load.parts["decode pool"]


@pytest.mark.parametrize(
    ("model", "first"),
    [
        (split(prefill_replicas="1", link_bytes_per_s="1e12"), "prefill pool"),
        (split(prefill_replicas="3", link_bytes_per_s="1e12"), "decode pool"),
        (split(prefill_replicas="2", link_bytes_per_s="1e9"), "links"),
    ],
    ids=["prefill", "decode", "links"],
)
def test_overloaded_pools_carry_their_capacity(model, first):
    """Whichever part is full first; all others have a smaller load."""
    plan = offered(2000, 12_000)
    load = load_at(model, plan, 2000)
    assert max(load.parts, key=lambda name: load.parts[name].median) == first
    served = serve(server_of(model), plan)
    first_s = np.sort(served.s("end_ns"))
    carried = 8000 / (first_s[10_000] - first_s[2000])  # between ramp and tail
    assert carried == pytest.approx(load.capacity.rate_per_s.median, rel=0.06)


def test_models_on_replicas_of_their_own_have_a_load_each():
    """Three replicas for seven tenths, one of a slower model for the rest, which is full first; overload shows it."""
    model = with_fleet(several_models=f"{{others=[{OTHER}], shares=[0.7, 0.3], replicas=[3, 1]}}")
    plan = offered(20, 4000)
    load = load_at(model, plan, 20)
    alone = load_at(MODEL, plan, 14.0)  # on 4 replicas
    assert load.parts["model 0"].median == pytest.approx(alone.fraction.median * 4 / 3)
    assert load.fraction == load.parts["model 1"]
    assert load.words.endswith(f"model 0 {load.parts['model 0'].median:.2f}, model 1 {load.fraction.median:.2f}")
    many = offered(2000, 12_000)
    asked = server_of(model).shape.several_models.drawn(next(many.blocks()), 0)
    end_s = np.sort(serve(server_of(model), many).s("end_ns")[asked == 1])
    carried = (len(end_s) // 2) / (end_s[len(end_s) * 3 // 4] - end_s[len(end_s) // 4])
    assert carried == pytest.approx(0.3 * load.capacity.rate_per_s.median, rel=0.06)


@pytest.mark.parametrize("swap_s", ["0", "0.5"])
def test_models_that_swap_carry_something_in_the_range(swap_s):
    """Full batches at best; a swap at each change, and a request's time until batches are full again, at worst."""
    model = with_fleet(several_models=f"{{others=[{OTHER}], shares=[0.5, 0.5], swap_s={swap_s}, most_behind=0}}")
    plan = offered(500, 4000)
    found = load_at(model, plan, 500).capacity.rate_per_s
    end_s = np.sort(serve(server_of(model), plan).s("end_ns"))
    assert found.low < 2000 / (end_s[3000] - end_s[1000]) < found.high


def test_what_fails_by_chance_carries_less_by_the_time_in_which_it_is_away():
    """A fifth more than is carried, for some ninety failures; what they let be done again is little here."""
    chance = {"mean_between_s": "8", "mean_repair_s": "2", "retries": "1000", "seed": "1"}
    failing = with_fleet(router="least-outstanding", **{f"failures__{key}": value for key, value in chance.items()})
    plan = offered(250, 24_000, answers=(2, 20))
    whole, less = load_at(MODEL, plan, 60), load_at(failing, plan, 60)
    assert less.fraction.median == pytest.approx(whole.fraction.median / 0.8)
    assert less.one_down.median == pytest.approx(whole.fraction.median * 4 / 3)
    end_s = np.sort(serve(server_of(failing), plan).s("end_ns"))
    carried = 20_000 / (end_s[22_000] - end_s[2000])
    assert carried == pytest.approx(less.capacity.rate_per_s.median, rel=0.08)


def test_what_bounds_a_pool_is_known_or_nothing_is_said():
    """The prefill pool has its budget at least; whole prompts go in one by one; seats and blocks are limits of both."""
    plan = offered(20, 100)
    whole = changed(split(), {"scheduler.chunked_prefill": "false", "scheduler.token_budget": "100"})
    assert load_at(whole, plan, 1).capacity.parts[0].batch.sequences == 1
    few = changed(split(), {"scheduler.kv_blocks": "200"})
    by = [part.batch and part.batch.by for part in load_at(few, plan, 1).capacity.parts]
    assert by == ["token_budget", "kv_tokens", None]
    unsaid = msgspec.structs.replace(
        few, scheduler=msgspec.structs.replace(few.scheduler, max_num_seqs="unknown")
    )  # fmt: skip
    assert load_at(unsaid, plan, 1).capacity.parts[1].batch.by == "kv_tokens (max_num_seqs unknown)"


@pytest.mark.parametrize(
    "fleet", [{}, {"disaggregation": "{prefill_replicas=3, kv_bytes_per_token=1e5, link_bytes_per_s=1e12}"}]
)
def test_drafts_are_in_the_load(fleet):
    """Steps that cost more and give more than a token; alike replicas and pools, overloaded."""
    drafts = {"draft_tokens": "3", "acceptance": "0.7", "draft_step_s": "0.001", "draft_sequence_s": "5e-5"}
    model = changed(with_fleet(**fleet), {f"scheduler.speculation.{key}": value for key, value in drafts.items()})
    plan = offered(2000, 12_000, answers=(40, 120))
    load, plain = (load_at(one, plan, 20) for one in (model, with_fleet(**fleet)))
    assert load.fraction.median < plain.fraction.median
    end_s = np.sort(serve(server_of(model), plan).s("end_ns"))
    assert 8000 / (end_s[10_000] - end_s[2000]) == pytest.approx(load.capacity.rate_per_s.median, rel=0.06)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 60)), min_size=1, max_size=8))
def test_context_without_the_first_token_is_exact(lengths):
    """Against every token of every answer, one by one."""
    inputs, outputs = (np.array(column) for column in zip(*lengths, strict=True))
    steps = [prompt + made for prompt, answer in lengths for made in range(1, answer)]
    found = decoded(mix_of(inputs, outputs))
    assert found.context_tokens == pytest.approx(np.mean(steps) if steps else 0.0, abs=1e-6)
    assert found.prompt_tokens == found.prompt_pairs == 0


def test_answers_of_one_token_ask_nothing_of_the_decode_pool():
    """It carries any rate."""
    plan = offered(20, 100, answers=(1, 1))
    assert load_at(split(), plan, 20).parts["decode pool"].median == 0
