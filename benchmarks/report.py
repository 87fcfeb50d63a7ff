"""Report: docs/benchmarks.md and docs/validation.md from kept results. `--check` says whether they fit."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import (
    bench_differences,
    bench_truth,
    published_page,
    scenarios_page,
    twin_page,
    validation_engine_page,
)
from benchmarks.peers.clients import CLIENTS
from benchmarks.peers.table import HEADS, Line, Target, cells
from benchmarks.results import FOLDER, Result, kept

DOCS = Path(__file__).parent.parent / "docs"
HEAD = """# Benchmarks

Made by `python -m benchmarks.report` from the results that the benchmarks keep; not edited by hand.

Before the numbers, what is wrong with them. All were taken on one small virtual machine that others used at the same
time; the runs beside other clients had a larger share of its processors than the others. What a client costs a
request carries over to other machines, how many requests a second it reaches carries over only as a ratio to its
neighbours in the same table. Client and server share the cores, so that a fast client is soon held up by its server.
None of this says anything about how fast an inference engine is.
"""

VALIDATION_HEAD = """# Validation of the simulator

Made by `python -m benchmarks.report` from the results that the benchmarks keep; not edited by hand.

How far a prediction was from what came, with every aim that was missed. Three kinds of evidence, from the strictest to
the widest: the simulator against an endpoint that the same model drives (nothing is fitted), against a real engine
that it was calibrated on, and against published figures of machines that nobody here has seen. The shares of intervals
that held are kept in the package and printed with each prediction of that grade.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    results = kept(FOLDER)
    texts = {DOCS / name: page(results, head, sections) for name, (head, sections) in PAGES.items()}
    if not asked.check:
        for path, text in texts.items():
            path.write_text(text)
        return 0
    older = [path.name for path, text in texts.items() if not path.is_file() or path.read_text() != text]
    print("\n".join(f"docs/{name} is older than the results" for name in older) or "the pages fit the results")
    return 1 if older else 0


Sections = tuple[tuple[str, Callable[[Result], Iterator[str]]], ...]


def page(results: dict[str, Result], head: str, sections: Sections) -> str:
    """A whole page."""
    return "\n".join([head, *(part for name, make in sections if name in results for part in make(results[name]))])


def peers(result: Result) -> Iterator[str]:
    """Clients side by side."""
    lines = msgspec.convert(result.tables["lines"], list[Line])
    server = "the loopback endpoint" if result.notes["server"] == "loopback" else "one mock server for all"
    yield "## Other clients beside ours\n"
    yield (
        f"`python -m benchmarks.peers`: chat completions, streamed, 16 tokens an answer, {server}. Each client is a "
        f"process of its own, seen from outside; medians of {result.notes['repeats']} runs of about "
        f"{result.notes['seconds']} s, in turns.\n"
    )
    yield from _taken(result)
    names = {line.client for line in lines}
    yield "\n".join(f"- **{client.name}**: {client.what}" for client in CLIENTS if client.name in names) + "\n"
    titles = {
        "each": "64 streams, a write for each token",
        "one write": "64 streams, all tokens in one write",
        "1,000/s": "1,000 requests/s asked for, evenly spaced, first token after 100 ms",
    }
    for load, title in titles.items():
        yield f"### {title}\n"
        yield table(HEADS, [cells(line) for line in lines if line.load == load])
    yield (
        "CPU, rate and gaps are those of the middle 80 % of the time between first and last arrival. In flight is what "
        "the server had read and not answered, at most and in the median; a server that answers within one turn of its "
        "loop never sees two. The standard deviation of gaps is 0 where arrivals are even and 1 ms where they are "
        "Poisson at 1,000/s; " + "; ".join(f"{c.name} paces {c.paces}" for c in CLIENTS if c.name in names) + ".\n"
    )
    yield "### Aims\n"
    found = msgspec.convert(result.tables["targets"], list[Target])
    rows = [(target.what, target.aimed, target.found, "met" if target.met else "missed") for target in found]
    yield table(("what", "aimed at", "found", ""), rows)


def truth(result: Result) -> Iterator[str]:
    """How true the times are."""
    yield "## How true the times are\n"
    yield (
        "`python -m benchmarks.bench_truth`: the first token is due 100 ms after the server has read the request. The "
        "error is what the client tells less what the server did.\n"
    )
    yield from _taken(result)
    tables = result.tables
    loads = {f"{bench_truth.RATE:g}/s": tables["quiet"]}
    loads |= {f"{float(rate):,.0f}/s": found for rate, found in tables.get("ladder", {}).items()}
    loads["70 % of its ceiling"] = tables["busy"]
    rows = [
        (what, client, f"{one['mean_ms']:+.2f}", f"{one['p99_ms']:+.2f}")
        for what, found in loads.items()
        for client, one in found.items()
    ]
    yield table(("load", "client", "error of the mean, ms", "error of p99, ms"), rows)
    ceilings = ", ".join(f"{client} {rate:,.0f}/s" for client, rate in tables["ceilings"].items())
    yield f"Ceilings for the same answers, 800 in flight: {ceilings}.\n"
    stall = tables["stall"]
    yield (
        f"A server that stands still for {bench_truth.STALL_S:g} s under an open loop: {stall['due']} requests were "
        f"due in that time; {stall['too_short']} of them were told a shorter time to first token than until its end, "
        f"and they were {stall['median_ms']:.1f} ms above that in the median, {stall['worst_ms']:.1f} ms at most.\n"
    )
    yield "### Aims\n"
    yield table(("what", "aimed at", "found", ""), _truth_aims(tables))


