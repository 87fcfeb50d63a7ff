"""The description of a plan: conditions that the table knows, counted over the plan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.figures import conditions_of
from caveat.workload import (
    Burst,
    Concurrency,
    Fixed,
    LengthCounts,
    Limits,
    Loadgen,
    Poisson,
    Prefixes,
    Separate,
    Sessions,
    Think,
    Uniform,
    Workload,
)
from caveat.workload.gaps import ConstantGaps
from tests.workload.cases import SECOND, rows, workloads

ALL = workloads()
FIXED = Separate(input=Fixed(100), output=Fixed(20), output_cap=64)


@pytest.mark.parametrize("name", ALL)
def test_a_description_is_made_of_conditions(name: str):
    """Every key is in the table and every value passes its check."""
    described = ALL[name].plan().describe()
    conditions = conditions_of(described)
    assert {key: conditions.get(key) for key in described} == described


@pytest.mark.parametrize("name", ALL)
def test_lengths_and_reuse_are_counted_over_the_plan(name: str):
    """As a plain loop over the requests counts them."""
    described = ALL[name].plan().describe()
    requests = rows(ALL[name].plan())
    inputs = sorted(row[1] for row in requests)
    assert described["queries"] == len(requests)
    assert described["input_tokens_requested"] == {
        "mean": sum(inputs) / len(inputs),
        **{f"p{p}": float(inputs[-(-len(inputs) * p // 100) - 1]) for p in (50, 90, 99)},
        "max": float(inputs[-1]),
        "n": float(len(inputs)),
    }
    seen: set[int] = set()
    reused = 0
    for row in requests:
        reused += len(seen & set(row[7]))
        seen |= set(row[7])
    assert described["prefix_reuse_share"] == reused * ALL[name].plan().block_tokens / sum(inputs)


def test_a_poisson_workload_in_full():
    """Every value."""
    workload = Workload(arrivals=Poisson(4.0), lengths=FIXED, limits=Limits(duration_s=100.0), seed=3)
    count = len(rows(workload.plan()))
    assert workload.plan().describe() == {
        "dataset": "synthetic: input 100, output 20, output cut at 64",
        "arrivals": "poisson",
        "scenario": "poisson",
        "loop": "open",
        "latency_clock": "scheduled arrival",
        "target_qps": 4.0,
        "scheduled_qps": count / 100.0,
        "queries": count,
        "sessions": "none: every query stands alone",
        "prefix_reuse": "none across queries",
        "prefix_reuse_share": 0.0,
        "input_tokens_requested": {"mean": 100.0, "p50": 100.0, "p90": 100.0, "p99": 100.0, "max": 100.0, "n": count},
        "output_tokens_requested": {"mean": 20.0, "p50": 20.0, "p90": 20.0, "p99": 20.0, "max": 20.0, "n": count},
        "output_tokens_cap": 64,
    }


def test_a_conversation_in_full():
    """Two turns of 32 + 16 tokens: the second prompt, 80, has three blocks of which two were in the first."""
    lengths = Separate(input=Fixed(32), output=Fixed(16))
    sessions = Sessions(Fixed(2), think=Think(1.0, ConstantGaps()))
    workload = Workload(arrivals=Poisson(1.0), lengths=lengths, limits=Limits(requests=1000), sessions=sessions)
    described = workload.plan().describe()
    assert described["sessions"] == "1 start each second; turns 2, think time constant, mean 1 s, the context grows"
    assert described["prefix_reuse"] == (
        "each turn begins with its conversation; no system prompts, blocks of 16 tokens"
    )
    assert described["prefix_reuse_share"] == pytest.approx(32 / (32 + 80), rel=0.01)
    assert described["loop"] == "semi-open"
    assert "target_qps" not in described
    assert "scheduled_qps" not in described


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        (Burst(), ("all at once", "offline", "burst", "test start")),
        (Concurrency(8), ("concurrency(8)", "concurrency(8)", "closed", "issue")),
        (Loadgen(seed=1, target_qps=5.0, min_duration_ns=SECOND), ("poisson", "server", "open", "scheduled arrival")),
    ],
)
def test_loads_are_named_as_imported_results_name_them(arrivals, expected: tuple[str, ...]):
    """Arrivals, scenario, loop, clock."""
    described = Workload(arrivals=arrivals, lengths=FIXED, limits=Limits(requests=5)).plan().describe()
    assert tuple(described[key] for key in ("arrivals", "scenario", "loop", "latency_clock")) == expected


def test_two_seeds_of_one_workload_have_the_same_words():
    """So that they are not taken for different workloads."""
    words = [
        {
            key: value
            for key, value in Workload(
                arrivals=Poisson(3.0),
                lengths=FIXED,
                limits=Limits(duration_s=30.0),
                sessions=Sessions(Uniform(1, 5)),
                prefixes=Prefixes(prompts=3),
                seed=seed,
            )
            .plan()
            .describe()
            .items()
            if isinstance(value, str)
        }
        for seed in (1, 2)
    ]
    assert words[0] == words[1]


def test_an_empty_plan_has_no_lengths():
    """Unknown, not zero."""
    described = Workload(arrivals=Poisson(1e-3), lengths=FIXED, limits=Limits(duration_s=1e-6)).plan().describe()
    assert described["queries"] == 0
    assert {"input_tokens_requested", "output_tokens_requested", "prefix_reuse_share"}.isdisjoint(described)


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=20), min_size=1, max_size=5))
def test_counting_in_pieces_counts_the_whole(pieces: list[list[int]]):
    """However lengths are handed over."""
    counts, whole = LengthCounts(), LengthCounts()
    for piece in pieces:
        counts.add(np.array(piece))
    whole.add(np.array([length for piece in pieces for length in piece]))
    assert counts.statistics() == whole.statistics()
    assert counts.total() == sum(map(sum, pieces))
