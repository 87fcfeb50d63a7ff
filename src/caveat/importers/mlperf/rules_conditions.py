"""What a benchmark, its round and its scenario fix about a run, as a partial run whose source is the rules.

Logs and published tables both merge it in. What the closed division demands is left undisclosed in the open one.
"""

from __future__ import annotations

from caveat.facts import (
    TECHNIQUES,
    Benchmark,
    Limits,
    accuracy_thresholds,
    dataset_samples,
    forbidden,
    limits,
    round_index,
)
from caveat.figures import Provenance, Run, Source, Value, conditions_of

SUITE = "MLPerf Inference"
LOADGEN_HARNESS = "LoadGen"

OPEN_LOOP = ("server", "interactive")

_LOADS: dict[str, dict[str, Value]] = {
    "offline": {"loop": "burst", "arrivals": "all at once", "latency_clock": "test start"},
    "server": {"loop": "open", "arrivals": "poisson", "latency_clock": "scheduled arrival", "samples_per_query": 1},
    "interactive": {
        "loop": "open",
        "arrivals": "poisson",
        "latency_clock": "scheduled arrival",
        "samples_per_query": 1,
    },
    "single-stream": {
        "loop": "closed",
        "arrivals": "next when the last completes",
        "latency_clock": "issue",
        "concurrency": 1,
        "samples_per_query": 1,
    },
    "multi-stream": {
        "loop": "closed",
        "arrivals": "next when the last completes",
        "latency_clock": "issue",
        "concurrency": 8,
        "samples_per_query": 8,
    },
}

_TOKEN_LIMITS = ("ttft_limit_s", "tpot_limit_s", "headroom_ttft", "headroom_tpot")
_REQUEST_LIMITS = ("latency_limit_s", "headroom_latency")
_NO_LIMITS = (*_TOKEN_LIMITS, *_REQUEST_LIMITS, "limit_percentile")
_NO_SCHEDULE = ("schedule", "scheduled_qps", "completed_qps", "coalesced")

# The harness of Endpoints may stand in for LoadGen from v6.1 on, for these models of ours (submission checker).
ENDPOINTS_FIRST_ROUND = "v6.1"
ENDPOINTS_MODELS = (
    "qwen3-vl-235b-a22b",
    "qwen3.6-27b",
    "llama3.1-8b",
    "llama3.1-8b-edge",
    "gpt-oss-120b",
    "deepseek-r1",
)


def rules_run(subject: str, benchmark: Benchmark | None, round_name: str | None, scenario: str, division: str) -> Run:
    """A partial run of `subject` without rows: every condition that the rules fix, source kind "rules".

    `scenario` is one of ours ('server'), `round_name` like 'v6.1'. Where benchmark or round is not known, only what
    the scenario itself fixes is said.
    """
    values: dict[str, Value | None] = {"suite": SUITE, "round": round_name, "division": division, "scenario": scenario}
    values.update(_LOADS[scenario])
    limit = None
    if benchmark is not None:
        values.update(_benchmark_values(benchmark))
        if round_name is not None:
            values.update(_round_values(benchmark, round_name, scenario))
        if division == "closed":
            limit = limits(benchmark.id, round_name or "", scenario)
            values.update(_closed_values(benchmark, round_name or "", scenario))
            values.update(_limit_values(limit))
    source = Source(
        kind="rules",
        path=benchmark.source if benchmark else SUITE,
        place=" ".join((round_name or "round unknown", division, benchmark.id if benchmark else "unknown", scenario)),
    )
    return Run(
        subject=subject,
        conditions=conditions_of(values, not_applicable=_not_applicable(benchmark, scenario, limit)),
        provenance=Provenance(origin="imported", sources=(source,)),
        rows=(),
    )


def may_be_endpoints(benchmark: Benchmark, round_name: str) -> bool:
    """Whether a result may have been measured with the Endpoints harness in place of LoadGen."""
    first, this = round_index(ENDPOINTS_FIRST_ROUND), round_index(round_name)
    if benchmark.model not in ENDPOINTS_MODELS:
        return False
    return this is None or first is None or this >= first


def _benchmark_values(benchmark: Benchmark) -> dict[str, Value | None]:
    return {
        "benchmark": benchmark.id,
        "dataset": benchmark.dataset,
        "modality": benchmark.modality,
        "accuracy_track": benchmark.track,
        "sessions": None if benchmark.model == "qwen3.6-27b" else "none: every query stands alone",
    }


def _round_values(benchmark: Benchmark, round_name: str, scenario: str) -> dict[str, Value | None]:
    return {
        "dataset_samples": dataset_samples(benchmark, round_name, scenario),
        "harness": None if may_be_endpoints(benchmark, round_name) else LOADGEN_HARNESS,
    }


def _closed_values(benchmark: Benchmark, round_name: str, scenario: str) -> dict[str, Value | None]:
    """What only the closed division fixes: one model, its lengths and decoding, accuracy, no reuse of KV entries."""
    techniques = {
        technique: "off"
        for technique in TECHNIQUES
        if forbidden(technique, round_name=round_name, division="closed", benchmark_id=benchmark.id, scenario=scenario)
    }
    return {
        "model": benchmark.model,
        "input_tokens_max": benchmark.input_tokens_max,
        "output_tokens_cap": benchmark.output_tokens_cap,
        "decoding": benchmark.decoding,
        "accuracy_track": benchmark.track or f"{100 * benchmark.accuracy_factor:g}",
        "accuracy_required": dict(accuracy_thresholds(benchmark, round_name, scenario) or {}),
        "prefix_reuse": "none across queries" if "prefix_caching" in techniques else None,
        **techniques,
    }


def _limit_values(limit: Limits | None) -> dict[str, Value | None]:
    if limit is None:
        return {}
    return {
        "ttft_limit_s": limit.ttft_s,
        "tpot_limit_s": limit.tpot_s,
        "latency_limit_s": limit.latency_s,
        "limit_percentile": limit.percentile,
    }


def _not_applicable(benchmark: Benchmark | None, scenario: str, limit: Limits | None) -> tuple[str, ...]:
    keys: list[str] = []
    if scenario not in OPEN_LOOP:
        keys += [*_NO_LIMITS, *_NO_SCHEDULE]
    elif limit is not None:
        keys += _REQUEST_LIMITS if limit.latency_s is None else _TOKEN_LIMITS
    if scenario in ("offline", *OPEN_LOOP):
        keys.append("concurrency")
    if scenario in ("single-stream", "multi-stream"):
        keys.append("target_qps")
    if benchmark is not None and benchmark.modality == "speech":
        keys += ["input_tokens", "input_tokens_max"]
    return tuple(keys)
