"""caveat demo: what the package is for, in one screen each, on the figures that ship with it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from caveat.caveats import sentences
from caveat.cli.carry_out import carry_out
from caveat.cli.compare import print_verdict
from caveat.cli.console import JsonOption, emit, plural, show, show_lines, verb_app
from caveat.cli.discount import print_discount
from caveat.cli.measured import measured_json
from caveat.compare import discount, discount_json, verdict, verdicts_json
from caveat.errors import EXIT_YES, LedgerError
from caveat.figures import SHOWN, Figure, Run
from caveat.ledger import Ledger, parse_where
from caveat.loadgen import Endpoint, Spec
from caveat.measure import Slo
from caveat.publish import cell, cite, figure_json, plain_table, written
from caveat.units import format_quantity
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload

app = verb_app()

ROUND = "v6.1"
SHOWN_CAVEATS = 4
MEASURED = (
    "caveat-request-rate",
    "caveat-output-tokens-rate-usage",
    "caveat-ttft.p50",
    "caveat-ttft.p90",
    "caveat-tpot-usage.p50",
)
QUESTION = "106,517 tokens/s, MI355X"
FOUND = ("round=v6.1", "platform=8xMI355X_2xEPYC_9575F", "benchmark=llama2-70b-99.9")
RIVAL = ("round=v6.1", "submitter=NVIDIA", "accelerator=B300", "accelerators=8", "benchmark=llama2-70b-99.9")


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Folder in which a small ledger is filled.", metavar="FOLDER")] = Path(
        "caveat-demo"
    ),
    as_json: JsonOption = False,
) -> int:
    """Fill a small ledger and show the main job.

    A number is found again with its conditions, put beside its other scenario, given a verdict and cited. Then a server
    of our own is measured for three seconds.

    \b
    Examples:
      caveat demo
      caveat demo /tmp/look --json
    """
    shipped = Ledger(folder / "none")
    book = Ledger(folder / "ledger", shipped=False)
    added = book.add(shipped.runs([parse_where(f"round={ROUND}")]))
    offline, server = (_one(book, (*FOUND, f"scenario={name}")) for name in ("offline", "server"))
    rival = _one(book, (*RIVAL, "scenario=offline"))
    pairs = discount(_with_logs(book.runs()))
    refused, allowed = verdict(offline, server), verdict(offline, rival)
    citation = cite(offline)
    own = _measured(book)
    if as_json:
        emit(
            {
                "format": "caveat-demo/1",
                "ledger": str(book.path),
                "added": len(added.added),
                "figure": figure_json(offline),
                "discount": discount_json(pairs),
                "verdicts": [verdicts_json([refused]), verdicts_json([allowed])],
                "measured": measured_json([own]),
                "citation": {"text": citation.text, "footnote": citation.footnote},
            }
        )
        return EXIT_YES
    _title(f'You were handed "{QUESTION}". The ledger knows the figure, and what makes it true.')
    show(
        cell(f"{plural(len(added.added), 'document')} of round {ROUND} added to {book.path}, {len(added.known)} known")
    )
    show_lines(["", str(offline)], indent=0)
    said = sentences(offline)
    show_lines([f"{name}: {text}" for name, text in said[:SHOWN_CAVEATS]])
    show_lines([f"and {len(said) - SHOWN_CAVEATS} more: caveat show {offline.run.id[:SHOWN]}"])
    _title("The same systems under two scenarios: no fixed discount, and headroom says which rates are floors.")
    print_discount(pairs)
    _title("May the Offline figure stand beside the Server figure? And beside another vendor's?")
    print_verdict(refused)
    print_verdict(allowed)
    _title("How to cite it.")
    show_lines(written(citation).splitlines(), indent=0, hang=4)
    _title("And your own endpoint? A small server of our own, measured for three seconds, open loop.")
    _print_own(own)
    show(
        cell(""),
        cell("next: caveat explain offline-is-not-serving    caveat discount --where round=v6.1    caveat --help"),
    )
    return EXIT_YES


def _measured(book: Ledger) -> Run:
    """A run against the loopback endpoint, which answers after 40 ms and then every 10 ms, eight at a time."""
    from caveat.loopback import Behaviour, start_process
    from caveat.loopback import Fixed as Always

    behaviour = Behaviour(ttft_s=Always(0.04), itl_s=Always(0.01), slots=8)
    workload = Workload(
        arrivals=Poisson(rate_qps=30.0),
        lengths=Separate(input=Fixed(value=64), output=Fixed(value=16)),
        limits=Limits(duration_s=3.0),
    )
    with start_process(behaviour) as server:
        spec = Spec(
            endpoint=Endpoint(url=server.url, model="loopback"),
            workload=workload,
            slo=Slo(ttft_s=0.2, tpot_s=0.05),
            calibrated=False,
        )
        runs, _ = carry_out([spec], book, None, random.SystemRandom(), cool_down_s=0.0, as_json=False)
    return runs[0]


def _print_own(run: Run) -> None:
    """What matters first, and what stands against it."""
    table = plain_table(["metric", "value", "interval", "n"], right=["value", "n"])
    for key in MEASURED:
        row = run.row(key)
        if row is not None:
            ends = [] if row.spread is None else [row.spread.low, row.spread.high]
            interval = " to ".join(format_quantity(end, row.definition.unit) for end in ends)
            table.add_row(key, cell(Figure(run, key).text), cell(interval), f"{row.n:,}" if row.n else "")
    show(table)
    against = [f"{check.aspect}: {check.sentence}" for check in run.validity if check.outcome == "fail"]
    show_lines(["", *(against or ["nothing stands against it"]), f"all of it: caveat show {run.id[:SHOWN]}"], indent=0)


def _with_logs(runs: Sequence[Run]) -> list[Run]:
    """The runs whose own log was seen: only they say how near they came to their limits."""
    return [run for run in runs if run.conditions.state("fingerprint") == "known"]


def _title(text: str) -> None:
    from rich.rule import Rule

    show(cell(""), Rule(style="dim"), cell(text), cell(""))


def _one(book: Ledger, where: Sequence[str]) -> Figure:
    figures = book.figures([parse_where(text) for text in where])
    if len(figures) != 1:
        raise LedgerError(f"the demo expects one figure for {', '.join(where)}, found {len(figures)}")
    return figures[0]
