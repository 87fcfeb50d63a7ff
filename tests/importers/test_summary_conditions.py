"""Conditions from the cells of a table row."""

import pytest

from caveat.facts import benchmark_named
from caveat.figures import Claim
from caveat.importers.mlperf.place import Place
from caveat.importers.mlperf.summary_conditions import accuracy_reached, conditions_said

PLACE = Place(division="closed", submitter="AMD", platform="P", model="llama2-70b-99.9", scenario="server")


def known(benchmark):
    found = benchmark_named(benchmark)
    assert found is not None
    return found


def said(place=PLACE, benchmark="llama2-70b-99.9", **cells):
    return conditions_said(cells, place, known(benchmark), "summary.csv", 7)


@pytest.mark.parametrize(
    ("benchmark", "text", "scores", "tokens"),
    [
        (
            "llama2-70b-99",
            "ROUGE1: 44.4542  ROUGE2: 22.0419  ROUGEL: 28.6112  TOKENS_PER_SAMPLE: 301.1",
            {"rouge1": 44.4542, "rouge2": 22.0419, "rougeL": 28.6112},
            301.1,
        ),
        (
            "llama3.1-8b",
            "rouge1: 38.6405  rouge2: 15.9282  rougeL: 24.5018  rougeLsum: 35.7399  gen_len: 8222392  gen_num: 13368",
            {"rouge1": 38.6405, "rouge2": 15.9282, "rougeL": 24.5018, "rougeLsum": 35.7399},
            None,
        ),
        ("mixtral-8x7b", "gsm8k_accuracy: 73.9 mbxp_accuracy: 60.2", {"gsm8k": 73.9, "mbxp": 60.2}, None),
        ("deepseek-r1", "exact_match: 80.69  TOKENS_PER_SAMPLE: 3898.4", {"exact_match": 80.69}, 3898.4),
        ("deepseek-r1", "80.62898814949864", {"exact_match": 80.62898814949864}, None),
        ("qwen3-vl-235b-a22b", "0.7875", {"F1_HIERARCHICAL": 0.7875}, None),
        ("whisper", "ACCURACY: 97.8857", {"accuracy": 97.8857}, None),
        ("e2e-rag-qna", "E2E_ACCURACY: 35.1", {"accuracy": 35.1}, None),
        ("llama2-70b-99", "44.4", {}, None),
        ("llama2-70b-99", "DLRM_AUC: 0.78", {}, None),
        ("llama2-70b-99", "ROUGE1: nan TOKENS_PER_SAMPLE: 0", {}, None),
        ("llama2-70b-99", "ROUGE1: 1e999 ROUGE2: 4.4.4", {}, None),
        ("llama2-70b-99", "", {}, None),
    ],
)
def test_accuracy_is_read_by_the_checkers_own_keys(benchmark, text, scores, tokens):
    """Whatever the case, and no score that the benchmark does not have; characters are not tokens."""
    assert accuracy_reached(text, known(benchmark)) == (scores, tokens)


def test_counts_are_claims_with_their_sources():
    """Where the text and the product disagree, both stay."""
    row = said(
        nodes="11",
        accelerators_per_node="8",
        total_accelerators="88",
        accelerator_stated="AMD Instinct MI355X 288GB HBM3e (x87)",
        platform="87xMI355X_22xEPYC_9575F",
    )
    assert row.values["accelerators"] == 88
    assert row.values["accelerator"] == "MI355X"
    assert row.claims["accelerators"] == (
        Claim(88, "nodes x accelerators per node"),
        Claim(88, "total accelerators"),
        Claim(87, "accelerator text"),
        Claim(87, "platform name"),
    )


def test_a_system_without_accelerators_says_so():
    """Zero accelerators is a statement; a blank is none."""
    none = said(nodes="1", accelerators_per_node="0", total_accelerators="0")
    assert "accelerators" in none.not_applicable
    assert none.claims == {}
    blank = said(nodes="1")
    assert blank.not_applicable == ()
    assert blank.values["accelerators"] is None


@pytest.mark.parametrize("cell", ["-1", "1.5", "many", "9" * 40, "8 (x2)", "²"])
def test_counts_that_are_no_counts_are_undisclosed(cell):
    """Nothing is guessed from a malformed cell."""
    assert said(nodes=cell, accelerators_per_node="8").values["nodes"] is None


def test_words_outside_the_table_of_conditions_are_problems():
    """They are left undisclosed, with the words that are known."""
    row = said(availability="soon", division="Closed", system_type="Edge")
    assert (row.values["division"], row.values["system_type"]) == ("closed", "edge")
    assert "availability" not in row.values
    (found,) = row.problems
    assert (found.code, found.line, found.found) == ("word-unknown", 7, "soon")
    assert found.expected == "one of available, preview, rdi"


def test_another_model_filed_under_a_benchmark_is_named():
    """Spellings of the same benchmark are not another model."""
    place = Place(division="open", submitter="Krai", platform="P", model="llama3_1-70b-fp8", scenario="server")
    assert said(place).values["model_submitted"] == "llama3_1-70b-fp8"
    alias = Place(division="open", submitter="Cisco", platform="P", model="llama3_1-8b", scenario="server")
    assert said(alias, "llama3.1-8b").values["model_submitted"] is None


def test_power_in_watts_is_a_condition():
    """Millijoules a stream are another quantity."""
    assert said(power_value="10400.9", power_unit="Watts", power_run="True").values["power_w"] == 10400.9
    assert said(power_value="155.1", power_unit="millijoules").values["power_w"] is None


def test_techniques_are_on_only_where_the_row_says_so():
    """A product that can do something is no statement."""
    assert said(engine="vLLM 0.9, speculative decoding").values["speculative_decoding"] == "on"
    assert "speculative_decoding" not in said(engine="TensorRT-LLM, NVIDIA Dynamo").values
    assert said(engine="x", weight_precision="fp4 weights, fp8 KV cache").values["kv_cache_quantisation"] == "on"
