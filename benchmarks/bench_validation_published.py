"""Validation on published data: how far a model from few published figures, or from data sheets, may be trusted.

Run from the root of the checkout: `python -m benchmarks.bench_validation_published --json
benchmarks/results/validation_published.json --coverage src/caveat/simulator/coverage.json`. The first file feeds
docs/validation.md, the second is what `caveat.simulator.grades` reads. Nothing is measured here: same data, same
numbers. The open-loop table is looked for beside the checkout, or where `--open-loop` says.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks import published_offline, published_open_loop, published_points
from benchmarks.results import Result, keep, machine
from caveat.figures import Run
from caveat.ledger import Ledger
from caveat.simulator.grades import Coverage, coverages, encode_coverages

SEED = 2026
AIMS = (
    ("open loop, prefix hit assumed: TPOT at the high rate, median error of the mode", 0.05),
    ("open loop, prefix hit assumed: p95 TTFT where it is told, median error", 0.15),
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open-loop", type=Path, help="the table of open-loop stages")
    parser.add_argument("--json", type=Path, help="where the result is kept")
    parser.add_argument("--coverage", type=Path, help="the file of coverages to bring up to date")
    asked = parser.parse_args(arguments if arguments is not None else [])
    if asked.open_loop is None:
        print("validation_published: left out: give --open-loop, the table of open-loop stages")
        return
    tables = measure(asked.open_loop)
    entries = coverage_entries(tables)
    for one in entries:
        print(f"grade {one.grade}  {one.figure:28} median error {one.median_error:6.1%}  {one.words}")
    for what, aimed, found in aims(tables):
        print(f"{what}: aimed at {aimed:.0%}, found {found:.1%}")
    if asked.json is not None:
        keep(asked.json, Result("validation_published", machine(), {"seed": str(SEED)}, msgspec.to_builtins(tables)))
    if asked.coverage is not None:
        write_coverages(asked.coverage, entries)


def measure(open_loop: Path) -> dict[str, Any]:
    """All parts. Each has a generator of its own, so that one may change without the others."""
    runs = shipped_runs()
    points, left_out = published_points.seen_of(runs)
    rngs = [np.random.default_rng([SEED, part]) for part in range(5)]
    return {
        "open loop": published_open_loop.run(open_loop, rngs[0]),
        "points": {
            "runs": len(points),
            "left out": dict(left_out),
            "little": published_points.little(points),
            "data sheets": published_points.from_data_sheets(points, rngs[1]),
            "data sheets, bf16 KV": published_points.from_data_sheets(points, rngs[2], kv="bf16")["figures"],
            "held out": published_points.held_out(points, rngs[3]),
        },
        "offline": published_offline.run(runs, rngs[4]),
    }


def shipped_runs() -> tuple[Run, ...]:
    """The public figures that come with the package, whatever ledger this machine has."""
    with tempfile.TemporaryDirectory() as folder:
        return Ledger(Path(folder) / "none", shipped=True).runs()


def coverage_entries(tables: dict[str, Any]) -> list[Coverage]:
    """What may be said of grades B and C. Of the open-loop stages the case in which the prefix hit is unknown."""
    unknown = tables["open loop"]["assumptions"][published_open_loop.ASSUMPTIONS[2]]["both"]
    points = tables["points"]
    return [
        *points["data sheets"]["figures"].values(),
        *points["held out"]["figures"].values(),
        *unknown.values(),
        *(one["figure"] for one in tables["offline"]["by benchmark"]),
    ]


def aims(tables: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(what, aimed at, found); a median error at or below the aim meets it."""
    known = tables["open loop"]["assumptions"][published_open_loop.ASSUMPTIONS[1]]["high rate"]
    found = (known["error of the mode"]["median"], msgspec.to_builtins(known["figures"]["ttft p95"])["median_error"])
    return [(what, aimed, value) for (what, aimed), value in zip(AIMS, found, strict=True)]


def write_coverages(path: Path, entries: list[Coverage]) -> None:
    """Into the file, in place of what it says of the same grades and figures; other entries stay."""
    new = {(one.grade, one.figure) for one in entries}
    kept = [one for one in coverages(path.read_bytes()) if (one.grade, one.figure) not in new] if path.exists() else []
    fresh = path.with_suffix(".new")
    fresh.write_bytes(encode_coverages([*kept, *entries]))
    fresh.replace(path)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
