"""caveat cite: a line and a footnote that satisfy the rules for citing."""

from __future__ import annotations

import sys
from datetime import date
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, verb_app, write, write_bytes
from caveat.errors import EXIT_YES, UsageError
from caveat.ledger import Ledger
from caveat.publish import cite as citation_of
from caveat.publish import printable, written

app = verb_app()


@app.command()
def cite(
    figure: Annotated[
        str, typer.Argument(help="Id of a figure or run (a prefix will do), or a subject.", metavar="FIGURE")
    ],
    form: Annotated[str, typer.Option("--format", help="text, markdown, bibtex or json.", metavar="FORM")] = "text",
    retrieved: Annotated[
        str | None,
        typer.Option("--retrieved", help="Date on which you looked the source up.", metavar="YYYY-MM-DD"),
    ] = None,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Write the citation of a figure. Exit 1 where the figure may not be cited (invalid, or a mixed pair).

    \b
    Examples:
      caveat cite 3f2a90c1 --retrieved 2026-11-02
      caveat cite 3f2a90c1 --format markdown
      caveat cite 3f2a90c1 --format bibtex >> results.bib
    """
    citation = citation_of(Ledger(ledger).figure(figure), retrieved=_date(retrieved))
    if as_json or form == "json":
        write_bytes(written(citation, "json").encode())
        return EXIT_YES
    write(written(citation, form))
    if citation.missing:
        print(f"caveat: the rules also want: {printable(', '.join(citation.missing))}", file=sys.stderr)
    return EXIT_YES


def _date(text: str | None) -> str | None:
    try:
        return date.fromisoformat(text).isoformat() if text else None
    except ValueError as error:
        raise UsageError(f"--retrieved: found {text!r}, expected a date like 2026-11-02") from error
