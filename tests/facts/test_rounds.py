"""Rounds: seeds, order, and which log key is the published result."""

import pytest

from caveat.facts import ROUNDS, Seeds, result_key, round_index, round_named, round_of_seeds
from caveat.facts.rounds import AS_OF
from tests.facts.real_data import MLPERF, detail_values, needs_results, summary_rows

SEEDS = {
    "v4.0": (13281865557512327830, 198141574272810017, 7575108116881280410),
    "v4.1": (3066443479025735752, 10688027786191513374, 14962580496156340209),
    "v5.0": (6023615788873153749, 15036839855038426416, 9933818062894767841),
    "v5.1": (1780908523862526354, 14771362308971278857, 18209322760996052031),
    "v6.0": (2465351861681999779, 14276810075590677512, 3936089224930324775),
    "v6.1": (2085463073848966840, 2747215439041700203, 16159082839903944936),
}

TOKENS = "result_tokens_per_second"
COMPLETED_TOKENS = "result_completed_tokens_per_second"
KEYS = {
    ("v4.0", "llama2-70b-99", "server"): "result_completed_samples_per_sec",
    ("v4.0", "llama2-70b-99.9", "offline"): TOKENS,
    ("v4.0", "gptj-99", "server"): "result_scheduled_samples_per_sec",
    ("v4.0", "gptj-99", "offline"): "result_samples_per_second",
    ("v4.0", "gptj-99", "single-stream"): "early_stopping_latency_ss",
    ("v4.1", "gptj-99.9", "server"): "result_inferred_completed_tokens_per_second",
    ("v5.0", "gptj-99.9", "offline"): "result_inferred_tokens_per_second",
    ("v5.0", "gptj-99", "single-stream"): "early_stopping_latency_ss",
    ("v4.1", "llama2-70b-99.9", "server"): COMPLETED_TOKENS,
    ("v4.1", "mixtral-8x7b", "offline"): TOKENS,
    ("v5.0", "llama2-70b-interactive-99.9", "interactive"): COMPLETED_TOKENS,
    ("v5.1", "llama3.1-405b", "Interactive"): COMPLETED_TOKENS,
    ("v5.1", "whisper", "Offline"): TOKENS,
    ("v5.1", "llama3.1-8b-edge", "SingleStream"): "result_90.00_percentile_latency_ns",
    ("v6.1", "llama3_1-8b-edge", "offline"): TOKENS,
    ("v6.0", "qwen3-vl-235b-a22b", "server"): "result_completed_samples_per_sec",
    ("v6.1", "VLM", "interactive"): "result_completed_samples_per_sec",
    ("v6.1", "VLM", "offline"): "result_samples_per_second",
    ("v6.1", "gpt-oss-120b", "interactive"): COMPLETED_TOKENS,
}

UNKNOWN = [
    ("v7.0", "llama2-70b-99.9", "server"),
    ("v3.1", "gptj-99", "offline"),
    ("v6.1", "llama2-70b-99", "server"),
    ("v6.1", "mixtral-8x7b", "offline"),
    ("v5.1", "gptj-99", "offline"),
    ("v5.1", "deepseek-r1", "interactive"),
    ("v6.1", "resnet", "offline"),
    ("v6.1", "llama2-70b", "offline"),
    ("v6.1", "whisper", "server"),
    ("v6.1", "llama3.1-8b", "multi-stream"),
    ("v6.1", "llama3.1-8b", "burst"),
    ("v6.1", "qwen3.6-27b", "single-stream"),
    ("v6.1", "e2e-rag-qna", "offline"),
]


def test_the_seeds_of_all_rounds_are_those_of_the_checker():
    """Every seed is checked digit by digit, and the table is in the order of the rounds."""
    table = {one.name: (one.seeds.qsl, one.seeds.sample_index, one.seeds.schedule) for one in ROUNDS}
    assert table == SEEDS
    assert list(table) == sorted(SEEDS)


def test_every_round_says_where_it_was_read():
    """A source is a repository at a commit."""
    assert all(" @ " in one.source for one in ROUNDS)
    assert AS_OF == "2026-08-20"


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_name_their_round_and_only_all_three_together(name):
    """Two right seeds and a wrong one are of no round."""
    qsl, sample_index, schedule = SEEDS[name]
    assert round_of_seeds(qsl=qsl, sample_index=sample_index, schedule=schedule) == round_named(name)
    assert round_of_seeds(qsl=qsl, sample_index=sample_index, schedule=schedule + 1) is None


def test_zero_seeds_are_of_no_round():
    """Some accuracy logs have all seeds zero."""
    assert round_of_seeds(qsl=0, sample_index=0, schedule=0) is None


def test_rounds_are_found_by_name_and_have_an_order():
    """An unknown round has neither record nor place."""
    assert [round_index(name) for name in SEEDS] == [0, 1, 2, 3, 4, 5]
    assert round_named("v6.1") is not None
    assert round_named("6.1") is None
    assert round_index("v7.0") is None


def test_seeds_are_frozen_records():
    """Two equal records are equal values."""
    assert Seeds(qsl=1, sample_index=2, schedule=3) == Seeds(qsl=1, sample_index=2, schedule=3)


@pytest.mark.parametrize(("where", "key"), KEYS.items(), ids=lambda item: str(item))
def test_the_published_result_has_a_key_in_the_detail_log(where, key):
    """The key depends on round, benchmark and scenario."""
    assert result_key(*where) == key


@pytest.mark.parametrize("where", UNKNOWN, ids=str)
def test_where_no_source_says_there_is_no_key(where):
    """An unknown round, benchmark or scenario gives None, not the newest rule."""
    assert result_key(*where) is None


@needs_results
def test_seeds_of_real_logs_name_the_round_they_were_published_in():
    """A sample of the performance logs of every round."""
    logs = sorted(MLPERF.glob("submissions/*/*/*/results/*/*/*/performance/run_1/mlperf_log_detail.txt"))
    assert len(logs) > 1000
    for path in logs[::40]:
        log = detail_values(path)
        names = ("qsl", "sample_index", "schedule")
        seeds = {name: int(str(log[f"effective_{name}_rng_seed"])) for name in names}
        found = round_of_seeds(**seeds)
        assert found is not None, path
        assert found.name == path.relative_to(MLPERF).parts[1], path


@needs_results
def test_the_key_holds_the_published_number_of_real_rows():
    """A sample of v5.1 and v6.0 rows whose log is at hand: equal to six digits."""
    checked = 0
    for row in summary_rows()[::7]:
        key = result_key(row["version"], row["Model"], row["Scenario"])
        run = MLPERF / "submissions" / row["version"] / row["Location"].removesuffix("/performance/run_1")
        path = run / "performance" / "run_1" / "mlperf_log_detail.txt"
        if key is None or not path.is_file():
            continue
        value = float(str(detail_values(path)[key]))
        if key.endswith("_ns"):
            value /= 1e6
        assert value == pytest.approx(float(row["Performance_Result"]), rel=1e-4), path
        checked += 1
    assert checked > 50
