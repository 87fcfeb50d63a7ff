"""Validation on a real engine: a model from two short runs, asked for five conditions that it has not seen.

Run from the root of the checkout: `python -m benchmarks.bench_validation_engine --folder WORK --json
benchmarks/results/validation_engine.json`. Every run is kept in the work folder and not made again, so that the
benchmark can be run in pieces: `--only "rate 0.85"` makes the runs of one condition. Whatever is there is evaluated.
With `--coverage src/caveat/simulator/coverage.json` the shares are kept for grade A.

llama.cpp with one thread on the first core, the generator on the last. Prompts are salted and the engine's prompt cache
is off, so that every prompt is computed whole. All load fractions are those of the calibrated model.
"""

import argparse
import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.bench_engine import on_last_core
from benchmarks.bench_validation_published import write_coverages
from benchmarks.local_engine import MODEL, SLOTS, TOKENS_PER_SLOT, engine, missing
from benchmarks.results import Result, keep, machine
from benchmarks.validation_engine_errors import aims, coverages_of, evaluated, load_of_plan, shown
from caveat import __version__
from caveat.loadgen import SAMPLES, Endpoint, Replay, Spec, experiment
from caveat.simulator import Calibration, Model, SchedulerTable, calibrate, capacity_of, from_samples, mix_of
from caveat.simulator.offered import offered_by
from caveat.workload import (
    Arrivals,
    Concurrency,
    Gamma,
    Lengths,
    Limits,
    Lognormal,
    Poisson,
    Separate,
    Workload,
)

