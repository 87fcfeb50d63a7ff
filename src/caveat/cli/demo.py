"""caveat demo: what the package is for, in one screen each, on the figures that ship with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from caveat.caveats import sentences
from caveat.cli.compare import print_verdict
from caveat.cli.console import JsonOption, emit, plural, show, show_lines, verb_app
from caveat.cli.discount import print_discount
from caveat.compare import discount, discount_json, verdict, verdicts_json
from caveat.errors import EXIT_YES, LedgerError
from caveat.figures import SHOWN, Figure, Run
from caveat.ledger import Ledger, parse_where
from caveat.publish import cell, cite, figure_json, written

app = verb_app()

ROUND = "v6.1"
SHOWN_CAVEATS = 4
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

    A number is found again with its conditions, put beside its other scenario, given a verdict and cited.

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
    if as_json:
        emit(
            {
                "format": "caveat-demo/1",
                "ledger": str(book.path),
                "added": len(added.added),
                "figure": figure_json(offline),
                "discount": discount_json(pairs),
                "verdicts": [verdicts_json([refused]), verdicts_json([allowed])],
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
    show(
        cell(""),
        cell("next: caveat explain offline-is-not-serving    caveat discount --where round=v6.1    caveat --help"),
    )
    return EXIT_YES


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
