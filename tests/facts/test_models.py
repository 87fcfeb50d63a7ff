"""Shapes of models."""

import csv

import pytest

from caveat.facts import BENCHMARKS, MODELS, model_named
from tests.facts.real_data import FACTS, needs_facts

COLUMNS = {
    "layers": "layers",
    "hidden": "hidden",
    "intermediate": "intermediate",
    "heads": "heads",
    "kv_heads": "kv_heads",
    "head_dim": "head_dim",
    "vocab": "vocabulary",
    "experts": "experts",
    "experts_per_token": "experts_per_token",
    "params_b": "parameters_billion",
    "active_params_b": "active_parameters_billion",
    "kv_bytes_per_token_bf16": "kv_bytes_per_token_bf16",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.id)
def test_a_shape_is_consistent(model):
    """KV bytes follow from the shape for grouped attention; no more is active than there is."""
    assert model.active_parameters_billion <= model.parameters_billion
    assert (model.experts > 0) == (model.active_parameters_billion < model.parameters_billion)
    assert model.experts_per_token <= model.experts
    assert model.source
    if model.attention.startswith("GQA"):
        assert model.kv_bytes_per_token_bf16 == 2 * 2 * model.layers * model.kv_heads * model.head_dim
    else:
        assert model.kv_bytes_per_token_bf16 == 2 * model.layers * (512 + 64)


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("llama2-70b", "llama2-70b"),
        ("llama2-70b-99.9", "llama2-70b"),
        ("Llama3_1-405B", "llama3.1-405b"),
        ("llama3.1-8b-edge", "llama3.1-8b"),
        ("deepseek-r1", "deepseek-r1"),
        ("gpt-oss-120b", "gpt-oss-120b"),
    ],
)
def test_a_model_is_found_by_its_name_or_its_benchmark(name, model_id):
    """In any case."""
    found = model_named(name)
    assert found is not None
    assert found.id == model_id


@pytest.mark.parametrize("model", [one for one in MODELS if not one.experts], ids=lambda one: one.id)
def test_parameters_of_a_dense_model_follow_from_its_shape(model):
    """Attention, the three matrices of the MLP, input embedding and head; norms are too small to be seen."""
    attention = 2 * model.hidden * (model.heads + model.kv_heads) * model.head_dim
    layer = attention + 3 * model.hidden * model.intermediate
    counted = model.layers * layer + 2 * model.vocabulary * model.hidden
    assert model.parameters_billion == pytest.approx(counted / 1e9, rel=1e-3)


def test_models_without_a_shape_are_unknown():
    """The vision-language model is not lent the shape of the text model of the same size."""
    assert model_named("qwen3-vl-235b-a22b") is None
    assert model_named("") is None
    missing = {one.model for one in BENCHMARKS if model_named(one.id) is None}
    assert missing == {"gptj", "qwen3-vl-235b-a22b", "whisper", "qwen3.6-27b", "e2e-rag-qna"}


@needs_facts
def test_all_numbers_are_those_of_the_reference_table():
    """Every column of every row."""
    with (FACTS / "models.csv").open(newline="") as lines:
        rows = {row["model"]: row for row in csv.DictReader(lines)}
    assert list(rows) == [one.id for one in MODELS][: len(rows)]  # later additions follow
    for model in MODELS[: len(rows)]:
        for column, field in COLUMNS.items():
            assert float(rows[model.id][column]) == getattr(model, field), (model.id, field)
