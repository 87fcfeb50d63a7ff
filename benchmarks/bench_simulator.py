"""How much CPU and memory a simulated request costs: over sizes, with each feature, on a trace, beside a peer.

Run from the root of the checkout: `python -m benchmarks.bench_simulator [--most 10000000] [--trace MOONCAKE.jsonl]
[--dynamo VENV/bin/python] [--json PATH]`. Each line is a fresh process. The peer is Dynamo's offline replay on the same
trace, with its own timing model and a prefix cache; its answers are not compared, its cost is. Vidur is no peer here:
its package downloads the profiles of devices at every start (scenarios_page.py says what was tried).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.results import Result, keep, machine
from caveat.measure import Counting
from caveat.simulator.routers import Routing
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.step_time import Piece, StepTime
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import (
    Fixed,
    Limits,
    Lognormal,
    Plan,
    Poisson,
    Prefixes,
    Separate,
    Workload,
    plan_of_recording,
    read_trace,
)

MOST = 1_000_000
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
FEATURE_REQUESTS = 20_000
REPLICAS = 16
RATE_QPS = 8.0  # a replica

# A 70B model on four accelerators, as in the reference's prototype: 8 ms, 50 us a prompt token, 50 us a sequence, 20 ns
# a token of context.
STEP_TIME = StepTime(
    pieces=(Piece(step_s=8e-3, prompt_token_s=5e-5, sequence_s=5e-5, context_token_s=2e-8),),
)
PLAIN = Scheduler(max_num_seqs=256, token_budget=2048)
LIMITED = msgspec.structs.replace(PLAIN, kv_blocks=40_000)
TIGHT = msgspec.structs.replace(PLAIN, kv_blocks=600_000 // 16, prefix_cache=True)
LEAST = Routing(router="least-outstanding")
FEATURES = {
    "nothing": PLAIN,
    "KV blocks": LIMITED,
    "KV blocks, preempting": msgspec.structs.replace(PLAIN, kv_blocks=4_000),
    "prefix cache": msgspec.structs.replace(LIMITED, prefix_cache=True),
    "priorities": msgspec.structs.replace(PLAIN, policy="priority"),
    "prefill first": msgspec.structs.replace(PLAIN, prefill_first=True),
    "whole prompts": msgspec.structs.replace(PLAIN, chunked_prefill=False),
    "static slots": Scheduler(static_slots=256, token_budget=2048),
    "speculation": msgspec.structs.replace(PLAIN, speculation=Speculation(draft_tokens=3, acceptance=0.7)),
}


@dataclass(frozen=True)
class Case:
    """One process: what is simulated."""

    what: str
    requests: int = 0  # 0: those of the trace
    scheduler: Scheduler = LIMITED
    routing: Routing = LEAST
    replicas: int = REPLICAS
    stepping: bool = False

    def plan(self, trace: Path | None) -> Plan:
        """The trace, or Poisson arrivals of lengths like those of the Azure conversation trace of 2023."""
        if not self.requests:
            assert trace is not None
            return plan_of_recording(read_trace(trace).recording)
        return Workload(
            arrivals=Poisson(RATE_QPS * self.replicas),
            lengths=Separate(input=Lognormal(mean=1155, cv=1.0), output=Lognormal(mean=211, cv=0.8), output_cap=1000),
            limits=Limits(requests=self.requests),
            prefixes=Prefixes(prompts=50, tokens=Fixed(512)) if self.scheduler.prefix_cache else None,
        ).plan()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What it took; None in `memory_mb` and `steps` where a peer does not say."""

    what: str
    requests: int
    cpu_s: float
    wall_s: float
    memory_mb: float | None
    steps: int | None = None
    turns: int | None = None
    preemptions: int | None = None
    hit_share: float | None = None

    def sentence(self) -> str:
        """For people."""
        said = f"{self.what}: {self.requests:,} requests, {self.cpu_s:.2f} CPU-s, "
        said += f"{self.cpu_s / self.requests * 1e6:.1f} us each"
        said += "" if self.memory_mb is None else f", {self.memory_mb:,.0f} MB"
        said += "" if self.steps is None else f", {self.steps:,} steps in {self.turns:,} turns"
        said += f", {self.preemptions:,} preemptions" if self.preemptions else ""
        return said + (f", {self.hit_share:.1%} of prompt tokens cached" if self.hit_share else "")


