"""Our server scenario beside the official LoadGen's, and a baseline of a real engine.

Run from the root of the checkout: `python -m benchmarks.bench_scenarios --json benchmarks/results/scenarios.json`.
The same rate, limits, seeds and set go through `caveat measure --scenario server` with and without `--loadgen`, in
turns. With the engine of local_engine.py installed, the same once at p90, then `--baseline`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.local_engine import MODEL, engine, missing
from benchmarks.results import Result, keep, machine
from caveat.ledger import Ledger
from caveat.loopback import behaviour_of, start_process
from caveat.workload import Loadgen, schedule_extent

PAIRS = 5
TTFT_S, ITL_S = 0.05, 0.005
SHAPE = ("--input", "16", "--output", "8", "--samples", "64", "--no-probe")
OF_LOOPBACK = ("--profile", "llama3.1-8b@v6.1", "--rate", "40", "--min-duration", "15s", *SHAPE)
OF_ENGINE = ("--profile", "llama3.1-8b@v6.1", "--short", "--rate", "0.7", "--input", "40", "--output", "8")
BASELINE = ("--profile", "llama3.1-8b@v6.1", "--short", "--rate", "1", "--input", "40", "--output", "8")
KEYS = tuple(f"loadgen-{name}.{at}" for name in ("ttft", "tpot") for at in ("p50", "p90", "p99"))


class Side(msgspec.Struct, frozen=True):
    """One run: verdict, queries, the schedule's last time in ns, seconds by metric key, and what stands against it."""

    valid: bool
    queries: int
    schedule_ns: int | None
    seconds: dict[str, float]
    against: tuple[str, ...]


class Paired(msgspec.Struct, frozen=True):
    """The same scenario by both, and what compare says of the two."""

    ours: Side
    loadgen: Side
    compared: str


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--no-engine", action="store_true", help="the loopback endpoint only")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    asked = parser.parse_args(arguments if arguments is not None else [])
    tables: dict[str, Any] = {"loopback": [msgspec.to_builtins(pair) for pair in on_loopback(asked.pairs)]}
    why = "left out" if asked.no_engine else missing()
    if why is None:
        tables |= on_engine()
    else:
        print(f"engine: {why}")
    if asked.json is not None:
        notes = {"model": f"SmolLM2-135M-Instruct Q4_1 ({MODEL}), one thread on one core", "engine": why or "measured"}
        keep(asked.json, Result("scenarios", machine(), notes, tables))


def on_loopback(pairs: int) -> Iterator[Paired]:
    """Pairs against fixed times, each in a ledger of its own."""
    with start_process(behaviour_of({"ttft_s": TTFT_S, "itl_s": ITL_S})) as server:
        for number in range(pairs):
            yield _pair(server.url, OF_LOOPBACK, ours_first=number % 2 == 0)


def on_engine() -> dict[str, Any]:
    """One pair at p90, and a baseline."""
    with engine() as url:
        pair = _pair(url, OF_ENGINE, ours_first=True)
        with tempfile.TemporaryDirectory() as folder:
            _, found = _caveat(folder, "measure", url, "--baseline", *BASELINE)
    print(json.dumps(found["tried"]))
    return {"engine": msgspec.to_builtins(pair), "baseline": found}


def _pair(url: str, options: Sequence[str], *, ours_first: bool) -> Paired:
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for by_loadgen in (False, True) if ours_first else (True, False):
            more = ("--loadgen",) if by_loadgen else ()
            found[by_loadgen] = _measured(folder, url, (*options, *more))
        ids = [found[by_loadgen][0] for by_loadgen in (False, True)]
        _, verdict = _caveat(folder, "compare", *ids)
    pair = Paired(found[False][1], found[True][1], verdict["verdict"])
    print(
        f"queries {pair.ours.queries} and {pair.loadgen.queries}, valid {pair.ours.valid} and {pair.loadgen.valid}, "
        f"{pair.compared}; "
        + ", ".join(f"{key} {1e3 * (pair.ours.seconds[key] - pair.loadgen.seconds[key]):+.3f} ms" for key in KEYS)
    )
    return pair


def _measured(folder: str, url: str, options: Sequence[str]) -> tuple[str, Side]:
    _, found = _caveat(folder, "measure", url, "--scenario", "server", *options)
    (run,) = found["runs"]
    kept = Ledger(Path(folder), shipped=False).run(run["id"])
    values = {row.metric: row.value for row in kept.rows}
    side = Side(
        valid=run["valid"],
        queries=int(kept.conditions.number("queries") or 0),
        schedule_ns=_schedule_ns(folder, kept.subject, kept.conditions.number("schedule_ns")),
        seconds={key: values[key] for key in KEYS},
        against=tuple(f"{c.aspect}: {c.sentence}" for c in kept.validity if c.outcome == "fail"),
    )
    return run["id"], side


def _schedule_ns(folder: str, subject: str, logged: float | None) -> int | None:
    """LoadGen logs the sum of its gaps; ours is that of the schedule that its plan was made from."""
    if logged is not None:
        return round(logged)
    spec = json.loads((Path(folder) / subject / "spec.json").read_text())
    arrivals = msgspec.convert(spec["workload"]["arrivals"], Loadgen)
    return schedule_extent(arrivals.settings()).generated_duration_ns


def _caveat(folder: str, *arguments: str) -> tuple[int, Any]:
    """One verb, its exit code and its JSON. The client has the last core, so that an engine may have the first."""
    last = max(os.sched_getaffinity(0))
    done = subprocess.run(
        [sys.executable, "-m", "caveat", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CAVEAT_LEDGER": folder},
        preexec_fn=lambda: os.sched_setaffinity(0, {last}),
        timeout=3600,
    )
    return done.returncode, json.loads(done.stdout)


def differences_ms(pairs: Sequence[Paired]) -> dict[str, tuple[float, float]]:
    """By metric: the median of ours less LoadGen's in ms, and what is allowed: 2 % of LoadGen's, or half a ms."""
    found = {}
    for key in KEYS:
        apart = statistics.median(pair.ours.seconds[key] - pair.loadgen.seconds[key] for pair in pairs)
        typical = statistics.median(pair.loadgen.seconds[key] for pair in pairs)
        found[key] = 1e3 * apart, 1e3 * max(0.02 * typical, 0.0005)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
