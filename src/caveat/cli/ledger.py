"""caveat ledger: look after the ledger's folder."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
import typer

from caveat.cli.console import (
    JsonOption,
    LedgerOption,
    emit,
    plural,
    progress,
    show,
    show_lines,
    steps,
    verb_app,
)
from caveat.errors import EXIT_NO, EXIT_YES, UsageError
from caveat.ledger import Ledger
from caveat.publish import cell, printable

app = verb_app()
ACTIONS = ("where", "verify", "rebuild")


@app.command()
def ledger(
    action: Annotated[str, typer.Argument(help="where, verify or rebuild.", metavar="ACTION")] = "where",
    as_json: JsonOption = False,
    folder: LedgerOption = None,
) -> int:
    """Say where the ledger is, check every document against its hash, or rebuild the index.

    Exit 1 where verify finds problems.

    \b
    Examples:
      caveat ledger where
      caveat ledger verify --ledger ./results
      caveat ledger rebuild
    """
    if action not in ACTIONS:
        raise UsageError(f"no action is called {action!r}", next=f"one of {', '.join(ACTIONS)}")
    book = Ledger(folder)
    with progress() as bar:
        step = partial(steps(bar), "documents read")
        problems = book.verify(step) if action == "verify" else ()
        if action == "rebuild":
            book.rebuild_index(step)
    counts, path = book.counts(), printable(str(book.path))
    if as_json:
        found = [msgspec.to_builtins(problem) for problem in problems]
        emit({"format": "caveat-ledger/1", "path": path, "documents": msgspec.to_builtins(counts), "problems": found})
        return EXIT_NO if problems else EXIT_YES
    show(cell(path), cell(f"{plural(counts.own, 'document')} of your own, {counts.shipped:,} shipped"))
    for problem in problems:
        show_lines([f"{problem.code}  {problem.path}: {problem.message}"])
        if problem.next:
            show_lines([f"next: {problem.next}"], indent=4, hang=6)
    if action == "verify":
        show(cell(plural(len(problems), "problem")))
    return EXIT_NO if problems else EXIT_YES
