"""What the closed division forbids."""

import pytest

from caveat.errors import UsageError
from caveat.facts import ROUNDS, RULES_CLOSED, TECHNIQUES, forbidden


def ask(technique, round_name="v6.1", benchmark_id="llama2-70b-99.9", scenario="server", division="closed"):
    return forbidden(technique, round_name=round_name, division=division, benchmark_id=benchmark_id, scenario=scenario)


@pytest.mark.parametrize("technique", ["prefix_caching", "multi_model_routing"])
@pytest.mark.parametrize("round_name", [one.name for one in ROUNDS])
def test_reuse_across_queries_and_several_models_are_forbidden_in_all_rounds(technique, round_name):
    """The sentence carries its source."""
    sentence = ask(technique, round_name)
    assert sentence is not None
    assert "mlcommons/inference_policies inference_rules.adoc @ ac93e89" in sentence


@pytest.mark.parametrize(
    ("benchmark_id", "scenario", "allowed"),
    [
        ("deepseek-r1", "interactive", True),
        ("deepseek-r1", "Interactive", True),
        ("deepseek-r1", "server", False),
        ("gpt-oss-120b", "interactive", True),
        ("gpt-oss-120b", "offline", False),
        ("qwen3.6-27b", "single-stream", True),
        ("qwen3.6-27b", "offline", True),
        ("llama2-70b-99.9", "server", False),
        ("VLM", "interactive", False),
    ],
)
def test_v61_permits_speculative_decoding_in_three_places(benchmark_id, scenario, allowed):
    """Everywhere else in v6.1 it is forbidden."""
    assert (ask("speculative_decoding", "v6.1", benchmark_id, scenario) is None) == allowed


@pytest.mark.parametrize("round_name", ["v4.0", "v4.1", "v5.0", "v5.1", "v6.0", "v7.0"])
def test_about_speculative_decoding_in_other_rounds_nothing_is_known(round_name):
    """Silence of the sources is not a rule."""
    assert ask("speculative_decoding", round_name, "deepseek-r1") is None


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_the_open_division_forbids_none(technique):
    """Nor does a division that is not named."""
    assert ask(technique, division="open") is None
    assert ask(technique, division="") is None


@pytest.mark.parametrize(
    "technique", ["continuous_batching", "chunked_prefill", "disaggregation", "kv_cache_quantisation"]
)
def test_techniques_without_a_rule_are_not_forbidden(technique):
    """They stay undisclosed."""
    assert ask(technique) is None


def test_unknown_rounds_benchmarks_and_scenarios_are_not_judged():
    """None means not known to be forbidden."""
    assert ask("prefix_caching", "v7.0") is None
    assert ask("prefix_caching", benchmark_id="resnet") is None
    assert ask("prefix_caching", scenario="burst") is None


def test_an_unknown_technique_is_an_error_that_names_the_known_ones():
    """A misspelt key must not read as permitted."""
    with pytest.raises(UsageError) as caught:
        ask("prefix-caching")
    assert "prefix_caching" in caught.value.next


def test_every_rule_is_about_a_known_technique_and_sourced():
    """The table is consistent."""
    assert {rule.technique for rule in RULES_CLOSED} <= set(TECHNIQUES)
    assert all(" @ " in rule.source for rule in RULES_CLOSED)