SEED = 2026
REPEATS = 3
SECONDS = 80.0
CALIBRATION = {"low": 0.35, "middle": 0.75}  # requests a second; about 0.25 and 0.6 of what a quiet core carries
USUAL = (100, 32)
LONGER = (180, 56)
TRACE_THIN, TRACE_INPUT, TRACE_OUTPUT = 8, 0.089, 0.115


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out condition. `load` is the fraction of modelled capacity that it is offered at, None where its own
    arrivals say how much comes."""

    name: str
    what: str
    lengths: tuple[int, int] = USUAL
    load: float | None = None
    cv: float = 1.0
    users: int | None = None
    slots: int = SLOTS
    trace: bool = False


CONDITIONS = (
    Condition(name="rate 0.85", what="the same requests at 0.85 of capacity", load=0.85),
    Condition(name="lengths", what="longer prompts and answers at 0.55 of capacity", lengths=LONGER, load=0.55),
    Condition(name="bursty", what="gamma arrivals with a cv of 2.5 at 0.6 of capacity", load=0.6, cv=2.5),
    Condition(name="slots", what="16 slots, 12 users who ask again at once", users=12, slots=16),
    Condition(name="trace", what="the beginning of a recorded day, thinned and shortened", trace=True),
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where runs are kept, and found again")
    parser.add_argument("--only", action="append", default=[], help="make the runs of these conditions only")
    parser.add_argument("--evaluate", action="store_true", help="make no runs: evaluate what is there")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long requests of one run arrive")
    parser.add_argument(
        "--rates", type=float, nargs=2, default=tuple(CALIBRATION.values()), help="of the calibration runs, a second"
    )
    parser.add_argument("--trace", type=Path, help="the Azure conversation trace of 2023; else none is played")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    parser.add_argument("--coverage", type=Path, help="the file of coverages to bring up to date")
    asked = parser.parse_args(arguments if arguments is not None else [])
    if why := missing():
        print(f"validation_engine: left out: {why}")
        return
    if asked.folder is None:
        print("validation_engine: left out: give --folder, where its runs are kept (about 25 minutes of runs)")
        return
    report(asked, Session(asked))


class Session:
    """Runs in a folder: found there, or made. Each has a folder of its own, named by condition and repeat."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.folder, self.seconds, self.trace = asked.folder, asked.seconds, asked.trace
        self.make, self.rates = not asked.evaluate, dict(zip(CALIBRATION, asked.rates, strict=True))

    def calibration(self) -> list[Path]:
        """Folders of the two runs, made where they are missing."""
        for place, (name, rate) in enumerate(self.rates.items()):
            if self.make and not self.whole(self.folder / name):
                offered = self.workload(USUAL, Poisson(rate_qps=rate), seed=SEED - 1 - place)
                self.measure(name, offered, SLOTS)
        return [self.folder / name for name in CALIBRATION]

    def held_out(self, one: Condition, repeat: int, model: Model, wanted: bool) -> Path | None:
        """The folder of one repeat; None where it is missing and not to be made."""
        folder = self.folder / f"{one.name}-{repeat}"
        there = not one.trace or self.trace is not None
        if not self.whole(folder) and wanted and self.make and there:
            self.measure(folder.name, self.offered(one, model, SEED + 1 + repeat), one.slots)
        return folder if self.whole(folder) else None

    def offered(self, one: Condition, model: Model, seed: int) -> Workload | Replay:
        """What the condition offers; rates by the model's own capacity."""
        if one.trace:
            return Replay(
                file=str(self.trace.resolve()),
                first_s=self.seconds,
                thin=TRACE_THIN,
                scale_input=TRACE_INPUT,
                scale_output=TRACE_OUTPUT,
            )
        if one.users is not None:
            requests = int(1.2 * self.seconds)
            lengths = lengths_of(one.lengths)
            users = Concurrency(requests=one.users)
            return Workload(arrivals=users, lengths=lengths, limits=Limits(requests=requests), seed=seed)
        assert one.load is not None  # one of the three
        return self.at_load(one, one.load, model, seed)

    def at_load(self, one: Condition, load: float, model: Model, seed: int) -> Workload:
        """As many requests as the load asks for in the time of a run, at the rate at which these very requests, with
        the gaps and lengths that they happen to have, are that load."""
        rate = load * capacity_at(model, one.lengths)
        limits = Limits(requests=max(30, round(rate * self.seconds)))

        def offered(rate: float) -> Workload:
            arrivals = Poisson(rate_qps=rate) if one.cv == 1 else Gamma(rate_qps=rate, cv=one.cv)
            return Workload(arrivals=arrivals, lengths=lengths_of(one.lengths), limits=limits, seed=seed)

        first = load_of_plan(model, offered(rate).plan())
        assert first is not None  # open, with gaps
        return offered(round(rate * load / first, 4))

    def workload(self, lengths: tuple[int, int], arrivals: Arrivals, *, seed: int) -> Workload:
        """Arrivals for as long as a run lasts."""
        limits = Limits(duration_s=self.seconds)
        return Workload(arrivals=arrivals, lengths=lengths_of(lengths), limits=limits, seed=seed)

    def measure(self, name: str, offered: Workload | Replay, slots: int) -> None:
        """One run against an engine that was started for it."""
        before = os.getloadavg()[0]
        print(f"validation_engine: {name}, load of the machine before {before:.1f}", flush=True)
        with engine(slots=slots) as url, on_last_core():
            endpoint = Endpoint(url=url, model=MODEL, extra_body={"cache_prompt": False})
            load = {"replay": offered} if isinstance(offered, Replay) else {"workload": offered}
            folder = self.folder / name
            experiment(
                Spec(endpoint=endpoint, **load),
                folder,
                version=__version__,
                started=datetime.now(UTC).isoformat(timespec="seconds"),
                rng=random.Random(),  # a salt: no two runs share a prompt
            )
        (folder / "load.txt").write_text(f"{before:.2f} {os.getloadavg()[0]:.2f}")

    @staticmethod
    def whole(folder: Path) -> bool:
        """Whether a run was carried out to its end."""
        return (folder / "load.txt").is_file()


