"""caveat export: figures for other programs, conditions included."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, WhereOption, emit, plural, verb_app, write_bytes
from caveat.errors import EXIT_NO, EXIT_YES, InputError, UsageError
from caveat.ledger import Ledger, parse_where
from caveat.publish import EXPORT_FORMS, printable
from caveat.publish import export as exported

app = verb_app()


@app.command()
def export(
    form: Annotated[
        str, typer.Option("--format", "-f", help=f"One of {', '.join(EXPORT_FORMS)}.", metavar="FORM")
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; default standard output.", metavar="FILE"),
    ] = None,
    where: WhereOption = None,
    every: Annotated[bool, typer.Option("--all", help="All metrics of each run, not the published one alone.")] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Export figures with every condition, their validity and their caveats. Exit 1 if no figure fits.

    \b
    Examples:
      caveat export --format csv --where round=v6.1 -o v6.1.csv
      caveat export --format parquet --all -o figures.parquet
      caveat export --format markdown -w submitter=CoreWeave
    """
    if as_json and output is None and form != "json":
        raise UsageError(f"--json and {form} cannot both go to standard output", next="give a file with --output")
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("parquet is binary and would garble the terminal", next="give a file with --output")
    found = Ledger(ledger).figures([parse_where(text) for text in where or ()], primary_only=not every)
    content = exported(found, form)
    if output is not None:
        _write(output, content)
        if as_json:
            emit(
                {
                    "format": "caveat-exported/1",
                    "figures": len(found),
                    "file": printable(str(output)),
                    "bytes": len(content),
                }
            )
        else:
            print(f"{plural(len(found), 'figure')}, {len(content):,} bytes: {printable(str(output))}", file=sys.stderr)
    else:
        write_bytes(content)
    return EXIT_YES if found else EXIT_NO


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: a reader never sees half a file. A link is followed; a pipe or device is written to."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write into", next=f"mkdir -p {path.parent}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file to write", next="name a file in it")
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".caveat-", delete=False) as file:
        written = Path(file.name)
        try:
            file.write(content)
            file.flush()
            written.chmod(0o666 & ~_umask())
            written.replace(path)
        except BaseException:
            written.unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
