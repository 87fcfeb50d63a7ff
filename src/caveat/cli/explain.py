"""caveat explain: the caveats of a figure, or the page of one caveat with today's evidence."""

from __future__ import annotations

from typing import Annotated

import typer

from caveat.caveats import CATALOGUE, caveat_named, document, page, sentences
from caveat.cli.console import JsonOption, LedgerOption, emit, show, show_lines, verb_app
from caveat.errors import EXIT_YES
from caveat.ledger import Ledger
from caveat.publish import cell, plain_table

app = verb_app()
_IDS = {caveat.id for caveat in CATALOGUE}


@app.command()
def explain(
    name: Annotated[str | None, typer.Argument(help="A caveat's id, or a figure.", metavar="NAME")] = None,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Print a caveat's page with evidence computed from this ledger, or all caveats that apply to a figure.

    Without a name: the catalogue.

    \b
    Examples:
      caveat explain
      caveat explain no-stable-scenario-discount
      caveat explain 3f2a90c1
    """
    book = Ledger(ledger)
    if name is None:
        return _catalogue(as_json=as_json)
    if name in _IDS or not _looks_like_figure(name):
        return _page(name, book, as_json=as_json)
    figure = book.figure(name)
    said = sentences(figure)
    if as_json:
        entries = [{"id": key, "sentence": sentence} for key, sentence in said]
        emit({"format": "caveat-caveats/1", "figure": figure.id, "caveats": entries})
        return EXIT_YES
    show_lines([str(figure), ""], indent=0)
    show_lines([f"{key}: {sentence}" for key, sentence in said])
    show(cell(""), cell("caveat explain ID prints the page of one of them with evidence"))
    return EXIT_YES


def _looks_like_figure(name: str) -> bool:
    head = name.partition(".")[0]
    return "/" in name or (len(head) >= 4 and all(c in "0123456789abcdef" for c in head))


def _catalogue(*, as_json: bool) -> int:
    if as_json:
        emit({"format": "caveat-catalogue/1", "caveats": [{"id": c.id, "title": c.title} for c in CATALOGUE]})
        return EXIT_YES
    table = plain_table(["id", "what one must know"])
    for caveat in CATALOGUE:
        table.add_row(caveat.id, cell(caveat.title))
    show(table)
    return EXIT_YES


def _page(name: str, book: Ledger, *, as_json: bool) -> int:
    from rich.markdown import Markdown

    caveat = caveat_named(name)
    if as_json:
        emit(document(caveat, book.runs()))
    else:
        show(Markdown(page(caveat, book.runs()), hyperlinks=False))
    return EXIT_YES
