"""caveat record: figures from the samples of an experiment, also of one that was killed or still goes."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import FullOption, JsonOption, LedgerOption, emit, show_lines, verb_app
from caveat.cli.measured import is_valid, measured_json, print_measured
from caveat.errors import EXIT_NO, EXIT_YES, RefusedError
from caveat.figures import Run
from caveat.ledger import Ledger
from caveat.loadgen import ORDER, accuracy_run, copy_folder, differing_file, is_going, read_folder
from caveat.loadgen import record as recorded

app = verb_app()

_ADDED = "added to the ledger"
_KNOWN = "the ledger has it already: nothing was added"
_GOING = "the run still goes: these are its figures so far, and nothing was added"


@app.command()
def record(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment: spec.json, notes.json and samples.")],
    full: FullOption = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Make figures of an experiment's folder and add them to the ledger. Exit 1 where the run is not valid.

    A run that was killed keeps all samples but those of its last second; this makes of them what they give, and says
    that it was interrupted. A folder from elsewhere is copied into the ledger once its figures could be made; one that
    differs from what the ledger has of the same run is refused. Of a run that still goes the figures so far are
    shown, and nothing is added.

    \b
    Examples:
      caveat record ~/.local/share/caveat/ledger/measured/3f2a90c1d1f34c2a9a7f6f0c2b8d5e11
      caveat record ./vendor-run --json
    """
    book = Ledger(ledger)
    if (folder / ORDER).is_file():
        run, what = _kept(accuracy_run(folder), book)
    elif is_going(folder):
        run, what = recorded(folder, subject=_subject(folder)), _GOING
    else:
        run, what = _kept(_inside(folder, book), book)
    if as_json:
        emit(measured_json([run], ledger=what))
    else:
        print_measured(run, full=full)
        show_lines([what], indent=0)
    return EXIT_YES if is_valid(run) else EXIT_NO


def _kept(run: Run, book: Ledger) -> tuple[Run, str]:
    """The run as the ledger has it, and what became of it."""
    result = book.add([run])
    return book.run((result.added or result.known)[0]), _ADDED if result.added else _KNOWN


def _subject(folder: Path) -> str:
    """The run's own name. One that was given none has one that follows from what it says of itself."""
    notes = read_folder(folder)[1]
    made_of = uuid.uuid5(uuid.NAMESPACE_URL, f"{notes.started} {notes.plan} {notes.salt}")
    return notes.subject or f"measured/{made_of.hex}"


def _inside(folder: Path, book: Ledger) -> Run:
    """The run of the folder, which then stands inside the ledger, where figures find their samples again.

    Its figures are made of the copy before the copy has its name: one that gives none leaves nothing behind.
    RefusedError where the ledger has the run with other files.
    """
    subject = _subject(folder)
    home = book.path / subject
    if home.exists():
        _check_alike(folder, home)
        return recorded(home, subject=subject)
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=home.parent) as parent:
        growing = Path(parent) / home.name
        growing.mkdir()
        copy_folder(folder, growing)
        run = recorded(growing, subject=subject)
        growing.rename(home)
    return run


def _check_alike(folder: Path, home: Path) -> None:
    """RefusedError for a copy that was changed: its figures would be shown as those of the run that is there."""
    differs = None if home.resolve() == folder.resolve() else differing_file(folder, home)
    if differs is not None:
        raise RefusedError(
            f"{folder}: {differs} is not the one that the ledger has of this run: found another hash",
            code="run-differs",
            next=f"caveat record {home} has the ledger's figures; a ledger of its own takes this one: --ledger PATH",
        )
