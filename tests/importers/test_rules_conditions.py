"""What rules fix about a run, and what they leave undisclosed."""

import pytest

from caveat.facts import BENCHMARKS, benchmark_named
from caveat.importers.mlperf.rules_conditions import may_be_endpoints, rules_run


def rules(benchmark="llama2-70b-99.9", round_name="v6.0", scenario="server", division="closed"):
    return rules_run("subject", benchmark_named(benchmark), round_name, scenario, division)


def test_a_closed_server_run_is_fixed_in_much():
    """The whole record, for one benchmark."""
    run = rules()
    assert run.rows == ()
    assert run.provenance.sources[0].kind == "rules"
    assert run.conditions.known == {
        "accuracy_required": pytest.approx({"rouge1": 44.3867688, "rouge2": 22.0131648, "rougeL": 28.5875838}),
        "accuracy_track": "99.9",
        "arrivals": "poisson",
        "benchmark": "llama2-70b-99.9",
        "dataset": "OpenOrca, GPT4 subset",
        "dataset_samples": 24576,
        "decoding": "greedy",
        "division": "closed",
        "harness": "LoadGen",
        "input_tokens_max": 1024,
        "latency_clock": "scheduled arrival",
        "limit_percentile": 0.99,
        "loop": "open",
        "modality": "text",
        "model": "llama2-70b",
        "multi_model_routing": "off",
        "output_tokens_cap": 1024,
        "prefix_caching": "off",
        "prefix_reuse": "none across queries",
        "round": "v6.0",
        "samples_per_query": 1,
        "scenario": "server",
        "sessions": "none: every query stands alone",
        "suite": "MLPerf Inference",
        "tpot_limit_s": 0.2,
        "ttft_limit_s": 2.0,
    }
    assert run.conditions.not_applicable == ("concurrency", "headroom_latency", "latency_limit_s")


def test_offline_has_no_limits_and_no_schedule():
    """Not applicable, which is more than undisclosed."""
    conditions = rules(scenario="offline").conditions
    assert (conditions.get("loop"), conditions.get("latency_clock")) == ("burst", "test start")
    for key in ("ttft_limit_s", "headroom_tpot", "latency_limit_s", "schedule", "concurrency"):
        assert conditions.state(key) == "not applicable"


def test_a_limit_on_the_request_excludes_limits_on_tokens():
    """Each benchmark has one kind."""
    conditions = rules("qwen3-vl-235b-a22b").conditions
    assert conditions.get("latency_limit_s") == 12.0
    assert conditions.state("headroom_ttft") == "not applicable"


def test_the_open_division_leaves_much_undisclosed():
    """Model, lengths, limits and accuracy are the submitter's own there."""
    conditions = rules(division="open").conditions
    assert conditions.get("dataset") == "OpenOrca, GPT4 subset"
    for key in ("model", "output_tokens_cap", "ttft_limit_s", "accuracy_required", "prefix_caching", "decoding"):
        assert conditions.state(key) == "undisclosed"


def test_a_benchmark_of_one_track_has_its_share_of_the_reference():
    """Everything but the tracks of two benchmarks is held to 99 percent."""
    assert rules("llama3.1-8b").conditions.get("accuracy_track") == "99"
    assert rules("qwen3.6-27b", "v6.1", "single-stream").conditions.get("accuracy_track") == "97"


def test_speculative_decoding_is_off_only_where_a_rule_forbids_it():
    """v6.1 forbids it in Server; earlier rounds say nothing."""
    assert rules("deepseek-r1", "v6.1").conditions.get("speculative_decoding") == "off"
    assert rules("deepseek-r1", "v6.1", "interactive").conditions.state("speculative_decoding") == "undisclosed"
    assert rules("deepseek-r1", "v6.0").conditions.state("speculative_decoding") == "undisclosed"


def test_what_is_unknown_stays_undisclosed():
    """Without benchmark and round only the scenario speaks."""
    run = rules_run("subject", None, None, "single-stream", "")
    assert run.conditions.known == {
        "arrivals": "next when the last completes",
        "concurrency": 1,
        "latency_clock": "issue",
        "loop": "closed",
        "samples_per_query": 1,
        "scenario": "single-stream",
        "suite": "MLPerf Inference",
    }


def test_the_harness_is_known_only_where_there_is_one_choice():
    """From v6.1 on the Endpoints harness may have measured some benchmarks; a later round is not known to differ."""
    allowed = {one.model for one in BENCHMARKS if may_be_endpoints(one, "v6.1")}
    assert allowed == {
        "llama3.1-8b",
        "llama3.1-8b-edge",
        "deepseek-r1",
        "gpt-oss-120b",
        "qwen3-vl-235b-a22b",
        "qwen3.6-27b",
    }
    assert not any(may_be_endpoints(one, "v6.0") for one in BENCHMARKS)
    assert rules("gpt-oss-120b", "v6.1").conditions.state("harness") == "undisclosed"
    assert rules("gpt-oss-120b", "v9.9").conditions.state("harness") == "undisclosed"


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda one: one.id)
@pytest.mark.parametrize("scenario", ["offline", "server", "interactive", "single-stream", "multi-stream"])
def test_every_benchmark_gives_a_document_in_every_scenario(benchmark, scenario):
    """Even in combinations that no round has."""
    for round_name in (None, *benchmark.rounds, "v9.9"):
        run = rules_run("subject", benchmark, round_name, scenario, "closed")
        assert run.conditions.get("benchmark") == benchmark.id
