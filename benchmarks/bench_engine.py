"""A real engine under three loads: a closed loop, Poisson arrivals, and the beginning of a recorded day, thinned.

Run from the root of the checkout: `python -m benchmarks.bench_engine --trace AzureLLMInferenceTrace_conv.csv`. The
engine computes with one thread on the first core; the generator has the last one. Nothing here is a claim about the
engine: 135 million parameters on one core of a shared machine show that the tool measures, not how fast anything is.
"""

import argparse
import os
import random
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.local_engine import MODEL, engine, missing
from benchmarks.results import Result, keep, machine
from caveat import __version__
from caveat.figures import Figure, Provenance, Run
from caveat.loadgen import Endpoint, HttpTarget, PromptSettings, Spec, WallClock, experiment, fresh_salt, record
from caveat.measure import Client, ParquetSink, run_of, summarize
from caveat.units import NS_PER_S
from caveat.workload import Arrivals, Concurrency, Fixed, Limits, Poisson, Separate, Workload
from caveat.workload.traces.read import read_trace
from caveat.workload.traces.recording import Recording
from caveat.workload.traces.replay import plan_of_recording

INPUT, OUTPUT = 100, 32
MOST_INPUT, MOST_OUTPUT = 700, 200  # what a slot of the engine holds, with room for the chat template
EVERY, FIRST_S = 10, 600
SHOWN = (
    "caveat-request-rate",
    "caveat-output-tokens-rate-usage",
    "caveat-error-rate",
    "caveat-ttft.p50",
    "caveat-ttft.p90",
    "caveat-ttft.p99",
    "caveat-tpot-usage.p50",
    "caveat-tpot-usage.p90",
    "caveat-latency.p50",
    "caveat-latency.p90",
    "caveat-send-lateness.p99",
)


Int64 = npt.NDArray[np.int64]


class Outcome(msgspec.Struct, frozen=True):
    """A run as texts: conditions that say what it was, figures, validity."""

    what: str
    conditions: dict[str, str]
    figures: dict[str, str]
    validity: tuple[tuple[str, str, str], ...]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, help="the Azure conversation trace of 2023")
    parser.add_argument("--rate", type=float, default=1.0, help="Poisson arrivals a second")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long Poisson requests arrive")
    parser.add_argument("--trace-seconds", type=float, default=FIRST_S, help="how much of the trace is played")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    asked = parser.parse_args(arguments if arguments is not None else [])
    if why := missing():
        print(f"engine: left out: {why}")
        return
    found = list(outcomes(asked.rate, asked.seconds, asked.trace, asked.trace_seconds))
    if asked.json is not None:
        notes = {"model": f"SmolLM2-135M-Instruct Q4_1 ({MODEL}), one thread on one core"}
        keep(asked.json, Result("engine", machine(), notes, {"runs": msgspec.to_builtins(found)}))


def outcomes(rate: float, seconds: float, trace: Path | None, trace_s: float) -> Iterator[Outcome]:
    """Each load against an engine that was started for it."""
    closed = workload(Concurrency(requests=4), Limits(requests=40))
    poisson = workload(Poisson(rate_qps=rate), Limits(duration_s=seconds))
    for what, offered in (("four at a time", closed), (f"Poisson, {rate:g}/s", poisson)):
        with engine() as url, on_last_core(), tempfile.TemporaryDirectory() as folder:
            yield shown(what, measured(url, offered, Path(folder) / "run"))
    if trace is None:
        print("engine: the recorded day is left out: give --trace")
        return
    recording = thinned(read_trace(trace).recording, trace_s)
    with engine() as url, on_last_core(), tempfile.TemporaryDirectory() as folder:
        yield shown("the recorded day", replayed(url, recording, Path(folder)))
    with engine(threads=2, cores=os.sched_getaffinity(0)) as url, tempfile.TemporaryDirectory() as folder:
        starving = workload(Concurrency(requests=8), Limits(requests=40))
        yield shown("two engine threads on the cores of the client", measured(url, starving, Path(folder) / "run"))


def workload(arrivals: Arrivals, limits: Limits) -> Workload:
    """The same short requests for all."""
    lengths = Separate(input=Fixed(value=INPUT), output=Fixed(value=OUTPUT))
    return Workload(arrivals=arrivals, lengths=lengths, limits=limits, seed=1)


def measured(url: str, offered: Workload, folder: Path) -> Run:
    """One experiment, as `caveat measure` carries it out."""
    spec = Spec(endpoint=Endpoint(url=url, model=MODEL), workload=offered)
    experiment(spec, folder, version=__version__, started=_now(), rng=random.Random(1))
    return record(folder, subject=f"measured/{uuid.uuid4().hex}")


def thinned(recording: Recording, first_s: float) -> Recording:
    """The beginning of a recording, every tenth request, lengths scaled to what the engine can bear; all of it said."""
    early = recording.at(np.flatnonzero(recording.t_ns < first_s * NS_PER_S)[::EVERY])
    into = _scaled(early.input_tokens, INPUT, MOST_INPUT)
    out = _scaled(early.output_tokens, OUTPUT, MOST_OUTPUT)
    return (
        replace(early, t_ns=early.t_ns - early.t_ns[0])
        .changed(f"the first {first_s:g} s")
        .changed(f"every {EVERY}th request")
        .changed(f"prompts scaled to {INPUT} tokens in the mean, at most {MOST_INPUT}", input_tokens=into)
        .changed(f"answers scaled to {OUTPUT} tokens in the mean, at most {MOST_OUTPUT}", output_tokens=out)
    )


def _scaled(tokens: Int64, mean: int, most: int) -> Int64:
    scaled: Int64 = np.clip(np.rint(tokens * (mean / tokens.mean())), 1, most).astype(np.int64)
    return scaled


def replayed(url: str, recording: Recording, folder: Path) -> Run:
    """A recording offered as it is."""
    plan = plan_of_recording(recording)
    target = HttpTarget(Endpoint(url=url, model=MODEL), prompts=PromptSettings(salt=fresh_salt(random.Random(1))))
    path = folder / "samples.parquet"
    target.offer(plan, ParquetSink(path), WallClock())
    health = target.health
    client = Client() if health is None else Client(cpu_share=health.cpu_share_p95, loop_lag_s=health.loop_lag_p99_s)
    return run_of(
        summarize(path, workload=plan.describe(), client=client),
        subject=f"measured/{uuid.uuid4().hex}",
        provenance=Provenance(origin="measured", tool_version=__version__),
        conditions={"model": MODEL, "run_date": _now(), "harness": "caveat"},
        primary="caveat-request-rate",
    )


def shown(what: str, run: Run) -> Outcome:
    """Print a run, and give it as texts."""
    said = ("dataset", "arrivals", "loop", "queries", "duration_s", "scheduled_qps", "input_tokens", "output_tokens")
    conditions = {key: run.conditions.text(key) for key in said}
    figures = {key: Figure(run, key).text for key in SHOWN if run.row(key) is not None}
    validity = tuple((check.aspect, str(check.outcome), check.sentence) for check in run.validity)
    print(f"\n{what}")
    for key, text in (conditions | figures).items():
        print(f"  {key:34}{text}")
    for aspect, outcome, sentence in validity:
        print(f"  {outcome:10}{aspect:24}{sentence}")
    return Outcome(what, conditions, figures, validity)


@contextmanager
def on_last_core() -> Iterator[None]:
    """Keep this process off the engine's core, where there is another."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
