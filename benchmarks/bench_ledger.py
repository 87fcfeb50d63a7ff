"""What the size of a ledger costs: a thousand, ten thousand and a hundred thousand runs of one's own.

Run from the root of the checkout: `python -m benchmarks.bench_ledger`. Each question is put by a fresh process, as
the command line does, and timed from its first import on; beside it stands how long a process takes that imports
and asks nothing, since that does not depend on the ledger. Medians of three. Documents are the shipped ones under
other subjects. `--keep` writes the results file.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path

import msgspec

from benchmarks.results import FOLDER, Result, keep, machine
from caveat.figures import Run
from caveat.ledger import Ledger

SIZES = (1_000, 10_000, 100_000)
REPEATS = 3

# What a fresh process measures of itself. `ledger` and a run's id and subject are given.
PROLOGUE = """
import time; began_s = time.perf_counter()
import json, sys, uuid
from pathlib import Path
import msgspec
from caveat.ledger import Ledger, parse_where
ledger, id, subject = Ledger(Path(sys.argv[1]), shipped=False), sys.argv[2], sys.argv[3]
"""
EPILOGUE = "\nprint(json.dumps(time.perf_counter() - began_s))\n"
QUESTIONS = {
    "imports alone": "import duckdb",
    "one figure by the beginning of its id": "ledger.figure(id[:12])",
    "one figure by its subject": "ledger.figure(subject)",
    "its partners and its history": "ledger.siblings(subject); ledger.history(subject)",
    "figures that fit two filters, 200 read": (
        "where = [parse_where('round=v6.1'), parse_where('submitter=AMD')]; "
        "ledger.count_figures(where); ledger.figures(where, limit=200)"
    ),
    "figures within 1 % of a value": (
        "ledger.figures([parse_where('value>=105400'), parse_where('value<=107600')], limit=200)"
    ),
    "one run added": (
        "run = json.loads(sys.argv[4]); from caveat.figures import load; "
        "run['subject'] = f'bench/{uuid.uuid4().hex}'; ledger.add([load(json.dumps(run).encode())])"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args() if __name__ == "__main__" else argparse.Namespace(keep=False)
    print("ledger: seconds for", ", ".join(f"{size:,}" for size in SIZES), "runs")
    found: dict[str, list[float]] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            for what, seconds in of_size(Path(folder), size):
                found.setdefault(what, []).append(round(seconds, 4))
                print(f"ledger: {size:>7,}  {what}: {seconds:.3f} s", flush=True)
    if asked.keep:
        tables = {"sizes": SIZES, "seconds": found}
        keep(FOLDER / "ledger.json", Result("ledger", machine(), {"repeats": str(REPEATS)}, tables))


def of_size(root: Path, size: int) -> Iterator[tuple[str, float]]:
    """Each thing measured of a ledger of so many runs, with its seconds."""
    runs = list(islice(copies(), size))
    yield "all runs added at once", timed(partial(Ledger(root, shipped=False).add, runs))
    runs.clear()  # with them what the next steps would have to share the memory with
    yield "the index made anew", timed(Ledger(root, shipped=False).rebuild_index)
    time.sleep(2.1)  # folders are believed two seconds after their last change
    ledger = Ledger(root, shipped=False)
    ledger.counts()
    (figure,) = ledger.figures(limit=1)
    document = msgspec.json.encode(msgspec.to_builtins(figure.run)).decode()
    for what, body in QUESTIONS.items():
        arguments = [str(root), figure.run.id, figure.run.subject, document]
        yield what, statistics.median(answered(body, arguments) for _ in range(REPEATS))
    if size <= SIZES[1]:
        yield "every document verified", timed(ledger.verify)


def copies() -> Iterator[Run]:
    """The shipped runs, again and again under other subjects."""
    runs = Ledger(Path("no-such-folder")).runs()
    for fleet in count():
        for run in runs:
            yield msgspec.structs.replace(run, subject=f"fleet-{fleet}/{run.subject}", replaces=None)


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def answered(body: str, arguments: Sequence[str]) -> float:
    """Seconds as the process counts them."""
    command = [sys.executable, "-c", PROLOGUE + body + EPILOGUE, *arguments]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


if __name__ == "__main__":
    main()
