"""Load of a model file: the range that comes first, and what is never taken as zero or endless."""

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError
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
    """Two replicas of 12.467/s; at 12.467/s half of it."""
    load = load_of(MODEL, mix_at, 12.467)
    assert load.fraction.median == pytest.approx(0.5, abs=1e-4)
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
