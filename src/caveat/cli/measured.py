"""A measured run on the screen, the answer first and on one screen, and as the object that `--json` prints."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats import sentences
from caveat.cli.console import heading, show, show_lines, width
from caveat.cli.measured_next import next_steps
from caveat.cli.measured_tables import print_checks, print_main_tables, print_validity, rows_table
from caveat.cli.measured_words import asked, delivered, headline, is_valid, judged, why_not
from caveat.figures import SHOWN, Figure, Run, figures_of
from caveat.publish import cell, figure_json, wrapped

__all__ = [
    "FORMAT",
    "headline",
    "is_valid",
    "measured_json",
    "print_answer",
    "print_measured",
    "print_next",
    "print_rest",
]

FORMAT = "caveat-measured/1"
_REASONS = 1  # beside the verdict; validity below the tables has all


def measured_json(runs: Sequence[Run], **more: object) -> dict[str, object]:
    """Measured runs for a machine, in the order in which they were made; every figure with its conditions."""
    return {"format": FORMAT, "runs": [_run_json(run) for run in runs], **more}


def _run_json(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "subject": run.subject,
        "valid": is_valid(run),
        "headline": headline(run),
        "figures": [figure_json(figure) for figure in figures_of(run)],
        "notes": run.notes,
    }


def print_measured(run: Run, *, full: bool = False) -> None:
    """One run: its answer, or with `full` all that is known of it."""
    c = run.conditions
    show(cell(f"{run.id[:SHOWN]}  {c.text('model')}, {c.text('scenario')}, measured, {c.text('review')}"))
    print_answer(run)
    if full:
        print_rest(run)
    else:
        print_checks(run)
    print_next(run)


def print_answer(run: Run) -> None:
    """The three sentences with what keeps the run from being valid, and the main tables."""
    from rich.text import Text

    show_lines([asked(run), delivered(run)], indent=0)
    show(Text(wrapped(judged(run), width()), style="bold"))
    show_lines(why_not(run)[:_REASONS])
    print_main_tables(run, scenario=headline(run) is not None)


def print_rest(run: Run) -> None:
    """Every row, the whole vector of validity, notes and the sentences of the caveats."""
    heading("all metrics")
    show(rows_table(run, [row.metric for row in run.rows]))
    print_validity(run)
    heading("notes")
    show_lines(run.notes)
    if run.primary is not None:
        heading("caveats")
        show_lines([f"{name}: {text}" for name, text in sentences(Figure(run, run.primary))])


def print_next(run: Run) -> None:
    """What to do now."""
    heading("next")
    show_lines(list(next_steps(run)))
