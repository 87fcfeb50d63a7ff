"""caveat show: one figure with everything that makes it true."""

from __future__ import annotations

from typing import Annotated

import typer

from caveat.cli import console
from caveat.cli.console import JsonOption, LedgerOption, emit, verb_app
from caveat.errors import EXIT_YES
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.publish import card, figure_json, partners_of

app = verb_app()


@app.command()
def show(
    figure: Annotated[
        str, typer.Argument(help="Id of a figure or run (a prefix will do), or a subject.", metavar="FIGURE")
    ],
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Show one figure: value, validity, every condition, what is undisclosed, provenance, caveats, partners.

    \b
    Examples:
      caveat show 3f2a90c1
      caveat show 3f2a90c1.loadgen-ttft.p99
      caveat show CoreWeave/GB300-NVL72_GB300-288GB_aarch64x72_TRT/llama2-70b-99.9/server/run_1
    """
    book = Ledger(ledger)
    found = book.figure(figure)
    partners = partners_of(found, book.figures())
    versions = book.history(found.run.subject)
    if as_json:
        history = [{"id": run.id, "replaces": run.replaces} for run in versions]
        emit({**figure_json(found), "partners": [figure_json(p) for p in partners], "history": history})
        return EXIT_YES
    console.show(*card(found, partners=partners, history=_history(versions, found.run), width=console.width()))
    return EXIT_YES


def _history(versions: tuple[Run, ...], shown: Run) -> list[str]:
    if len(versions) < 2:
        return []
    ids = " -> ".join(run.id[:SHOWN] + (" (this)" if run.id == shown.id else "") for run in versions)
    return [f"versions: {ids}"]
