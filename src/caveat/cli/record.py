"""caveat record: figures from the samples of an experiment, also of one that was killed or still goes."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, show_lines, verb_app
from caveat.cli.measured import is_valid, measured_json, print_measured
from caveat.errors import EXIT_NO, EXIT_YES, InputError
from caveat.figures import Run
from caveat.ledger import Ledger
from caveat.loadgen import NOTES, ORDER, SAMPLES, SPEC, accuracy_run, is_going, read_folder
from caveat.loadgen import record as recorded

app = verb_app()

_ADDED = "added to the ledger"
_KNOWN = "the ledger has it already: nothing was added"
_GOING = "the run still goes: these are its figures so far, and nothing was added"


@app.command()
def record(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment: spec.json, notes.json and samples.")],
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Make figures of an experiment's folder and add them to the ledger. Exit 1 where the run is not valid.

    A run that was killed keeps all samples but those of its last second; this makes of them what they give, and says
    that it was interrupted. A folder from elsewhere is copied into the ledger. Of a run that still goes the figures
    so far are shown, and nothing is added.

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
        run = recorded(_inside(folder, book), subject=_subject(folder))
        run, what = _kept(run, book)
    if as_json:
        emit(measured_json([run], ledger=what))
    else:
        print_measured(run)
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


def _inside(folder: Path, book: Ledger) -> Path:
    """The experiment's place inside the ledger, where figures find their samples again; copied there from elsewhere."""
    home = book.path / _subject(folder)
    if home.resolve() == folder.resolve() or home.exists():
        return home
    growing = home.with_name(f".{home.name}")
    shutil.rmtree(growing, ignore_errors=True)
    growing.mkdir(parents=True)
    for name in (SPEC, NOTES, SAMPLES):
        _copy(folder / name, growing / name)
    if (folder / f"{SAMPLES}.parts").is_dir():
        for part in sorted((folder / f"{SAMPLES}.parts").iterdir()):
            _copy(part, growing / f"{SAMPLES}.parts" / part.name)
    growing.rename(home)
    return home


def _copy(source: Path, target: Path) -> None:
    """One plain file, where it is there. A link may lead anywhere, and what it leads to would be kept as ours."""
    if source.is_symlink():
        raise InputError(f"{source}: found a link, expected a file", next="put the file itself there")
    if source.is_file():
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