def report(asked: argparse.Namespace, session: Session) -> None:
    """Runs, model, errors; printed and kept."""
    paths = session.calibration()
    if not all(session.whole(path) for path in paths):
        print("validation_engine: the calibration runs are not there")
        return
    samples = [path / SAMPLES for path in paths]
    found, linear = models(samples)
    rows = []
    for one in CONDITIONS:
        for repeat in range(asked.repeats):
            folder = session.held_out(one, repeat, found.model, not asked.only or one.name in asked.only)
            if folder is not None:
                plan = msgspec.json.decode((folder / "spec.json").read_bytes(), type=Spec).plan()
                rows += evaluated(one.name, repeat, plan, folder / SAMPLES, with_slots(found.model, one.slots), "fit")
                rows += evaluated(one.name, repeat, plan, folder / SAMPLES, with_slots(linear, one.slots), "linear")
    for line in shown(rows):
        print(line)
    tables = tables_of(found, rows, session, asked.repeats)
    if asked.json is not None and rows:
        keep(asked.json, Result("validation_engine", machine(), {"model": f"SmolLM2-135M ({MODEL})"}, tables))
    if asked.coverage is not None and rows:
        write_coverages(asked.coverage, coverages_of(rows))


def models(samples: Sequence[Path]) -> tuple[Calibration, Model]:
    """The model by simulation, and the one by linear rows that it is held against."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    scheduler = SchedulerTable(
        max_num_seqs=SLOTS, static_slots=SLOTS, token_budget=2048, context_tokens=SLOTS * TOKENS_PER_SLOT
    )
    found = calibrate("engine", samples, np.random.default_rng(SEED), date=today, scheduler=scheduler, prefix_hit=0.0)
    rng = np.random.default_rng(SEED)
    linear = from_samples("engine", list(samples), rng, date=today, scheduler=scheduler, prefix_hit=0.0)
    for line in found.model.provenance.note:
        print(f"  {line}")
    return found, linear


def with_slots(model: Model, slots: int) -> Model:
    """The model with another number of slots."""
    scheduler = msgspec.structs.replace(
        model.scheduler, max_num_seqs=slots, static_slots=slots, context_tokens=slots * TOKENS_PER_SLOT
    )
    return msgspec.structs.replace(model, scheduler=scheduler)


def capacity_at(model: Model, lengths: tuple[int, int]) -> float:
    """Requests/s that the model carries of these lengths."""
    plan = Workload(
        arrivals=Poisson(rate_qps=1.0), lengths=lengths_of(lengths), limits=Limits(requests=2000), seed=SEED
    ).plan()
    offered = offered_by(plan)
    mix = mix_of(offered.input_tokens, offered.output_tokens)
    return capacity_of(model, lambda hit: mix).rate_per_s.median


def lengths_of(means: tuple[int, int]) -> Lengths:
    """Log-normal, with a cv of 0.5."""
    return Separate(input=Lognormal(mean=means[0], cv=0.5), output=Lognormal(mean=means[1], cv=0.5))


def tables_of(found: Calibration, rows: Sequence[Any], session: Session, repeats: int) -> dict[str, Any]:
    """What is kept."""
    loads = {path.name: (path / "load.txt").read_text() for path in _folders(session)}
    return {
        "conditions": {one.name: one.what for one in CONDITIONS},
        "seconds": session.seconds,
        "calibration": session.rates,
        "repeats": repeats,
        "model": {
            "notes": list(found.model.provenance.note),
            "parameters": msgspec.to_builtins(found.model.step_time)["parameters"],
            "small_below": msgspec.to_builtins(found.model.step_time).get("small_below", 0),
            "residual": msgspec.to_builtins(found.model.residual),
        },
        "rows": msgspec.to_builtins(rows),
        "aims": msgspec.to_builtins(aims(rows)),
        "load of the machine, before and after": loads,
    }


def _folders(session: Session) -> Iterator[Path]:
    return (path for path in sorted(session.folder.iterdir()) if session.whole(path))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
