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
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.local_engine import MODEL, engine, missing
from benchmarks.results import Result, keep, machine
from caveat import __version__
from caveat.figures import Figure, Run
from caveat.loadgen import Endpoint, Replay, Spec, experiment, record
from caveat.publish import plot_run, write_chart
from caveat.workload import Arrivals, Concurrency, Fixed, Limits, Poisson, Separate, Workload

INPUT, OUTPUT = 100, 32
SCALE_INPUT, SCALE_OUTPUT = 0.089, 0.115  # brings the trace to about these means; its longest prompt to 400 tokens
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
PRIMARY = "caveat-output-tokens-rate-usage"


class Outcome(msgspec.Struct, frozen=True):
    """A run as texts: conditions that say what it was, figures, validity; `plot` is the name of its picture."""

    what: str
    conditions: dict[str, str]
    figures: dict[str, str]
    validity: tuple[tuple[str, str, str], ...]
    plot: str | None = None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, help="the Azure conversation trace of 2023")
    parser.add_argument("--rate", type=float, default=1.0, help="Poisson arrivals a second")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long Poisson requests arrive")
    parser.add_argument("--trace-seconds", type=float, default=FIRST_S, help="how much of the trace is played")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    parser.add_argument("--plots", type=Path, help="folder for a picture of each run")
    asked = parser.parse_args(arguments if arguments is not None else [])
    if why := missing():
        print(f"engine: left out: {why}")
        return
    if asked.plots is not None:
        asked.plots.mkdir(parents=True, exist_ok=True)
    found = list(outcomes(asked.rate, asked.seconds, asked.trace, asked.trace_seconds, asked.plots))
    if asked.json is not None:
        notes = {"model": f"SmolLM2-135M-Instruct Q4_1 ({MODEL}), one thread on one core"}
        keep(asked.json, Result("engine", machine(), notes, {"runs": msgspec.to_builtins(found)}))


def outcomes(
    rate: float, seconds: float, trace: Path | None, trace_s: float, plots: Path | None = None
) -> Iterator[Outcome]:
    """Each load against an engine that was started for it."""
    closed = workload(Concurrency(requests=4), Limits(requests=40))
    poisson = workload(Poisson(rate_qps=rate), Limits(duration_s=seconds))
    offered: list[tuple[str, str, Workload | Replay]] = [
        ("closed", "four at a time", closed),
        ("poisson", f"Poisson, {rate:g}/s", poisson),
    ]
    if trace is not None:
        offered.append(("trace", "the recorded day", recorded(trace, trace_s)))
    else:
        print("engine: the recorded day is left out: give --trace")
    for name, what, load in offered:
        with engine() as url, on_last_core(), tempfile.TemporaryDirectory() as folder:
            yield shown(what, measured(url, load, Path(folder)), Path(folder), plots and plots / f"engine-{name}.svg")
    starving = workload(Concurrency(requests=8), Limits(requests=40))
    with engine(threads=2, cores=os.sched_getaffinity(0)) as url, tempfile.TemporaryDirectory() as folder:
        what = "two engine threads on the cores of the client"
        run = measured(url, starving, Path(folder))
        yield shown(what, run, Path(folder), plots and plots / "engine-starving.svg")


def recorded(trace: Path, first_s: float) -> Replay:
    """The beginning of a trace, every tenth request, lengths scaled to what the engine can bear: conditions, all."""
    return Replay(
        file=str(trace.resolve()), first_s=first_s, thin=EVERY, scale_input=SCALE_INPUT, scale_output=SCALE_OUTPUT
    )


def workload(arrivals: Arrivals, limits: Limits) -> Workload:
    """The same short requests for all."""
    lengths = Separate(input=Fixed(value=INPUT), output=Fixed(value=OUTPUT))
    return Workload(arrivals=arrivals, lengths=lengths, limits=limits, seed=1)


def measured(url: str, offered: Workload | Replay, folder: Path) -> Run:
    """One experiment, as `caveat measure` carries it out, kept in `folder` as in a ledger."""
    endpoint = Endpoint(url=url, model=MODEL)
    if isinstance(offered, Replay):
        spec = Spec(endpoint=endpoint, replay=offered)
    else:
        spec = Spec(endpoint=endpoint, workload=offered)
    subject = f"measured/{uuid.uuid4().hex}"
    experiment(spec, folder / subject, version=__version__, started=_now(), rng=random.Random(1), subject=subject)
    return record(folder / subject)


def shown(what: str, run: Run, folder: Path, plot: Path | None) -> Outcome:
    """Print a run, draw it where asked, and give it as texts. `folder` is the ledger that has its samples."""
    said = ("dataset", "arrivals", "loop", "queries", "duration_s", "scheduled_qps", "input_tokens", "output_tokens")
    conditions = {key: run.conditions.text(key) for key in said}
    figures = {key: Figure(run, key).text for key in SHOWN if run.row(key) is not None}
    validity = tuple((check.aspect, str(check.outcome), check.sentence) for check in run.validity)
    print(f"\n{what}")
    for key, text in (conditions | figures).items():
        print(f"  {key:34}{text}")
    for aspect, outcome, sentence in validity:
        print(f"  {outcome:10}{aspect:24}{sentence}")
    if plot is not None:
        write_chart(plot_run(Figure(run, PRIMARY), folder).spec, plot)
    return Outcome(what, conditions, figures, validity, plot.name if plot is not None else None)


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
