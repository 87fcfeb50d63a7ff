"""Settings that LoadGen cannot hold, or that nobody can have meant, are refused by name."""

import math

import msgspec
import pytest

from caveat.errors import CaveatError, UsageError
from caveat.loadgen.official import OfficialSettings
from caveat.workload import schedule_extent
from tests.loadgen.official.runs import SEEDS, settings

REFUSED = {
    "target_qps": {"target_qps": math.nan},
    "min_duration_s": {"min_duration_s": 0.0005},
    "percentile": {"percentile": 99.0},
    "min_queries": {"min_queries": 0},
    "qsl_seed": {"qsl_seed": 1 << 64},
    "total_samples": {"performance_samples": 8, "total_samples": 7},
    "input_tokens": {"input_tokens": (1, 2, 3)},
    "output_tokens": {"output_tokens": (0,)},
    "prompts": {"prompts": ("only one",)},
    "distinct_prompts": {"prompts": ("a",) * 64, "distinct_prompts": True},
    "offline_in_flight": {"offline_in_flight": 0},
    "expected one for server only": {"scenario": "offline", "ttft_s": 1.0},
    "expected ttft_s and tpot_s": {"ttft_s": None},
    "expected latency_s": {"token_latencies": False},
    "at most 10,000,000 queries": {"target_qps": 1e6, "min_duration_s": 20.0},
}


@pytest.mark.parametrize(("says", "changes"), REFUSED.items(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_by_name(says, changes):
    """One wrong field each."""
    with pytest.raises(UsageError, match=says):
        settings(**changes)


def test_a_schedule_too_long_to_draw_is_refused():
    """By the schedule's own check."""
    with pytest.raises(CaveatError):
        settings(target_qps=1e-9, min_queries=10_000_000)


@pytest.mark.parametrize(("equal_issue", "count", "duration_ns"), [(False, 601, 3000770763), (True, 640, 3154871249)])
def test_the_schedule_is_loadgens(equal_issue, count, duration_ns):
    """The two vectors that a real LoadGen gave."""
    asked = settings(target_qps=200.0, min_duration_s=3.0, min_queries=100, equal_issue=equal_issue)
    extent = schedule_extent(asked.schedule())
    assert (extent.count, extent.generated_duration_ns) == (count, duration_ns)
    assert settings(mode="accuracy").schedule() is None
    assert settings(scenario="offline").schedule() is None


def test_lengths_are_one_for_all_or_each_samples_own():
    """By the sample's index."""
    asked = settings(performance_samples=2, total_samples=3, input_tokens=(5, 6, 7), output_tokens=(9,))
    assert [asked.lengths(index) for index in range(3)] == [(5, 9), (6, 9), (7, 9)]


def test_settings_survive_the_way_to_another_process():
    """As JSON, seeds of 64 bits and all."""
    asked = settings(**SEEDS, percentile=0.9)
    assert msgspec.json.decode(msgspec.json.encode(asked), type=OfficialSettings) == asked