def _truth_aims(tables: dict[str, Any]) -> list[tuple[str, ...]]:
    quiet, busy, stall = tables["quiet"], tables["busy"], tables["stall"]
    mean = quiet["bare"]["mean_ms"] + bench_truth.MEAN_SLACK_MS
    p99 = quiet["bare"]["p99_ms"] + bench_truth.P99_SLACK_MS
    aims: list[tuple[str, str, float, float]] = [
        ("error of the mean, 20/s", f"at most {mean:.2f} ms (bare + 0.2)", quiet["caveat"]["mean_ms"], mean),
        ("error of p99, 20/s", f"at most {p99:.2f} ms (bare + 0.5)", quiet["caveat"]["p99_ms"], p99),
        ("error of p99, 70 % of its ceiling", "below 5 ms", busy["caveat"]["p99_ms"], bench_truth.BUSY_MS),
        ("latencies shorter than the stall", "none", stall["too_short"], 0.0),
    ]
    return [(what, aimed, f"{found:.2f}", "met" if found <= limit else "missed") for what, aimed, found, limit in aims]


def differences(result: Result) -> Iterator[str]:
    """Whether runs are told apart."""
    yield "## Whether two runs differ\n"
    yield (
        f"`python -m benchmarks.bench_differences`: {result.notes['pairs']} pairs of runs ({result.notes['run']}, "
        "Poisson, log-normal service, a queue) against servers that are equal, and as many of which one is 5 % slower; "
        "how many were told apart at 95 %.\n"
    )
    yield from _taken(result)
    equal, slower = result.tables["equal"], result.tables["slower"]
    yield table(("metric", "equal", "5 % slower"), [(key, str(equal[key]), str(slower[key])) for key in equal])
    asked, pairs = bench_differences.ASKED, int(result.notes["pairs"])
    met = equal[asked] <= bench_differences.MOST_FALSE * pairs / 40, slower[asked] >= 36 * pairs / 40
    yield (
        f"Aimed at for {asked}, of 40: at most {bench_differences.MOST_FALSE} equal ones told apart "
        f"({_met(met[0])}), at least {bench_differences.LEAST_FOUND} slower ones ({_met(met[1])}).\n"
    )


def engine(result: Result) -> Iterator[str]:
    """A real engine."""
    yield "## A real engine\n"
    yield (
        f"`python -m benchmarks.bench_engine`: llama.cpp with {result.notes['model']}, the generator on the other "
        "core. Times to first token are long because the engine is slow and its queue is in them.\n"
    )
    yield from _taken(result)
    runs = result.tables["runs"]
    keys = list(dict.fromkeys(key for run in runs for key in (*run["conditions"], *run["figures"])))
    rows = [(key, *((run["conditions"] | run["figures"]).get(key, "") for run in runs)) for key in keys]
    yield table(("", *(run["what"] for run in runs)), rows)
    yield "Validity, where it is not a pass:\n"
    failing = [
        f"- {run['what']}: {aspect}, {outcome}: {sentence}"
        for run in runs
        for aspect, outcome, sentence in run["validity"]
        if outcome not in ("pass", "not applicable")
    ]
    yield "\n".join(failing or ["- nothing"]) + "\n"
    yield from (f"![{run['what']}](plots/{run['plot']})\n" for run in runs if run.get("plot"))


def ledger(result: Result) -> Iterator[str]:
    """What the size of a ledger costs."""
    yield "## A ledger's size\n"
    yield (
        "`python -m benchmarks.bench_ledger`: seconds for ledgers of so many runs of one's own, each with a document "
        "of 9 kB. A question is put by a fresh process and counted from its first import on; medians of "
        f"{result.notes['repeats']}. The first three rows were done once, by one process and, where documents are "
        "read, by as many more as there are processors.\n"
    )
    yield from _taken(result)
    sizes, seconds = result.tables["sizes"], result.tables["seconds"]
    once = ("all runs added at once", "the index made anew", "every document verified")
    rows = [
        (what, *(f"{one:.2f}" for one in seconds[what]), *[""] * (len(sizes) - len(seconds[what])))
        for what in sorted(seconds, key=lambda what: what not in once)
    ]
    yield table(("", *(f"{size:,} runs" for size in sizes)), rows)


SECTIONS: Sections = (
    ("peers", peers),
    ("truth", truth),
    ("differences", differences),
    ("engine", engine),
    ("ledger", ledger),
    ("scenarios", scenarios_page.scenarios),
    ("simulator", scenarios_page.simulator),
)
VALIDATION: Sections = (
    ("twin", twin_page.twin),
    ("validation_engine", validation_engine_page.validation_engine),
    ("validation_published", published_page.published),
)
PAGES: dict[str, tuple[str, Sections]] = {
    "benchmarks.md": (HEAD, SECTIONS),
    "validation.md": (VALIDATION_HEAD, VALIDATION),
}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _taken(result: Result) -> Iterator[str]:
    yield f"Taken {result.machine.sentence()}.\n"
    if earlier := result.notes.get("earlier"):
        yield f"Earlier try: {earlier}\n"


def _met(met: bool) -> str:
    return "met" if met else "missed"


if __name__ == "__main__":
    sys.exit(main())
