"""Twins: one plan against a modelled server in virtual time and against the loopback endpoint driven by the same model.

Run from the root of the checkout: `python -m benchmarks.bench_twin [--requests 2000] [--json PATH]`. The endpoint has a
process and the first core, the generator the last one. What is measured contains the client, the kernel and the
endpoint's lateness; nothing is taken away, each part is told beside it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from benchmarks.results import Result, keep, machine
from benchmarks.twin_parts import Parts, parts_of
from caveat import __version__
from caveat.loadgen import Endpoint, Spec, WallClock, experiment
from caveat.loopback import start_process
from caveat.measure import Kept
from caveat.simulator import Model, VirtualClock, capacity_of, changed, decode_model, mix_of, server_of
from caveat.workload import Limits, Lognormal, Poisson, Separate, Workload

REQUESTS, TRIES = 2_000, 3
LAG_P99_MS = 1.0  # a run whose endpoint was later does not count
SHARE, SLACK_MS = 0.03, 2.0  # a pair agrees within the one or the other
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
LENGTHS = Separate(input=Lognormal(mean=200, cv=0.8), output=Lognormal(mean=24, cv=0.7), input_max=1500, output_cap=200)
MODEL = """
format = "caveat-model/1"
name = "twin"
grade = "A"
prefix_hit = 0.0
[step_time]
kind = "pieces"
pieces = [{step_s = 0.01, prompt_token_s = 2e-5, sequence_s = 2e-4, context_token_s = 5e-7}]
[overheads]
intake_s = 0.0
[scheduler]
max_num_seqs = 24
token_budget = 512
[provenance]
origin = "stated"
date = "2026-11-30"
"""

# What is offered: load fraction, and settings of the model. The first three are those of the aim.
CASES: dict[str, tuple[float, dict[str, str]]] = {
    "load 0.3": (0.3, {}),
    "load 0.6": (0.6, {}),
    "load 0.85": (0.85, {}),
    "whole prompts, prompts first": (0.6, {"scheduler.chunked_prefill": "false", "scheduler.prefill_first": "true"}),
    "static slots": (0.6, {"scheduler.static_slots": "16", "scheduler.context_tokens": "27200"}),
    "KV blocks, preempting": (0.85, {"scheduler.kv_blocks": "260"}),
    "speculation": (0.6, {"scheduler.speculation": "{draft_tokens=3, acceptance=0.7}"}),
    "two replicas": (
        0.6,
        {"fleet.replicas": "2", "fleet.router": '"least-outstanding"', "scheduler.max_num_seqs": "8"},
    ),
}

Floats = npt.NDArray[np.float64]


class Pair(msgspec.Struct, frozen=True):
    """One percentile on both sides, in milliseconds."""

    metric: str
    percentile: str
    simulated_ms: float
    measured_ms: float

    @property
    def difference(self) -> float:
        """Measured less simulated, as a share of the simulated."""
        return self.measured_ms / self.simulated_ms - 1

    @property
    def agrees(self) -> bool:
        """Within the share or the slack."""
        return abs(self.difference) <= SHARE or abs(self.measured_ms - self.simulated_ms) <= SLACK_MS


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `counts`: the endpoint was in time; `tries` runs were made until one did."""

    what: str
    load: float
    rate_qps: float
    requests: int
    failed: int
    preemptions: int
    counts: bool
    tries: int
    pairs: tuple[Pair, ...]
    parts: Parts


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--tries", type=int, default=TRIES, help="runs of a case until the endpoint is in time")
    parser.add_argument("--only", help="the cases whose name begins so")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    asked = parser.parse_args(arguments if arguments is not None else [])
    found = []
    for what in (name for name in CASES if name.startswith(asked.only or "")):
        found.append(outcome(what, asked.requests, asked.tries))
        report(found[-1])
    if asked.json is not None:
        notes = {
            "model": MODEL.strip(),
            "requests": str(asked.requests),
            "tries": str(asked.tries),
            "priority": "real-time" if may_be_first() else "the usual",
        }
        keep(asked.json, Result("twin", machine(), notes, {"outcomes": msgspec.to_builtins(found)}))


def outcome(what: str, requests: int, tries: int = TRIES, seed: int = 1) -> Outcome:
    """One case on both sides. A run that does not count is made again; the last one is told all the same."""
    load, settings = CASES[what]
    model = changed(decode_model(MODEL), settings)
    workload = workload_at(model, load, requests, seed)
    simulated, server = Kept(), server_of(model)
    server.offer(workload.plan(), simulated, VirtualClock())
    assert server.internals is not None  # after an offer
    attempt = 0
    while True:
        attempt += 1
        measured, start_ns, log = in_real_time(model, workload)
        parts = parts_of(measured, start_ns, log, model)
        if parts.lag_p99_ms <= LAG_P99_MS or attempt == tries:
            break
    assert isinstance(workload.arrivals, Poisson)
    return Outcome(
        what=what,
        load=load,
        rate_qps=workload.arrivals.rate_qps,
        requests=measured.num_rows,
        failed=measured.num_rows - measured["error_class"].null_count,
        preemptions=server.internals.preemptions,
        counts=parts.lag_p99_ms <= LAG_P99_MS,
        tries=attempt,
        pairs=tuple(pairs(simulated.table(), measured)),
        parts=parts,
    )


