"""caveat figures: list figures by their conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, WhereOption, emit, plural, show, show_lines, verb_app, width
from caveat.errors import EXIT_NO, EXIT_YES
from caveat.figures import Figure
from caveat.ledger import Ledger, parse_where
from caveat.publish import (
    DEFAULT_COLUMNS,
    caveat_lines,
    cell,
    checked_columns,
    common_conditions,
    figure_json,
    figures_table,
    spread_line,
)

app = verb_app()
SHOWN_CAVEATS = 6
SUMMARISED = 2_000
"""Figures whose spread and caveats are told although not all are shown; of more, only those shown are read."""
SLACK = ("output_tokens.mean", "accuracy_tokens_per_sample")


@app.command()
def figures(
    where: WhereOption = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", "-c", help="Columns with commas between; +NAME adds to the usual.", metavar="NAMES"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All metrics of each run, not the published one alone.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", help="Show at most so many (JSON has all).", min=1, metavar="N")
    ] = 200,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """List figures whose conditions fit. Exit 0 if there are any, 1 if there are none.

    \b
    Examples:
      caveat figures --where round=v6.1 --where benchmark=llama2-70b-99.9
      caveat figures -w round=v6.1 -w benchmark=llama2-70b-99.9 -c +accuracy_tokens_per_sample
      caveat figures -w 'accelerator~MI355X' -w 'accelerators<=8' -w scenario=server -c +headroom_ttft,headroom_tpot
      caveat figures -w speculative_decoding=on --json
    """
    shown = _columns(columns)
    filters, book = [parse_where(text) for text in where or ()], Ledger(ledger)
    if as_json:
        found = book.figures(filters, primary_only=not every)
        emit({"format": "caveat-figures/1", "figures": [figure_json(figure) for figure in found]})
        return EXIT_YES if found else EXIT_NO
    count = book.count_figures(filters, primary_only=not every)
    if not count:
        show(cell("no figure fits; caveat figures lists what there is"))
        return EXIT_NO
    read = max(limit, SUMMARISED) if count <= SUMMARISED else limit
    _print(book.figures(filters, primary_only=not every, limit=read), count, shown, limit)
    return EXIT_YES


def _print(found: Sequence[Figure], count: int, shown: Sequence[str], limit: int) -> None:
    show(figures_table(found[:limit], shown, width=width()))
    rest = f", {count - limit:,} of them not shown (--limit)" if count > limit else ""
    if len(found) < count:
        rest += f"; what follows is about the first {len(found):,}"
    show(cell(""), cell(f"{plural(count, 'figure')}{rest}"))
    keys = dict.fromkeys((*shown, *(SLACK if _one_benchmark(found) else ())))
    spreads = filter(None, (spread_line(found, key) for key in keys))
    lines = [f"spread   {line}" for line in spreads]
    if common := common_conditions(found, shown):
        lines.append(f"all      {common}")
    said = caveat_lines(found)
    more = f", and {len(said) - SHOWN_CAVEATS} more" if len(said) > SHOWN_CAVEATS else ""
    show_lines([*lines, f"caveats  {', '.join(said[:SHOWN_CAVEATS])}{more}"], indent=0, hang=9)


def _one_benchmark(figures: Sequence[Figure]) -> bool:
    """Only within one benchmark is a spread of lengths shape slack."""
    return len({figure.conditions.words("benchmark") for figure in figures}) == 1


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return DEFAULT_COLUMNS
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if any(key.startswith("+") for key in keys):
        return (*DEFAULT_COLUMNS, *checked_columns([key.removeprefix("+") for key in keys]))
    return checked_columns(keys)
