"""Benchmarks: names, rounds, scenarios, latency limits, accuracy and length bounds."""

import pytest

from caveat.facts import (
    BENCHMARKS,
    SCENARIOS,
    accuracy_thresholds,
    benchmark_named,
    benchmarks_of_model,
    dataset_samples,
    is_other_benchmark,
    limits,
    scenario_of,
    scenario_within,
    scenarios,
    tokens_per_sample_range,
)
from caveat.facts.benchmarks import ALIASES, LIMITS, SCENARIO_ROUNDS
from tests.facts.real_data import needs_results, summary_rows

ROUNDS = ("v4.0", "v4.1", "v5.0", "v5.1", "v6.0", "v6.1")

# id: (samples, input max, output cap, first round, last round)
TABLE = {
    "gptj-99": (13368, 2048, 128, "v4.0", "v5.0"),
    "gptj-99.9": (13368, 2048, 128, "v4.0", "v5.0"),
    "llama2-70b-99": (24576, 1024, 1024, "v4.0", "v6.0"),
    "llama2-70b-99.9": (24576, 1024, 1024, "v4.0", "v6.1"),
    "mixtral-8x7b": (15000, 2048, 1024, "v4.1", "v6.0"),
    "llama3.1-405b": (8313, 20000, 2000, "v5.0", "v6.0"),
    "llama3.1-8b": (13368, 2048, 128, "v5.1", "v6.1"),
    "llama3.1-8b-edge": (5000, 2048, 128, "v5.1", "v6.1"),
    "deepseek-r1": (4388, 3136, 20000, "v5.1", "v6.1"),
    "gpt-oss-120b": (6396, None, 10240, "v6.0", "v6.1"),
    "qwen3-vl-235b-a22b": (48289, None, None, "v6.0", "v6.1"),
    "whisper": (1633, None, None, "v5.1", "v6.1"),
    "qwen3.6-27b": (995, None, 1024, "v6.1", "v6.1"),
    "e2e-rag-qna": (824, None, None, "v6.1", "v6.1"),
}

# id, scenario: (TTFT ms, TPOT ms, whole request ms, first round)
LIMITS_MS = {
    ("gptj-99", "server"): (None, None, 20000, "v4.0"),
    ("llama2-70b-99", "server"): (2000, 200, None, "v4.0"),
    ("llama2-70b-99.9", "server"): (2000, 200, None, "v4.0"),
    ("llama2-70b-99.9", "interactive"): (450, 40, None, "v5.0"),
    ("mixtral-8x7b", "server"): (2000, 200, None, "v4.1"),
    ("llama3.1-405b", "server"): (6000, 175, None, "v5.0"),
    ("llama3.1-405b", "interactive"): (4500, 80, None, "v5.1"),
    ("llama3.1-8b", "server"): (2000, 100, None, "v5.1"),
    ("llama3.1-8b", "interactive"): (500, 30, None, "v5.1"),
    ("deepseek-r1", "server"): (2000, 80, None, "v5.1"),
    ("deepseek-r1", "interactive"): (1500, 15, None, "v6.0"),
    ("gpt-oss-120b", "server"): (3000, 80, None, "v6.0"),
    ("gpt-oss-120b", "interactive"): (2000, 15, None, "v6.0"),
    ("qwen3-vl-235b-a22b", "server"): (None, None, 12000, "v6.0"),
    ("qwen3-vl-235b-a22b", "interactive"): (None, None, 1500, "v6.1"),
}

NAMES = {
    "llama3_1-8b": "llama3.1-8b",
    "llama3_1-405b": "llama3.1-405b",
    "llama3_1-8b-edge": "llama3.1-8b-edge",
    "LLAMA3.1-8B": "llama3.1-8b",
    " gptj-99 ": "gptj-99",
    "llama2-70b-interactive-99": "llama2-70b-99",
    "llama2-70b-interactive-99.9": "llama2-70b-99.9",
    "gpt-oss-120b-interactive": "gpt-oss-120b",
    "VLM": "qwen3-vl-235b-a22b",
    "qwen3-vl": "qwen3-vl-235b-a22b",
    "agentic edge": "qwen3.6-27b",
    "end to end question-answering": "e2e-rag-qna",
    "whisper": "whisper",
}

