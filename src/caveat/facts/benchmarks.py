"""Which benchmarks exist in which round and scenario, the names they go by, and their latency and accuracy limits.

The records themselves are in `benchmark_table`. Rounds are named `v5.1`, scenarios as in `scenario_names`.
"""

from __future__ import annotations

import re

import msgspec

from caveat.facts.benchmark_table import AS_OF, BENCHMARKS, Benchmark, Variant
from caveat.facts.scenario_names import SCENARIOS, scenario_of, scenario_within
from caveat.facts.sources import CHECKER, CHECKER_OLD, LOADGEN

__all__ = [
    "AS_OF",
    "BENCHMARKS",
    "SCENARIOS",
    "Benchmark",
    "Limits",
    "Variant",
    "accuracy_thresholds",
    "benchmark_named",
    "benchmarks_of_model",
    "dataset_samples",
    "is_other_benchmark",
    "limits",
    "scenario_of",
    "scenario_within",
    "scenarios",
    "tokens_per_sample_range",
]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The latency limits of one benchmark in one scenario of the closed division.

    Seconds at `percentile`: first token, time per output token, or the whole request. None where that latency
    has no limit. A run passes below the limit, not at it.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None
    percentile: float = 0.99
    source: str
    note: str | None = None


_SOURCE = f"{CHECKER}; {LOADGEN}"

LIMITS: dict[tuple[str, str], Limits] = {
    ("gptj", "server"): Limits(latency_s=20.0, source=f"{CHECKER_OLD}; {CHECKER}"),
    ("llama2-70b", "server"): Limits(ttft_s=2.0, tpot_s=0.2, source=f"{CHECKER_OLD}; {_SOURCE}"),
    ("llama2-70b", "interactive"): Limits(ttft_s=0.45, tpot_s=0.04, source=_SOURCE),
    ("mixtral-8x7b", "server"): Limits(ttft_s=2.0, tpot_s=0.2, source=f"{CHECKER_OLD}; {_SOURCE}"),
    ("llama3.1-405b", "server"): Limits(ttft_s=6.0, tpot_s=0.175, source=_SOURCE),
    ("llama3.1-405b", "interactive"): Limits(ttft_s=4.5, tpot_s=0.08, source=_SOURCE),
    ("llama3.1-8b", "server"): Limits(ttft_s=2.0, tpot_s=0.1, source=_SOURCE),
    ("llama3.1-8b", "interactive"): Limits(ttft_s=0.5, tpot_s=0.03, source=_SOURCE),
    ("deepseek-r1", "server"): Limits(ttft_s=2.0, tpot_s=0.08, source=_SOURCE),
    ("deepseek-r1", "interactive"): Limits(ttft_s=1.5, tpot_s=0.015, source=_SOURCE),
    ("gpt-oss-120b", "server"): Limits(ttft_s=3.0, tpot_s=0.08, source=_SOURCE),
    ("gpt-oss-120b", "interactive"): Limits(
        ttft_s=2.0,
        tpot_s=0.015,
        source=_SOURCE,
        note=(
            "sources differ on time per output token: 15 ms in LoadGen, in the checker and in every published v6.0 "
            "configuration, 20 ms in the rules (mlcommons/inference_policies @ ac93e89, July 2026)"
        ),
    ),
    ("qwen3-vl-235b-a22b", "server"): Limits(latency_s=12.0, source=_SOURCE),
    ("qwen3-vl-235b-a22b", "interactive"): Limits(latency_s=1.5, source=_SOURCE),
}
"""Latency limits by model and scenario. No limit of an existing pair changed between v4.0 and v6.1."""

_ALL = ("v4.0", "v4.1", "v5.0", "v5.1", "v6.0", "v6.1")

SCENARIO_ROUNDS: dict[str, dict[str, tuple[str, ...]]] = {
    "gptj": {"offline": _ALL, "server": _ALL, "single-stream": _ALL},
    "llama2-70b": {"offline": _ALL, "server": _ALL, "interactive": _ALL[2:]},
    "mixtral-8x7b": {"offline": _ALL, "server": _ALL},
    "llama3.1-405b": {"offline": _ALL, "server": _ALL, "interactive": _ALL[3:]},
    "llama3.1-8b": {"offline": _ALL, "server": _ALL, "interactive": _ALL[3:]},
    "llama3.1-8b-edge": {"offline": _ALL, "single-stream": _ALL},
    "deepseek-r1": {"offline": _ALL, "server": _ALL, "interactive": _ALL[4:]},
    "gpt-oss-120b": {"offline": _ALL, "server": _ALL, "interactive": _ALL[4:]},
    "qwen3-vl-235b-a22b": {"offline": _ALL, "server": _ALL, "interactive": _ALL[5:]},
    "whisper": {"offline": _ALL},
    "qwen3.6-27b": {"single-stream": _ALL},
    "e2e-rag-qna": {"offline": _ALL},
}
"""Rounds in which a scenario counts for a model, within the rounds of the benchmark. gptj's single-stream is its
edge form (seen in v4.1 results); llama2-70b's interactive of v5.0 was filed as benchmarks of their own."""

