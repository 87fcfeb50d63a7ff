"""caveat show: one figure with everything that makes it true, or drawn; several as the curve of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.cli.console import JsonOption, LedgerOption, emit, verb_app
from caveat.cli.drawn import print_chart
from caveat.errors import EXIT_YES, UsageError
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.publish import (
    card,
    cell,
    figure_json,
    is_chart_name,
    partners_of,
    plot_run,
    plot_sweep,
    write_chart,
)

app = verb_app()


@app.command()
def show(
    figure: Annotated[
        list[str],
        typer.Argument(help="Id of a figure or run (a prefix will do), or a subject.", metavar="FIGURE..."),
    ],
    plot: Annotated[
        bool,
        typer.Option("--plot", help="Draw it here, or into the .png, .svg, .html or .json file named behind."),
    ] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Show one figure: value, validity, every condition, what is undisclosed, provenance, caveats, partners.

    With --plot a measured run is drawn: latencies, the run over time, send lateness. Several runs of one sweep are
    drawn as output tokens/s per accelerator against tokens/s per user. PNG, SVG and HTML need the extra `report`.

    \b
    Examples:
      caveat show 3f2a90c1
      caveat show 3f2a90c1.loadgen-ttft.p99
      caveat show CoreWeave/GB300-NVL72_GB300-288GB_aarch64x72_TRT/llama2-70b-99.9/server/run_1
      caveat show 3f2a90c1 --plot
      caveat show 3f2a90c1 --plot run.png
      caveat show 3f2a90c1 77ab01de 90c1f3aa --plot curve.svg
    """
    book = Ledger(ledger)
    if plot:
        return _plot(book, *_names_and_file(figure), as_json=as_json)
    if len(figure) > 1:
        raise UsageError(
            f"found {len(figure)} figures, expected one", next="caveat figures lists several; --plot draws a sweep"
        )
    found = book.figure(figure[0])
    partners = partners_of(found, book.siblings(found.run.subject))
    versions = book.history(found.run.subject)
    if as_json:
        history = [{"id": run.id, "replaces": run.replaces} for run in versions]
        emit({**figure_json(found), "partners": [figure_json(p) for p in partners], "history": history})
        return EXIT_YES
    console.show(*card(found, partners=partners, history=_history(versions, found.run), width=console.width()))
    return EXIT_YES


def _names_and_file(arguments: Sequence[str]) -> tuple[list[str], Path | None]:
    """The parser knows no option whose value may be left out, so the file stands among the names and is told by its
    ending: no id has one."""
    files = [Path(text) for text in arguments if is_chart_name(text)]
    names = [text for text in arguments if not is_chart_name(text)]
    if len(files) > 1 or not names:
        raise UsageError(
            f"--plot: found {len(names)} figures and {len(files)} files, expected figures and at most one file",
            next="caveat show RUN --plot run.png",
        )
    return names, files[0] if files else None


def _plot(book: Ledger, names: Sequence[str], file: Path | None, *, as_json: bool) -> int:
    figures = [book.figure(name) for name in names]
    chart = plot_run(figures[0], book.path) if len(figures) == 1 else plot_sweep([figure.run for figure in figures])
    if file is not None:
        write_chart(chart.spec, file)
    if as_json:
        ids = [drawn.id for drawn in chart.figures]
        emit({"format": "caveat-chart/1", "figures": ids, **({"file": str(file)} if file else {"spec": chart.spec})})
    elif file is not None:
        console.show(cell(f"{file}: {chart.spec['title']['text']}"))
    else:
        print_chart(chart)
    return EXIT_YES


def _history(versions: tuple[Run, ...], shown: Run) -> list[str]:
    if len(versions) < 2:
        return []
    ids = " -> ".join(run.id[:SHOWN] + (" (this)" if run.id == shown.id else "") for run in versions)
    return [f"versions: {ids}"]
