"""caveat record: figures from the samples of an experiment, also of one that was killed."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, verb_app
from caveat.cli.measured import print_measured
from caveat.errors import EXIT_NO, EXIT_YES
from caveat.figures import figures_of
from caveat.ledger import Ledger
from caveat.loadgen import record as recorded
from caveat.publish import figure_json

app = verb_app()


@app.command()
def record(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment: spec.json, notes.json and samples.")],
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Make figures of an experiment's folder and add them to the ledger. Exit 1 where the run is not valid.

    A run that was killed keeps all samples but those of its last second; this makes of them what they give.

    \b
    Examples:
      caveat record ~/.local/share/caveat/ledger/measured/3f2a90c1d1f34c2a9a7f6f0c2b8d5e11
      caveat record ./vendor-run --json
    """
    book = Ledger(ledger)
    inside = folder.resolve().is_relative_to((book.path / "measured").resolve())
    subject = f"measured/{folder.resolve().name}" if inside else f"measured/{uuid.uuid4().hex}"
    run = recorded(folder, subject=subject)
    book.add([run])
    if as_json:
        emit(
            {
                "format": "caveat-measured/1",
                "runs": [{"id": run.id, "figures": [figure_json(f) for f in figures_of(run)]}],
            }
        )
    else:
        print_measured(run)
    return EXIT_YES if run.outcome(run.primary or "") != "fail" else EXIT_NO
