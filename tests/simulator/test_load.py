"""Load of a model file: the range that comes first, and what is never taken as zero or endless."""

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError
from caveat.simulator.changed import changed
from caveat.simulator.length_mix import mix_of
from caveat.simulator.load import capacity_of, load_of
from caveat.simulator.model_file import Range, SchedulerTable, decode_model

MODEL = decode_model("""
format = "caveat-model/1"
name = "m"
grade = "A"
prefix_hit = 0.0
[step_time]
kind = "pieces"
pieces = [{step_s = 0.008, sequence_s = 5e-5, prompt_token_s = 5e-5, context_token_s = 2e-8}]
[overheads]
intake_s = 0.0
[scheduler]
max_num_seqs = 256
[provenance]
origin = "stated"
date = "2026-11-30"
[fleet]
replicas = 2
""")


def mix_at(hit: float):
    return mix_of(np.full(3, 1155), np.full(3, 211), prefix_hit=hit)


def with_limit(limit) -> SchedulerTable:
    return SchedulerTable(max_num_seqs=limit)


def test_without_ranges_the_load_is_one_number():
    """Two replicas; a formula in which every token decodes has 12.467/s each, but the first comes with its prompt.

    Of 211 tokens 210 decode, in 211 steps with a seat: 1 / (211 a / 256 + 1155 b + 210 c + 210 x 1260 d).
    """
    each = 1 / (211 * 0.008 / 256 + 1155 * 5e-5 + 210 * 5e-5 + 210 * (1155 + 211 / 2 - 0.5) * 2e-8)
    load = load_of(MODEL, mix_at, each)
    assert each == pytest.approx(12.467, rel=2e-3)
    assert load.fraction.median == pytest.approx(0.5, rel=1e-4)
    assert load.fraction.low == load.fraction.high
    assert load.unpredictable is None
    assert load.words == "load fraction 0.50 (0.50 to 0.50), batch limited by max_num_seqs"


def test_a_range_of_the_prefix_hit_is_a_range_of_the_load():
    """Its ends are those of the range, about, and the answer may become unpredictable."""
    model = msgspec.structs.replace(MODEL, prefix_hit=Range(low=0.0, high=0.9))
    load = load_of(model, mix_at, 24.0)
    ends = [load_of(MODEL, mix_at, 24.0, prefix_hit=hit).fraction.median for hit in (0.9, 0.0)]
    assert ends[0] < load.fraction.low < load.fraction.median < load.fraction.high < ends[1]
    assert load.fraction.high - load.fraction.low > 0.7 * (ends[1] - ends[0])
    assert "TTFT is not predictable" in load.unpredictable


def test_a_range_of_the_batch_limit_is_a_range_of_capacity():
    """More sequences carry more."""
    model = msgspec.structs.replace(MODEL, scheduler=with_limit(Range(low=16, high=256)))
    found = capacity_of(model, mix_at).rate_per_s
    ends = [capacity_of(MODEL, mix_at, max_num_seqs=n).rate_per_s.median for n in (16, 256)]
    assert ends[0] < found.low < found.high < ends[1]


def test_unknown_is_neither_zero_nor_endless():
    """Refused, unless something else bounds the batch, and then that is said."""
    with pytest.raises(CannotSayError, match="prefix_hit is unknown"):
        load_of(msgspec.structs.replace(MODEL, prefix_hit="unknown"), mix_at, 1.0)
    with pytest.raises(CannotSayError, match="nothing bounds the batch"):
        capacity_of(msgspec.structs.replace(MODEL, scheduler=with_limit("unknown")), mix_at)
    bounded = msgspec.structs.replace(with_limit("unknown"), kv_blocks=1000)
    found = capacity_of(msgspec.structs.replace(MODEL, scheduler=bounded), mix_at)
    assert found.batch.by == "kv_tokens (max_num_seqs unknown)"


def test_slots_bound_the_batch_where_they_are_fixed():
    """llama.cpp style."""
    model = msgspec.structs.replace(MODEL, scheduler=SchedulerTable(max_num_seqs=256, static_slots=4))
    assert capacity_of(model, mix_at).batch.sequences == 4


def test_ranges_of_seats_and_of_the_hit_are_gone_through_apart():
    """Many seats meet few hits too: the range is that of the grid of both, not of its diagonal."""
    both = msgspec.structs.replace(
        MODEL, prefix_hit=Range(low=0.0, high=0.9), scheduler=with_limit(Range(low=8, high=64))
    )
    grid = sorted(
        load_of(MODEL, mix_at, 12.0, max_num_seqs=seats, prefix_hit=hit).fraction.median
        for seats in np.linspace(8, 64, 40)
        for hit in np.linspace(0, 0.9, 40)
    )
    found = load_of(both, mix_at, 12.0).fraction
    ends = [grid[round(share * len(grid))] for share in (0.1, 0.5, 0.9)]
    assert [found.low, found.median, found.high] == pytest.approx(ends, rel=0.06)


