"""Make the shipped set of public LLM figures from a folder of MLPerf Inference results.

    python scripts/make_shipped.py DATA            write src/caveat/ledger/shipped/runs.parquet
    python scripts/make_shipped.py DATA --check    say whether the file is what DATA gives; exit 1 if not

DATA holds summaries (`summary_results_v6.0.json`, `summary_v6.1.csv`, ...) and trees (`submissions/v6.0/...`).
The same DATA gives the same bytes: no clock, no local path, and a retrieval date only if one is given.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from caveat.facts import benchmark_named
from caveat.figures import Run
from caveat.importers import read
from caveat.ledger import SHIPPED, shipped_bytes

# Our names for copies of public tables, and the place of each in the repository of its round.
TABLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"summary_results_(v[0-9.]+)\.json"), r"inference_results_\1/summary_results.json"),
    (re.compile(r"summary_(v[0-9.]+)\.csv"), r"inference_results_\1/summary.csv"),
)
DIVISIONS = ("closed", "open", "network")
LANGUAGE = ("text", "image+text")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with summaries and submission trees")
    parser.add_argument("--check", action="store_true", help="compare with the file that is there, write nothing")
    parser.add_argument("--retrieved", default="", help="date of retrieval to write into the sources (YYYY-MM-DD)")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    runs = shipped_runs(options.data, options.retrieved)
    content = shipped_bytes(runs)
    print(report(runs, content))
    if options.check:
        same = options.output.is_file() and options.output.read_bytes() == content
        print(f"{options.output.name}: {'up to date' if same else 'differs, run scripts/make_shipped.py'}")
        return 0 if same else 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(content)
    return 0


def shipped_runs(data: Path, retrieved: str = "") -> list[Run]:
    """The runs of language models in the folder, with the places at which their sources were published."""
    imported = read([data], verify=True)
    for code, count in sorted(Counter(problem.code for problem in imported.problems).items()):
        print(f"problem {code}: {count}", file=sys.stderr)
    return [published(run, data, retrieved) for run in imported.runs if is_language_model(run)]


def is_language_model(run: Run) -> bool:
    """Whether the run belongs to a benchmark of a language model; speech recognition does not."""
    benchmark = benchmark_named(run.conditions.words("benchmark") or "")
    return benchmark is not None and benchmark.modality in LANGUAGE


def published(run: Run, data: Path, retrieved: str) -> Run:
    """The run with the public places of its sources, each in the repository of its round."""
    round_name = run.conditions.text("round")
    sources = tuple(
        source
        if source.kind == "rules"
        else msgspec.structs.replace(source, path=published_path(source.path, data, round_name), retrieved=retrieved)
        for source in run.provenance.sources
    )
    return msgspec.structs.replace(run, provenance=msgspec.structs.replace(run.provenance, sources=sources))


def published_path(path: str, data: Path, round_name: str) -> str:
    """The public place of a file: our name of a table, or a place in a tree from its division on."""
    place = PurePosixPath(path)
    inside = place.relative_to(data).as_posix() if place.is_relative_to(data) else path
    for pattern, public in TABLES:
        if match := pattern.fullmatch(inside):
            return match.expand(public)
    if inside.split("/")[0] in DIVISIONS:
        return f"inference_results_{round_name}/{inside}"
    raise SystemExit(f"{path}: no public place is known for this file; see TABLES")


def report(runs: Iterable[Run], content: bytes) -> str:
    """Counts by round and the size of the file."""
    rounds = Counter(run.conditions.text("round") for run in runs)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(rounds.items()))
    return f"{sum(rounds.values())} runs ({counts}), {len(content):,} bytes"


if __name__ == "__main__":
    sys.exit(main())
