"""Shapes of the language models that benchmarks and capacity estimates are about.

From `models.csv`; counts are plain numbers, parameters in billions, KV cache in bytes per token at bf16 over all
layers. Sources stand in each row: published configuration files, with parameters counted from the shape.
"""

from __future__ import annotations

import msgspec

from caveat.facts.csv_table import records

AS_OF = "2026-11-30"


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model's shape. `experts` and `experts_per_token` are 0 for a dense model; None is unknown.

    `head_dim` is that of values; `key_head_dim` of queries and keys, None where it is the same.
    """

    id: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    experts: int
    experts_per_token: int
    parameters_billion: float
    active_parameters_billion: float
    kv_bytes_per_token_bf16: int
    attention: str
    source: str
    note: str | None = None
    key_head_dim: int | None = None


MODELS: tuple[ModelFacts, ...] = records("models.csv", ModelFacts)
"""All models of the table."""

_BENCHMARK_MODELS = {
    "llama2-70b-99": "llama2-70b",
    "llama2-70b-99.9": "llama2-70b",
    "llama3.1-8b-edge": "llama3.1-8b",
}


def model_named(name: str) -> ModelFacts | None:
    """The model of this name, in any case, `llama3_1` or `llama3.1`; also by the id of a benchmark that runs it.

    None when the table lacks it (whisper, qwen3-vl-235b-a22b and qwen3.6-27b are such).
    """
    plain = name.strip().lower().replace("llama3_1", "llama3.1")
    plain = _BENCHMARK_MODELS.get(plain, plain)
    return next((model for model in MODELS if model.id == plain), None)