def test_a_policy_without_use_says_so():
    """No workload gives priorities; the figures are those of first come, first served."""
    found = load_of(changed(MODEL, {"scheduler.policy": "priority"}), mix_at, 10.0)
    assert found.beside[0].startswith("policy: priority, but no workload gives")
    assert found.fraction == load_of(MODEL, mix_at, 10.0).fraction


def with_fleet(**fleet):
    return changed(MODEL, {"fleet.replicas": "4", **{f"fleet.{name}": value for name, value in fleet.items()}})


def test_each_pool_is_told_and_the_fullest_is_the_answer():
    """In words, with what limits it."""
    pools = "{prefill_replicas=1, kv_bytes_per_token=1e5, link_bytes_per_s=1e10}"
    load = load_of(with_fleet(disaggregation=pools), mix_at, 10.0)
    assert load.fraction == load.parts["prefill pool"]
    assert load.words == (
        "load fraction 0.59 (0.59 to 0.59), batch limited by token_budget (prefill pool): "
        "prefill pool 0.59, decode pool 0.07, links 0.12"
    )
    slow = with_fleet(disaggregation=pools.replace("1e10", "1.2e9"))
    assert load_of(slow, mix_at, 10.0).words.startswith("load fraction 0.96 (0.96 to 0.96), limited by the links")


def test_a_range_of_the_model_is_a_range_of_each_part():
    """Draw by draw the part that is full first: the range of the whole is not that of one part."""
    model = with_fleet(disaggregation="{prefill_replicas=1, kv_bytes_per_token=1e5, link_bytes_per_s=1e11}")
    ranged = msgspec.structs.replace(model, prefix_hit=Range(low=0.2, high=1.0))
    load = load_of(ranged, mix_at, 10.0)
    assert load.parts["prefill pool"].high - load.parts["prefill pool"].low > 0.3
    assert load.parts["decode pool"].low == load.parts["decode pool"].high
    assert load.fraction.low == load.parts["decode pool"].low > load.parts["prefill pool"].low
    assert load.fraction.high == load.parts["prefill pool"].high


def test_an_autoscaled_fleet_says_what_its_fewest_replicas_carry():
    """Alone, or not: then how long it takes until there are more, unless the load is over by then."""
    scaled = with_fleet(autoscaling="{target_outstanding=50, min_replicas=2}")
    easy, hard = load_of(scaled, mix_at, 12.0, lasting_s=60), load_of(scaled, mix_at, 32.0, lasting_s=600)
    assert easy.beside == (
        "autoscaling: load fraction 0.48 (0.48 to 0.48) with the fewest replicas, 2 of 4: they carry it alone",
    )
    assert (easy.unpredictable, hard.unpredictable) == (None, None)
    assert "1.28 (1.28 to 1.28) with the fewest replicas, 2 of 4; more take requests 120 s after" in hard.beside[0]
    assert hard.numbers == {
        "low": hard.fraction.low,
        "median": pytest.approx(0.64, abs=0.01),
        "high": hard.fraction.high,
        "fewest replicas": pytest.approx(1.28, abs=0.01),
    }
    over = load_of(scaled, mix_at, 32.0, lasting_s=100)
    assert over.unpredictable.endswith("requests 135 s after the start at the soonest, and the load lasts 100 s")
    assert load_of(scaled, mix_at, 60.0).unpredictable is not None  # even all of them


def test_what_fails_says_what_is_left():
    """Its share of the time in the load, and the load while one is down; nobody where it was the only one."""
    chance = with_fleet(failures="{mean_between_s=3600, mean_repair_s=400}")
    load = load_of(chance, mix_at, 24.0)
    assert load.beside == (
        "failures: a replica works 90.00% of the time, which is in the load fraction; while one is down the load "
        "fraction is 0.64 (0.64 to 0.64)",
    )
    assert load.fraction.median == pytest.approx(load_of(with_fleet(), mix_at, 24.0).fraction.median / 0.9)
    planned = with_fleet(replicas="1", failures="{outages=[{replica=0, at_s=1.0}]}")
    alone = load_of(planned, mix_at, 1.0)
    assert alone.beside == ("failures: while one is down nobody is left to serve",)
    assert "one replica down" not in alone.numbers