OTHERS = [
    "resnet",
    "resnet50",
    "retinanet",
    "3d-unet-99",
    "3d-unet-99.9",
    "bert-99",
    "bert-99.9",
    "rgat",
    "dlrm-v2-99",
    "dlrm-v2-99.9",
    "dlrm-v3",
    "stable-diffusion-xl",
    "pointpainting",
    "pointpainting-99.9",
    "yolo-95",
    "yolo-99",
    "wan-2.2-t2v-a14b",
    "text_to_video",
    "e2e-rag-db",
]

SPELLINGS = {
    "Server": "server",
    "server": "server",
    "Interactive": "interactive",
    "Offline": "offline",
    "offline": "offline",
    "SingleStream": "single-stream",
    "singlestream": "single-stream",
    "single-stream": "single-stream",
    "single_stream": "single-stream",
    "MultiStream": "multi-stream",
    "multistream": "multi-stream",
}


def test_there_is_one_record_per_official_id():
    """Samples, lengths and rounds are those of checker, reference and rules."""
    table = {
        one.id: (one.dataset_samples, one.input_tokens_max, one.output_tokens_cap, one.rounds[0], one.rounds[-1])
        for one in BENCHMARKS
    }
    assert table == TABLE


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda one: one.id)
def test_a_record_is_sourced_and_its_rounds_are_without_gaps(benchmark):
    """No benchmark has come back after it was dropped."""
    assert " @ " in benchmark.source
    first, last = ROUNDS.index(benchmark.rounds[0]), ROUNDS.index(benchmark.rounds[-1])
    assert benchmark.rounds == ROUNDS[first : last + 1]
    assert benchmark.id.startswith(benchmark.model)
    assert benchmark.track is None or benchmark.id.endswith(f"-{benchmark.track}")
    assert benchmark.modality in ("text", "image+text", "speech")


def test_only_rates_that_count_tokens_say_so():
    """The vision-language, agentic and retrieval benchmarks publish samples, milliseconds and tasks."""
    assert {one.id for one in BENCHMARKS if not one.token_rate} == {"qwen3-vl-235b-a22b", "qwen3.6-27b", "e2e-rag-qna"}
    assert {one.id for one in BENCHMARKS if not one.language_model} == {"whisper"}


@pytest.mark.parametrize("name", [*TABLE, *(one.upper() for one in TABLE)])
def test_an_official_id_is_found_in_any_case(name):
    """Ids are written in several cases."""
    found = benchmark_named(name)
    assert found is not None
    assert found.id == name.lower()


@pytest.mark.parametrize(("name", "benchmark_id"), NAMES.items())
def test_an_alias_of_real_files_means_an_official_id(name, benchmark_id):
    """Summaries and directories do not always use the id."""
    found = benchmark_named(name)
    assert found is not None
    assert found.id == benchmark_id


def test_all_aliases_lead_somewhere():
    """No alias points to a missing record."""
    assert set(ALIASES.values()) <= set(TABLE)


@pytest.mark.parametrize("name", ["llama2-70b", "gptj", "", "llama3_1-70b-fp8_pre", "llama3_1-405b_pruned", "resnet"])
def test_an_ambiguous_or_foreign_name_is_no_benchmark(name):
    """A name without its track could be two benchmarks; a submitter's own model is none."""
    assert benchmark_named(name) is None


def test_a_model_has_a_benchmark_per_track():
    """The way out of an ambiguous name."""
    assert [one.id for one in benchmarks_of_model("Llama2-70b")] == ["llama2-70b-99", "llama2-70b-99.9"]
    assert benchmarks_of_model("resnet") == ()


@pytest.mark.parametrize("name", [*OTHERS, "ResNet", "end to end vector-database"])
def test_benchmarks_of_other_kinds_are_known_as_such(name):
    """An importer can leave them out without a complaint."""
    assert is_other_benchmark(name)
    assert benchmark_named(name) is None


@pytest.mark.parametrize("name", [*TABLE, *NAMES, "", "bertha", "yolo-street"])
def test_language_benchmarks_and_unknown_names_are_not_other_benchmarks(name):
    """The two kinds never overlap."""
    assert not is_other_benchmark(name)


