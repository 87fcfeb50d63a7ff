"""Dated tables with sources: rounds, benchmarks, compatibility, techniques, accelerators, models, fixed wordings.

Every table names where it was read and its module the date (`AS_OF`). What a table does not have is None, never
zero and never a guess.
"""

from __future__ import annotations

from caveat.facts.accelerators import (
    ACCELERATORS,
    Accelerator,
    accelerator_family,
    accelerator_form,
    accelerator_in,
    accelerator_named,
    accelerators_of,
    claimed_counts,
)
from caveat.facts.benchmarks import (
    BENCHMARKS,
    SCENARIOS,
    Benchmark,
    Limits,
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
from caveat.facts.citation import (
    CAUTION_SENTENCE,
    DERIVED_BASIS,
    SUITE_NAME,
    TRADEMARK_LEGEND,
    UNVERIFIED_SENTENCE,
    UNVERIFIED_WORD,
    VERIFIED_SENTENCE,
    VERIFIED_WORDS,
    derived_basis,
    result_url,
    versioned_suite,
)
from caveat.facts.compatibility import AS_OF as COMPATIBILITY_AS_OF
from caveat.facts.compatibility import LAST_ROUND as COMPATIBILITY_LAST_ROUND
from caveat.facts.compatibility import RANGES, Compatibility, Range, compatible
from caveat.facts.models import MODELS, ModelFacts, model_named
from caveat.facts.rounds import ROUNDS, Round, Seeds, result_key, round_index, round_named, round_of_seeds
from caveat.facts.techniques import RULES_CLOSED, TECHNIQUES, Rule, forbidden

__all__ = [
    "ACCELERATORS",
    "BENCHMARKS",
    "CAUTION_SENTENCE",
    "COMPATIBILITY_AS_OF",
    "COMPATIBILITY_LAST_ROUND",
    "DERIVED_BASIS",
    "MODELS",
    "RANGES",
    "ROUNDS",
    "RULES_CLOSED",
    "SCENARIOS",
    "SUITE_NAME",
    "TECHNIQUES",
    "TRADEMARK_LEGEND",
    "UNVERIFIED_SENTENCE",
    "UNVERIFIED_WORD",
    "VERIFIED_SENTENCE",
    "VERIFIED_WORDS",
    "Accelerator",
    "Benchmark",
    "Compatibility",
    "Limits",
    "ModelFacts",
    "Range",
    "Round",
    "Rule",
    "Seeds",
    "accelerator_family",
    "accelerator_form",
    "accelerator_in",
    "accelerator_named",
    "accelerators_of",
    "accuracy_thresholds",
    "benchmark_named",
    "benchmarks_of_model",
    "claimed_counts",
    "compatible",
    "dataset_samples",
    "derived_basis",
    "forbidden",
    "is_other_benchmark",
    "limits",
    "model_named",
    "result_key",
    "result_url",
    "round_index",
    "round_named",
    "round_of_seeds",
    "scenario_of",
    "scenario_within",
    "scenarios",
    "tokens_per_sample_range",
    "versioned_suite",
]
