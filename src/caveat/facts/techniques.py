"""What the closed division forbids among the techniques that change the meaning of a rate.

A rule that forbids makes a technique known to be off; no rule leaves it undisclosed, never allowed-and-on.
The rules are MLPerf Inference's: the Endpoints benchmark differs (it permits KV reuse, with salted prompts).
"""

from __future__ import annotations

import msgspec

from caveat.errors import UsageError
from caveat.facts.benchmarks import benchmark_named, scenario_of
from caveat.facts.rounds import ROUNDS, round_named
from caveat.facts.sources import RULES

AS_OF = "2026-07-23"

TECHNIQUES = (
    "prefix_caching",
    "speculative_decoding",
    "multi_model_routing",
    "continuous_batching",
    "chunked_prefill",
    "disaggregation",
    "kv_cache_quantisation",
)
"""The techniques that can be asked about. Those without a rule below are nowhere forbidden in what was read."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One technique that the closed division forbids in some rounds.

    `statement` says it in our words. `allowed` lists (model, scenario) pairs that are excepted; a scenario of
    None excepts all scenarios of the model.
    """

    technique: str
    rounds: tuple[str, ...]
    statement: str
    source: str
    allowed: tuple[tuple[str, str | None], ...] = ()


_ALL = tuple(one.name for one in ROUNDS)

RULES_CLOSED: tuple[Rule, ...] = (
    Rule(
        technique="prefix_caching",
        rounds=_ALL,
        statement="MLPerf Inference does not permit a closed submission to reuse KV-cache contents across queries",
        source=RULES,
    ),
    Rule(
        technique="speculative_decoding",
        rounds=("v6.1",),
        statement=(
            "v6.1 permits speculative decoding in the closed division only for deepseek-r1 Interactive, "
            "gpt-oss-120b Interactive and qwen3.6-27b"
        ),
        allowed=(("deepseek-r1", "interactive"), ("gpt-oss-120b", "interactive"), ("qwen3.6-27b", None)),
        source=RULES,
    ),
    Rule(
        technique="multi_model_routing",
        rounds=_ALL,
        statement="a closed result is of the benchmark's one reference model; no other model answers its queries",
        source=RULES,
    ),
)
"""The rules of the closed division. On speculative decoding before v6.1 the sources read say nothing."""


def forbidden(technique: str, *, round_name: str, division: str, benchmark_id: str, scenario: str) -> str | None:
    """The sentence (with its source) by which a rule forbids the technique here, or None when none does.

    Only the closed division forbids. None also for a round, benchmark or scenario that the tables do not know:
    None means "not known to be forbidden".
    """
    if technique not in TECHNIQUES:
        raise UsageError(f"no technique is called {technique!r}", next=f"use one of {', '.join(TECHNIQUES)}")
    benchmark, name = benchmark_named(benchmark_id), scenario_of(scenario)
    if division.strip().lower() != "closed" or round_named(round_name) is None or benchmark is None or name is None:
        return None
    for rule in RULES_CLOSED:
        if rule.technique != technique or round_name not in rule.rounds:
            continue
        if (benchmark.model, name) not in rule.allowed and (benchmark.model, None) not in rule.allowed:
            return f"{rule.statement} ({rule.source})"
    return None