@pytest.mark.parametrize(("name", "scenario"), SPELLINGS.items())
def test_scenario_spellings_of_real_files_have_one_name(name, scenario):
    """Directory case varies."""
    assert scenario_of(name) == scenario


def test_what_is_no_scenario_has_no_name():
    """An unknown word is not forced into a scenario."""
    assert set(SPELLINGS.values()) == set(SCENARIOS)
    assert scenario_of("performance") is None
    assert scenario_of("") is None


def test_interactive_may_be_inside_a_benchmark_name():
    """v5.0 filed it so."""
    assert scenario_within("llama2-70b-interactive-99") == "interactive"
    assert scenario_within("llama2-70b-99") is None


@pytest.mark.parametrize(("where", "values"), LIMITS_MS.items(), ids=str)
@pytest.mark.parametrize("round_name", ROUNDS)
def test_limits_hold_from_their_first_round_on(where, values, round_name):
    """In seconds at the 99th percentile; None before the scenario existed and after the benchmark was dropped."""
    benchmark_id, scenario = where
    ttft_ms, tpot_ms, latency_ms, first = values
    found = limits(benchmark_id, round_name, scenario)
    if round_name < first or round_name > TABLE[benchmark_id][4]:
        assert found is None
        return
    assert found is not None
    expected = tuple(None if ms is None else ms / 1000 for ms in (ttft_ms, tpot_ms, latency_ms))
    assert (found.ttft_s, found.tpot_s, found.latency_s) == expected
    assert found.percentile == 0.99
    assert " @ " in found.source


def test_no_limit_is_missing_from_this_test():
    """Every entry of the table is checked above."""
    models = {(benchmark_id.removesuffix("-99").removesuffix("-99.9"), name) for benchmark_id, name in LIMITS_MS}
    assert models == set(LIMITS)


def test_the_conflict_about_gpt_oss_interactive_is_kept():
    """Sources say 15 and 20 ms; one is used, both are told."""
    found = limits("gpt-oss-120b", "v6.1", "Interactive")
    assert found is not None
    assert found.note is not None
    assert "15 ms" in found.note
    assert "20 ms" in found.note


@pytest.mark.parametrize("scenario", ["offline", "single-stream", "multi-stream", "nonsense"])
def test_scenarios_without_limits_have_none(scenario):
    """Offline, the streams and unknown words."""
    for benchmark_id in TABLE:
        assert limits(benchmark_id, "v6.1", scenario) is None


def test_limits_of_an_unknown_benchmark_or_round_are_none():
    """Unknown is unknown."""
    assert limits("resnet", "v6.1", "server") is None
    assert limits("llama2-70b-99.9", "v7.0", "server") is None


def test_scenarios_depend_on_the_round():
    """Interactive came later than Server."""
    assert scenarios("llama2-70b-99.9", "v4.1") == ("offline", "server")
    assert scenarios("llama2-70b-99.9", "v5.0") == ("offline", "server", "interactive")
    assert scenarios("VLM", "v6.0") == ("offline", "server")
    assert scenarios("qwen3.6-27b", "v6.1") == ("single-stream",)
    assert scenarios("llama3.1-8b-edge", "v6.1") == ("offline", "single-stream")
    assert scenarios("llama2-70b-99", "v6.1") == ()
    assert scenarios("resnet", "v6.1") == ()
    assert set(SCENARIO_ROUNDS) == {one.model for one in BENCHMARKS}


def test_accuracy_thresholds_are_reference_times_track():
    """99 and 99.9 percent of the same reference."""
    assert accuracy_thresholds("llama2-70b-99", "v6.0") == pytest.approx(
        {"rouge1": 43.986888, "rouge2": 21.814848, "rougeL": 28.330038}
    )
    assert accuracy_thresholds("llama2-70b-99.9", "v6.0") == pytest.approx(
        {"rouge1": 44.3867688, "rouge2": 22.0131648, "rougeL": 28.5875838}
    )
    assert accuracy_thresholds("gpt-oss-120b", "v6.1") == pytest.approx({"exact_match": 82.2987})
    assert accuracy_thresholds("qwen3.6-27b", "v6.1") == pytest.approx({"overall": 83.6431, "normalized": 85.3212})
    assert accuracy_thresholds("e2e-rag-qna", "v6.1") == {"accuracy": 33.95}
    assert accuracy_thresholds("llama2-70b-99", "v6.1") is None
    assert accuracy_thresholds("unknown", "v6.1") is None