def workload_at(model: Model, load: float, requests: int, seed: int) -> Workload:
    """Poisson arrivals at a share of what the model can carry, of these very requests."""
    lengths = Workload(arrivals=Poisson(1.0), lengths=LENGTHS, limits=Limits(requests=requests), seed=seed)
    blocks = list(lengths.plan().blocks())
    inputs, outputs = (np.concatenate([getattr(b, f"{name}_tokens") for b in blocks]) for name in ("input", "output"))
    capacity = capacity_of(model, lambda hit: mix_of(inputs, outputs, prefix_hit=hit)).rate_per_s.median
    return msgspec.structs.replace(lengths, arrivals=Poisson(load * capacity))


def in_real_time(model: Model, workload: Workload) -> tuple[pa.Table, int, bytes]:
    """Samples as `caveat measure` keeps them, the plan's time 0 on the monotonic clock, and the endpoint's log."""
    clocks: list[WallClock] = []
    with (
        start_process(model=model) as server,
        apart(server.pid),
        tempfile.TemporaryDirectory() as folder,
    ):
        experiment(
            Spec(endpoint=Endpoint(url=server.url, model="twin"), workload=workload, calibrated=False),
            Path(folder) / "run",
            version=__version__,
            started=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            rng=random.Random(1),
            watch=lambda watched: clocks.append(watched.clock),
        )
        with urlopen(f"{server.url}/loopback/log", timeout=60) as answer:
            log = answer.read()
        samples = pyarrow.parquet.read_table(Path(folder) / "run" / "samples.parquet")
    return samples, clocks[0].start_ns or 0, log


@contextmanager
def apart(server: int) -> Iterator[None]:
    """The endpoint on the first core, this process on the last, both before everybody else where the system lets us:
    how a scheduler treats them beside strangers is not what is measured here."""
    cores, before = os.sched_getaffinity(0), os.sched_getscheduler(0)
    os.sched_setaffinity(server, {min(cores)})
    os.sched_setaffinity(0, {max(cores)})
    first([server, 0])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        os.sched_setscheduler(0, before, os.sched_param(0))


def first(processes: Sequence[int]) -> bool:
    """Real-time priority for these; False where it is not granted."""
    try:
        for process in processes:
            os.sched_setscheduler(process, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True


def may_be_first() -> bool:
    """Whether the system grants it."""
    before = os.sched_getscheduler(0)
    granted = first([0])
    os.sched_setscheduler(0, before, os.sched_param(0))
    return granted


def pairs(simulated: pa.Table, measured: pa.Table) -> Iterator[Pair]:
    """Every percentile by the same code on both sides."""
    ours, theirs = latencies_ns(simulated), latencies_ns(measured)
    for metric in ours:
        for percentile, share in PERCENTILES.items():
            told = (float(np.quantile(side[metric], share, method="inverted_cdf")) / 1e6 for side in (ours, theirs))
            yield Pair(metric, percentile, *told)


def latencies_ns(samples: pa.Table) -> dict[str, Floats]:
    """Of every request that was answered, as caveat-ttft, caveat-tpot-usage and caveat-latency are defined. Percentiles
    are observed values; those of `caveat.measure` are not told where their interval is too wide, which is wanted here
    for short tries too."""
    table = samples.filter(pc.is_null(samples["error_class"]))
    names = ("ready_ns", "first_token_ns", "last_token_ns", "end_ns", "output_tokens_usage")
    ready, first, last, end, tokens = (np.asarray(table[name].to_numpy(), np.float64) for name in names)
    several = tokens >= 2
    return {
        "TTFT": first - ready,
        "TPOT": (last - first)[several] / (tokens[several] - 1),
        "E2E": end - ready,
    }


def report(one: Outcome) -> None:
    """Print it."""
    counted = "" if one.counts else ", DOES NOT COUNT"
    print(f"\n{one.what}: {one.rate_qps:.1f}/s, {one.requests} requests, {one.failed} failed, try {one.tries}{counted}")
    print(f"  {one.preemptions} preemptions in the simulation; {one.parts.sentence()}")
    for pair in one.pairs:
        print(
            f"  {pair.metric} {pair.percentile}: simulated {pair.simulated_ms:8.2f} ms, measured "
            f"{pair.measured_ms:8.2f} ms, {pair.difference:+.1%}{'' if pair.agrees else '  APART'}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