def cases(most: int, trace: Path | None) -> dict[str, Case]:
    """All cases by their key."""
    found = {f"size-{n}": Case(what="least outstanding of 16, KV blocks", requests=n) for n in SIZES if n <= most}
    for name, scheduler in FEATURES.items():
        found[f"feature-{name}"] = Case(what=name, requests=FEATURE_REQUESTS, scheduler=scheduler, replicas=4)
    for stepping in (False, True):
        how = "every step" if stepping else "runs of steps"
        found[f"steps-{how}"] = Case(what=how, requests=FEATURE_REQUESTS, replicas=4, stepping=stepping)
    if trace is not None:
        robin, aware = Routing(), Routing(router="prefix-aware", stale_s=1.0)
        found["trace-plain"] = Case(what="trace, 8 replicas, no features", scheduler=PLAIN, routing=robin, replicas=8)
        found["trace"] = Case(what="trace, 8 replicas, prefix cache, KV", scheduler=TIGHT, routing=robin, replicas=8)
        found["trace-aware"] = Case(what="the same, prefix-aware", scheduler=TIGHT, routing=aware, replicas=8)
        scarce = msgspec.structs.replace(TIGHT, kv_blocks=300_000 // 16)
        found["trace-scarce"] = Case(what="the same, half the KV", scheduler=scarce, routing=robin, replicas=8)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=MOST, help="requests of the largest size")
    parser.add_argument("--trace", type=Path, help="a trace with shared blocks, in Mooncake's format")
    parser.add_argument("--dynamo", type=Path, help="the Python of an environment in which ai-dynamo is installed")
    parser.add_argument("--only", help="cases whose key begins so")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments if arguments is not None else [])
    every = cases(asked.most, asked.trace)
    if asked.one:
        sys.stdout.buffer.write(msgspec.json.encode(measured(every[asked.one], asked.trace)))
        return
    costs: dict[str, Cost] = {}
    for key in every:
        if not asked.only or key.startswith(asked.only):
            costs[key] = in_a_process(key, asked.most, asked.trace)
            print(f"simulator: {costs[key].sentence()}", flush=True)
    if asked.dynamo is not None and asked.trace is not None:
        costs["peer-dynamo"] = dynamo(asked.dynamo, asked.trace)
        print(f"simulator: {costs['peer-dynamo'].sentence()}")
    for sentence in ratios(costs):
        print(f"simulator: {sentence}")
    if asked.json is not None:
        notes = {"trace": asked.trace.name if asked.trace else "none", "replicas": str(REPLICAS)}
        keep(asked.json, Result("simulator", machine(), notes, msgspec.to_builtins(costs)))


def ratios(costs: dict[str, Cost]) -> list[str]:
    """What carries over to other machines."""
    said = []
    sizes = [costs[f"size-{n}"] for n in SIZES if f"size-{n}" in costs]
    if len(sizes) > 1:
        first, last = (cost.cpu_s / cost.requests for cost in (sizes[0], sizes[-1]))
        said.append(f"a request of {sizes[-1].requests:,} costs {last / first:.2f} times one of {sizes[0].requests:,}")
    if "steps-every step" in costs:
        ratio = costs["steps-every step"].cpu_s / costs["steps-runs of steps"].cpu_s
        said.append(f"every step by itself costs {ratio:.1f} times as much")
    if "peer-dynamo" in costs and "trace" in costs:
        ratio = costs["peer-dynamo"].cpu_s / costs["trace"].cpu_s
        said.append(f"Dynamo's replay of the same trace costs {ratio:.1f} times the CPU")
    return said


def measured(case: Case, trace: Path | None) -> Cost:
    """Simulate in this process. Reading the trace counts as memory, not as time."""
    plan, sink = case.plan(trace), Counting()
    server = SimulatedServer(
        STEP_TIME,
        case.scheduler,
        replicas=case.replicas,
        routing=case.routing,
        stepping=case.stepping,
        priorities=(lambda block: block.input_tokens),
    )
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    server.offer(plan, sink, VirtualClock())
    cpu_s, wall_s = time.process_time() - began_cpu_s, time.perf_counter() - began_s
    inside = server.internals
    assert inside is not None
    return Cost(
        what=case.what,
        requests=sink.requests,
        cpu_s=cpu_s,
        wall_s=wall_s,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        steps=inside.steps,
        turns=inside.turns,
        preemptions=inside.preemptions,
        hit_share=inside.hit_share,
    )


def in_a_process(key: str, most: int, trace: Path | None) -> Cost:
    """One case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_simulator", "--one", key, "--most", str(most)]
    command += ["--trace", str(trace)] if trace is not None else []
    done = subprocess.run(command, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=Cost)


def dynamo(python: Path, trace: Path) -> Cost:
    """Dynamo's offline replay of the trace on 8 workers in turns. Its start and its reading count: it has no other
    clock."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "report.json")
        options = ["--num-workers", "8", "--replay-mode", "offline", "--router-mode", "round_robin"]
        options += ["--trace-block-size", "512", "--extra-engine-args", '{"block_size":512}', "--report-json", report]
        cpu_s, wall_s, memory_mb = spent([str(python), "-m", "dynamo.replay", str(trace), *options])
    requests = len(read_trace(trace).recording)
    return Cost(what="Dynamo's replay, 8 workers", requests=requests, cpu_s=cpu_s, wall_s=wall_s, memory_mb=memory_mb)


def spent(command: Sequence[str]) -> tuple[float, float, float | None]:
    """CPU seconds, wall seconds and peak memory of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    wall_s = time.perf_counter() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    grew = after.ru_maxrss > before.ru_maxrss  # the mark is the highest of all children so far
    return cpu_s, wall_s, after.ru_maxrss / 1024 if grew else None


if __name__ == "__main__":
    main(sys.argv[1:])