def test_mixtral_has_other_reference_scores_and_bounds_in_v41():
    """References and the lower length bound changed with v5.0."""
    mixtral = benchmark_named("mixtral-8x7b")
    assert mixtral is not None
    old, new = accuracy_thresholds(mixtral, "v4.1"), accuracy_thresholds(mixtral, "v6.0")
    assert old == pytest.approx(
        {key: 0.99 * x for key, x in zip(_MIXTRAL, (45.4911, 23.2829, 30.3615, 73.78, 60.12), strict=True)}
    )
    assert new == pytest.approx(
        {key: 0.99 * x for key, x in zip(_MIXTRAL, (45.5989, 23.3526, 30.4608, 73.66, 60.16), strict=True)}
    )
    assert tokens_per_sample_range(mixtral, "v4.1") == pytest.approx((131.31, 160.49))
    assert tokens_per_sample_range(mixtral, "v5.0") == pytest.approx((130.356, 160.49))


_MIXTRAL = ("rouge1", "rouge2", "rougeL", "gsm8k", "mbxp")


def test_the_vision_language_benchmark_has_another_set_for_interactive():
    """8000 samples and a lower reference in v6.1's Interactive."""
    assert dataset_samples("VLM", "v6.1", "Offline") == 48289
    assert dataset_samples("VLM", "v6.1", "Interactive") == 8000
    assert dataset_samples("VLM", "v5.1") is None
    assert accuracy_thresholds("VLM", "v6.1", "interactive") == pytest.approx({"F1_HIERARCHICAL": 0.99 * 0.7878})
    assert accuracy_thresholds("VLM", "v6.1", "server") == pytest.approx({"F1_HIERARCHICAL": 0.99 * 0.7903})


@pytest.mark.parametrize(
    ("benchmark_id", "low", "high"),
    [
        ("llama2-70b-99.9", 265.0, 323.9),
        ("llama3.1-405b", 616.2, 753.1),
        ("deepseek-r1", 3497.6, 4274.9),
        ("gpt-oss-120b", 1150.38, 1406.02),
        ("e2e-rag-qna", 246.43, 301.19),
    ],
)
def test_bounds_on_mean_output_length(benchmark_id, low, high):
    """Nine to eleven tenths of the reference length."""
    found = benchmark_named(benchmark_id)
    assert found is not None
    assert tokens_per_sample_range(found, found.rounds[-1]) == pytest.approx((low, high), abs=0.06)


@pytest.mark.parametrize("benchmark_id", ["gptj-99", "llama3.1-8b", "llama3.1-8b-edge", "whisper"])
def test_bounds_in_characters_are_no_bounds_in_tokens(benchmark_id):
    """GEN_LEN counts characters."""
    found = benchmark_named(benchmark_id)
    assert found is not None
    assert found.tokens_per_sample_range is None
    assert tokens_per_sample_range(found, "v7.0") is None


@needs_results
def test_every_model_of_the_published_summaries_is_known():
    """Either a benchmark of the table or one of another kind."""
    for name in {row["Model"] for row in summary_rows()}:
        assert (benchmark_named(name) is not None) != is_other_benchmark(name), name


@needs_results
def test_every_published_language_row_is_in_a_known_round_and_scenario():
    """The tables miss no row of three rounds, and only Interactive and Server rows have limits."""
    for row in summary_rows():
        found = benchmark_named(row["Model"])
        if found is None:
            continue
        name = scenario_of(row["Scenario"])
        assert name in scenarios(found.id, row["version"]), row
        has_limits = limits(found.id, row["version"], row["Scenario"]) is not None
        assert has_limits == (name in ("server", "interactive")), row
        unit = row["Performance_Units"]
        if found.token_rate and found.language_model and name != "single-stream":
            assert unit == "Tokens/s" or (row["version"], found.id, name) == ("v5.1", "llama3.1-8b", "interactive")
        elif not found.token_rate:
            assert unit in ("Samples/s", "Queries/s", "Tasks/s", "Latency (ms)")
