"""The benchmark rounds v4.0 to v6.1: their LoadGen seeds, and which log key is the published result in each."""

from __future__ import annotations

import msgspec

from caveat.facts.benchmarks import Benchmark, benchmark_named, scenario_of, scenarios
from caveat.facts.sources import CHECKER, CHECKER_OLD, LOADGEN, RESULTS_41, RESULTS_51, RESULTS_60

AS_OF = "2026-08-20"


class Seeds(msgspec.Struct, frozen=True, kw_only=True):
    """The three LoadGen seeds that all performance runs of a round use (unsigned 64 bit)."""

    qsl: int
    sample_index: int
    schedule: int


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round, named `v6.1`, with the seeds that identify its logs."""

    name: str
    seeds: Seeds
    source: str


ROUNDS: tuple[Round, ...] = (
    Round(
        name="v4.0",
        seeds=Seeds(qsl=13281865557512327830, sample_index=198141574272810017, schedule=7575108116881280410),
        source=CHECKER_OLD,
    ),
    Round(
        name="v4.1",
        seeds=Seeds(qsl=3066443479025735752, sample_index=10688027786191513374, schedule=14962580496156340209),
        source=f"{CHECKER_OLD}; {RESULTS_41}",
    ),
    Round(
        name="v5.0",
        seeds=Seeds(qsl=6023615788873153749, sample_index=15036839855038426416, schedule=9933818062894767841),
        source=CHECKER,
    ),
    Round(
        name="v5.1",
        seeds=Seeds(qsl=1780908523862526354, sample_index=14771362308971278857, schedule=18209322760996052031),
        source=f"{CHECKER}; {RESULTS_51}",
    ),
    Round(
        name="v6.0",
        seeds=Seeds(qsl=2465351861681999779, sample_index=14276810075590677512, schedule=3936089224930324775),
        source=f"{CHECKER}; {RESULTS_60}",
    ),
    Round(
        name="v6.1",
        seeds=Seeds(qsl=2085463073848966840, sample_index=2747215439041700203, schedule=16159082839903944936),
        source=f"{CHECKER}; {LOADGEN}",
    ),
)
"""The rounds in order, oldest first."""


def round_named(name: str) -> Round | None:
    """The round called `v6.1`, or None when the table does not have it."""
    return next((one for one in ROUNDS if one.name == name), None)


def round_index(name: str) -> int | None:
    """A round's place in the order of rounds, from 0 for v4.0; None when unknown."""
    return next((place for place, one in enumerate(ROUNDS) if one.name == name), None)


def round_of_seeds(*, qsl: int, sample_index: int, schedule: int) -> Round | None:
    """The round whose three seeds these are; None for any other triple, all zero included."""
    seeds = Seeds(qsl=qsl, sample_index=sample_index, schedule=schedule)
    return next((one for one in ROUNDS if one.seeds == seeds), None)


def result_key(round_name: str, benchmark: str, scenario: str) -> str | None:
    """The key of LoadGen's detail log that holds the published result of a benchmark in a scenario.

    Rates are per second, `..._latency_ns` and `early_stopping_latency_ss` nanoseconds (published as ms). None for
    a round, benchmark or scenario outside the tables, and where no source says (qwen3.6-27b and e2e-rag-qna are
    not published from such a key in what was read). Runs of the Endpoints harness have no such log.
    Source: result keys of the submission checker, checked on 891 rows of v5.1 and v6.0.
    """
    found, name = benchmark_named(benchmark), scenario_of(scenario)
    if found is None or name is None or name not in scenarios(benchmark, round_name):
        return None
    if found.model in ("qwen3.6-27b", "e2e-rag-qna"):
        return None
    match name:
        case "offline":
            return _offline_key(round_name, found)
        case "server" | "interactive":
            return _server_key(round_name, found)
        case "single-stream" if found.model == "gptj":
            return "early_stopping_latency_ss"
        case "single-stream":
            return "result_90.00_percentile_latency_ns"
    return None


def _offline_key(round_name: str, benchmark: Benchmark) -> str:
    if benchmark.model == "qwen3-vl-235b-a22b":
        return "result_samples_per_second"
    if benchmark.model == "gptj":
        return "result_samples_per_second" if round_name == "v4.0" else "result_inferred_tokens_per_second"
    return "result_tokens_per_second"


def _server_key(round_name: str, benchmark: Benchmark) -> str:
    """v4.0 counted scheduled samples, but completed ones for llama2-70b (as coded; its tables were not seen)."""
    if benchmark.model == "qwen3-vl-235b-a22b" or (benchmark.model == "llama2-70b" and round_name == "v4.0"):
        return "result_completed_samples_per_sec"
    if benchmark.model == "gptj":
        if round_name == "v4.0":
            return "result_scheduled_samples_per_sec"
        return "result_inferred_completed_tokens_per_second"
    return "result_completed_tokens_per_second"