ALIASES: dict[str, str] = {
    "vlm": "qwen3-vl-235b-a22b",
    "qwen3-vl": "qwen3-vl-235b-a22b",
    "agentic edge": "qwen3.6-27b",
    "end to end question-answering": "e2e-rag-qna",
}
"""Other names of benchmarks in the published summaries, lower case."""

_BY_ID = {benchmark.id: benchmark for benchmark in BENCHMARKS}
_OTHER = re.compile(
    r"(resnet(50)?|retinanet|(3d-unet|bert|pointpainting)(-99(\.9)?)?|rgat|dlrm(-v[23])?(-99(\.9)?)?"
    r"|stable-diffusion-xl|yolo(v?\d+)?(-9[59](\.9)?)?|wan-2\.2(-t2v-a14b)?|text[-_]to[-_]video"
    r"|e2e-rag-db|end to end vector-database)"
)


def benchmark_named(name: str) -> Benchmark | None:
    """The benchmark that an official id or an alias of real files means, in any case; None when unknown.

    A name without the track that its benchmark needs (`llama2-70b`) names two and so gives None; see
    `benchmarks_of_model`. Names of v5.0 with `-interactive` give the plain benchmark; `scenario_within` tells.
    """
    plain = name.strip().lower().replace("-interactive", "").replace("llama3_1", "llama3.1")
    return _BY_ID.get(ALIASES.get(plain, plain))


def benchmarks_of_model(model: str) -> tuple[Benchmark, ...]:
    """All benchmarks (one per track) of a model named as in `Benchmark.model`, in any case."""
    return tuple(one for one in BENCHMARKS if one.model == model.strip().lower())


def is_other_benchmark(name: str) -> bool:
    """Whether the name is a known benchmark of the same rounds that is not about language, such as `resnet`."""
    return _OTHER.fullmatch(name.strip().lower()) is not None


def scenarios(benchmark_id: str, round_name: str) -> tuple[str, ...]:
    """The scenarios that count for a benchmark in a round, in our names; empty when the round lacks it."""
    benchmark = benchmark_named(benchmark_id)
    if benchmark is None or round_name not in benchmark.rounds:
        return ()
    return tuple(name for name, rounds in SCENARIO_ROUNDS[benchmark.model].items() if round_name in rounds)


def limits(benchmark_id: str, round_name: str, scenario: str) -> Limits | None:
    """The latency limits of the closed division, in seconds; None when there are none or nothing is known."""
    benchmark, name = benchmark_named(benchmark_id), scenario_of(scenario)
    if benchmark is None or name is None or name not in scenarios(benchmark_id, round_name):
        return None
    return LIMITS.get((benchmark.model, name))


def accuracy_thresholds(
    benchmark: Benchmark | str, round_name: str, scenario: str | None = None
) -> dict[str, float] | None:
    """Lowest accuracy that passes: reference score times the track's factor, by the checker's key.

    None when the round does not have the benchmark. Source: submission checker, old and new.
    """
    found = _in_round(benchmark, round_name)
    if found is None:
        return None
    targets = found.accuracy_targets
    for variant in _variants(found, round_name, scenario):
        targets = variant.accuracy_targets or targets
    return {key: score * found.accuracy_factor for key, score in targets.items()}


def tokens_per_sample_range(
    benchmark: Benchmark | str, round_name: str, scenario: str | None = None
) -> tuple[float, float] | None:
    """Mean output tokens a sample that the round allows (low, high); None when it sets no such bound."""
    found = _in_round(benchmark, round_name)
    if found is None:
        return None
    bounds = found.tokens_per_sample_range
    for variant in _variants(found, round_name, scenario):
        bounds = variant.tokens_per_sample_range or bounds
    return bounds


def dataset_samples(benchmark: Benchmark | str, round_name: str, scenario: str | None = None) -> int | None:
    """Samples in the performance set; None when the round does not have the benchmark."""
    found = _in_round(benchmark, round_name)
    if found is None:
        return None
    samples = found.dataset_samples
    for variant in _variants(found, round_name, scenario):
        samples = variant.dataset_samples or samples
    return samples


def _in_round(benchmark: Benchmark | str, round_name: str) -> Benchmark | None:
    found = benchmark_named(benchmark) if isinstance(benchmark, str) else benchmark
    return found if found is not None and round_name in found.rounds else None


def _variants(benchmark: Benchmark, round_name: str, scenario: str | None) -> list[Variant]:
    """The variants that hold here; one tied to a scenario holds only when that scenario is named."""
    name = scenario_of(scenario) if scenario else None
    return [one for one in benchmark.variants if round_name in one.rounds and one.scenario in (None, name)]
