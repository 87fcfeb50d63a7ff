"""Which rounds may be compared, per the dated table."""

import pytest

from caveat.facts import COMPATIBILITY_AS_OF, COMPATIBILITY_LAST_ROUND, RANGES, compatible
from caveat.facts.compatibility import SOURCE

TABLE = {
    "gptj": ("v3.1", "v5.0"),
    "llama2-70b": ("v4.0", "v6.0"),
    "mixtral-8x7b": ("v4.1", "v6.0"),
    "llama3.1-405b": ("v5.0", "v6.0"),
    "llama3.1-8b": ("v5.1", "v6.0"),
    "deepseek-r1": ("v5.1", "v6.0"),
    "gpt-oss-120b": ("v6.0", "v6.0"),
    "qwen3-vl-235b-a22b": ("v6.0", "v6.0"),
}

ROUNDS = ("v3.1", "v4.0", "v4.1", "v5.0", "v5.1", "v6.0")


def test_the_ranges_are_those_of_the_table():
    """One row per language model of the datacenter suite."""
    assert {row.model: (row.first, row.last) for row in RANGES} == TABLE
    assert COMPATIBILITY_AS_OF == "2026-04-28"
    assert COMPATIBILITY_LAST_ROUND == "v6.0"
    assert "2026-04-28" in SOURCE


@pytest.mark.parametrize("model", TABLE)
@pytest.mark.parametrize("a", ROUNDS)
@pytest.mark.parametrize("b", ROUNDS)
def test_two_rounds_are_compatible_exactly_when_both_are_in_range(model, a, b):
    """And the answer does not depend on their order."""
    first, last = TABLE[model]
    expected = "same" if a == b else "yes" if first <= min(a, b) and max(a, b) <= last else "no"
    assert compatible(model, a, b).answer == expected
    assert compatible(model, b, a).answer == expected


def test_the_same_round_is_the_same_even_beyond_the_table():
    """Also for a model that the table lacks."""
    assert compatible("llama2-70b", "v7.0", "v7.0").answer == "same"
    assert compatible("whisper", "v6.1", "v6.1").answer == "same"


@pytest.mark.parametrize("round_name", ["v6.1", "v7.0", "v10.0"])
def test_a_round_newer_than_the_table_is_unknown(round_name):
    """The reason names the table's date, and no answer is guessed."""
    for pair in (("v6.0", round_name), (round_name, "v6.0")):
        found = compatible("llama2-70b", *pair)
        assert found.answer == "unknown"
        assert "2026-04-28" in found.reason
        assert round_name in found.reason


def test_a_model_outside_the_table_is_unknown():
    """Speech and edge benchmarks are not in the rows that were read."""
    assert compatible("whisper", "v5.1", "v6.0").answer == "unknown"
    assert compatible("llama3.1-8b-edge", "v5.1", "v6.0").answer == "unknown"


def test_a_name_that_is_no_round_is_unknown():
    """Nonsense is not compared."""
    assert compatible("llama2-70b", "v6.0", "latest").answer == "unknown"
    assert compatible("llama2-70b", "v6.0", "v6.٠").answer == "unknown"


def test_a_yes_says_by_which_table_and_keeps_the_notes():
    """The span of llama2-70b includes changes; gpt-oss is mapped from another name."""
    found = compatible("llama2-70b-99.9", "v5.1", "v6.0")
    assert found.reason.startswith("compatible per MLCommons table of 2026-04-28; ")
    assert "checker" in found.reason
    assert any(row.note and "GPT-OSS-20B" in row.note for row in RANGES)


def test_benchmark_ids_and_aliases_are_models_too():
    """The caller need not strip the track."""
    assert compatible("llama3_1-405b", "v5.0", "v6.0").answer == "yes"
    assert compatible("gptj-99", "v5.0", "v5.1").answer == "no"
