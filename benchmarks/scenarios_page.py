"""The sections of docs/benchmarks.md about scenarios and about the simulator's speed."""

from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.bench_scenarios import Paired, differences_ms
from benchmarks.results import Result


def scenarios(result: Result) -> Iterator[str]:
    """How far two ways to the same run agree, and a baseline."""
    pairs = msgspec.convert(result.tables["loopback"], list[Paired])
    yield "## The same scenario through the official LoadGen\n"
    yield (
        f"`python -m benchmarks.bench_scenarios`: server scenario, one seed, rate, set and limits, with and without "
        f"`--loadgen`, {len(pairs)} pairs in turns against a loopback endpoint with fixed times. Both are unverified.\n"
    )
    yield f"Taken {result.machine.sentence()}.\n"
    yield _agreement(pairs)
    rows = [
        [key.removeprefix("loadgen-"), f"{apart:+.3f}", f"{allowed:.3f}", "met" if abs(apart) <= allowed else "missed"]
        for key, (apart, allowed) in differences_ms(pairs).items()
    ]
    yield "Ours less LoadGen's, median over the pairs; 2 % of the value or half a millisecond is aimed at.\n"
    yield "\n".join(_lines(["metric", "apart, ms", "allowed, ms", ""], rows)) + "\n"
    if "engine" in result.tables:
        yield from _on_engine(result)


def _agreement(pairs: list[Paired]) -> str:
    counts = sum(pair.ours.queries == pair.loadgen.queries for pair in pairs)
    times = sum(pair.ours.schedule_ns == pair.loadgen.schedule_ns for pair in pairs)
    verdicts = sum(pair.ours.valid == pair.loadgen.valid for pair in pairs)
    both = sum(pair.ours.valid and pair.loadgen.valid for pair in pairs)
    compared = ", ".join(sorted({pair.compared for pair in pairs}))
    against = sorted({text for pair in pairs for text in (*pair.ours.against, *pair.loadgen.against)})
    said = f" What stood against a run: {'; '.join(against)}" if against else ""
    return (
        f"Of {len(pairs)} pairs {counts} had the same number of queries, {times} the same schedule to the nanosecond, "
        f"{verdicts} the same verdict ({both} both valid); `caveat compare` calls them {compared}.{said}\n"
    )


def _on_engine(result: Result) -> Iterator[str]:
    pair = msgspec.convert(result.tables["engine"], Paired)
    base = result.tables["baseline"]
    yield f"### On a real engine\n\nllama.cpp with {result.notes['model']}; a short profile at p90.\n"
    yield _agreement([pair])
    heads = ["scenario", "asked for, requests/s", "of what offline reached", "valid"]
    rows = [
        [
            one["scenario"],
            "-" if one["target_qps"] is None else f"{one['target_qps']:.3g}",
            "-" if one["share_of_offline"] is None else f"{one['share_of_offline']:.0%}",
            "yes" if one["valid"] else "no",
        ]
        for one in base["tried"]
    ]
    yield "`caveat measure --baseline` of the same engine, a private analysis of one system:\n"
    yield "\n".join(_lines(heads, rows)) + "\n"
    yield "\n".join(f"- {sentence}" for sentence in _pairs(base)) + "\n"


def _pairs(base: dict[str, Any]) -> Iterator[str]:
    for one in base["own"]:
        for pair in one["pairs"]:
            room = pair["headroom"] or {}
            said = ", ".join(f"{name} {value:.2f}" for name, value in room.items() if value is not None)
            yield (
                f"{one['scenarios']['from']} {pair['from']['value']:.4g} tokens/s, {one['scenarios']['to']} "
                f"{pair['to']['value']:.4g} tokens/s: ratio {pair['ratio']:.3f}, headroom {said or 'unknown'}"
            )
        if not one["pairs"]:
            yield f"no pair of {one['scenarios']['to']}: {'; '.join(r['reason'] for r in one['excluded'])}"
    if not base["own"]:
        yield "no run of a second scenario was valid, so there is no pair"


NO_VIDUR = (
    "Vidur is no line of this table. Its package (0.0.26, Python 3.10 and later) has no profile of any device in "
    "it and downloads them at every start, so it does not start on a machine without a network; its repository "
    "has profiles, but of attention not those of every model. A working copy (7d47513, Python 3.11), given the "
    "missing profile of a 7B model from elsewhere, took 112 processor seconds for 10,000 requests of a "
    "conversation trace on one replica, about 90 requests a second, after minutes in which its forests were "
    "trained. Those were other requests, another day and a step time that costs more to ask, so no ratio is made "
    "of it.\n"
)
"""What was tried with another peer, and why it is not measured side by side."""


def simulator(result: Result) -> Iterator[str]:
    """Speed of the simulated server."""
    yield "## The simulator's speed\n"
    yield (
        "`python -m benchmarks.bench_simulator`: requests like those of the Azure trace on 16 replicas, the Mooncake "
        "conversation hour on 8, and one feature at a time. Processor seconds of a process of its own, whole.\n"
    )
    yield f"Taken {result.machine.sentence()}.\n"
    if "sizes" in result.notes:
        yield f"The sizes were {result.notes['sizes']}; the time above is theirs.\n"
    heads = ["case", "what", "requests", "CPU s", "µs a request", "MB"]
    rows = [
        [
            name,
            case["what"],
            f"{case['requests']:,}",
            f"{case['cpu_s']:.2f}",
            f"{1e6 * case['cpu_s'] / case['requests']:.1f}",
            f"{case['memory_mb']:.0f}",
        ]
        for name, case in result.tables.items()
    ]
    yield "\n".join(_lines(heads, rows)) + "\n"
    yield NO_VIDUR


def _lines(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    for line in (heads, ["---"] * len(heads), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
