"""caveat figures: list figures by their conditions."""

from __future__ import annotations

from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, WhereOption, emit, plural, show, verb_app
from caveat.errors import EXIT_NO, EXIT_YES
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


@app.command()
def figures(
    where: WhereOption = None,
    columns: Annotated[
        str | None, typer.Option("--columns", "-c", help="Columns, separated by commas; +NAME adds to the usual ones.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All metrics of each run, not the published one alone.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="Show at most so many lines (JSON has all).", min=1)] = 200,
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
    found = Ledger(ledger).figures([parse_where(text) for text in where or ()], primary_only=not every)
    if as_json:
        emit({"format": "caveat-figures/1", "figures": [figure_json(figure) for figure in found]})
        return EXIT_YES if found else EXIT_NO
    if not found:
        show(cell("no figure fits; caveat figures lists what there is"))
        return EXIT_NO
    show(figures_table(found[:limit], shown))
    rest = f", {len(found) - limit} of them not shown (--limit)" if len(found) > limit else ""
    show(cell(""), cell(f"{plural(len(found), 'figure')}{rest}"))
    for line in filter(None, (spread_line(found, key) for key in shown)):
        show(cell(f"spread   {line}"))
    show(cell(f"all      {common_conditions(found, shown)}"))
    show(cell(f"caveats  {', '.join(caveat_lines(found)[:6])}"))
    return EXIT_YES


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return DEFAULT_COLUMNS
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if any(key.startswith("+") for key in keys):
        return (*DEFAULT_COLUMNS, *checked_columns([key.removeprefix("+") for key in keys]))
    return checked_columns(keys)
