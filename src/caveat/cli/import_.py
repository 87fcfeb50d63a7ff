"""caveat import: read result files or whole trees into the ledger."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, plural, progress, show, show_lines, steps, verb_app
from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_YES, Problem
from caveat.importers import Imported, read
from caveat.ledger import Added, Ledger
from caveat.publish import cell

app = verb_app()
SHOWN_PROBLEMS = 20


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, scenario folders, submitters or whole trees.", metavar="PATH")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report, write nothing.")] = False,
    as_format: Annotated[
        str | None, typer.Option("--as", help="Take the files for this format.", metavar="FORMAT")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Also recompute arrival schedules from their seeds.")
    ] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Read any known result file or tree. Exit 0 clean, 1 imported with problems, 4 nothing could be read.

    Log, summary and system description of one run become one figure with all its sources. Importing twice adds
    nothing.

    \b
    Examples:
      caveat import summary_results.json
      caveat import inference_results_v6.0 --verify
      caveat import closed/AMD/results/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/Server --dry-run
      caveat import odd.csv --as mlperf-summary-csv --json
    """
    with progress() as bar:
        step = steps(bar)
        imported = read(paths, as_format=as_format, verify=verify, progress=step)
        added = Ledger(ledger).add(imported.runs, dry_run=dry_run, progress=partial(step, "documents written"))
    imported = _with_refused(imported, added)
    if as_json:
        emit(_json(imported, added, dry_run=dry_run))
    else:
        _print(imported, added, dry_run=dry_run)
    if not imported.runs:
        return EXIT_INPUT
    return EXIT_NO if imported.problems else EXIT_YES


def _with_refused(imported: Imported, added: Added) -> Imported:
    """Runs that the ledger did not take are problems like any other; the rest is in it."""
    refused = [
        Problem(
            code="subject-taken",
            path=subject,
            message=f"the ledger holds another kind of run of this subject: {reason}",
            next="give the run a subject of its own",
        )
        for subject, reason in added.refused.items()
    ]
    return msgspec.structs.replace(imported, problems=(*imported.problems, *refused))


def _json(imported: Imported, added: Added, *, dry_run: bool) -> dict[str, Any]:
    return {
        "format": "caveat-import/1",
        "dry_run": dry_run,
        "runs": len(imported.runs),
        "added": list(added.added),
        "known": list(added.known),
        "replaced": added.replaced,
        "problems": [msgspec.to_builtins(problem) for problem in imported.problems],
        "passed_over": imported.passed_over,
        "schedules": _schedules(imported),
    }


def _schedules(imported: Imported) -> dict[str, int]:
    return dict(Counter(run.conditions.text("schedule") for run in imported.runs if run.conditions.get("schedule")))


def _print(imported: Imported, added: Added, *, dry_run: bool) -> None:
    rounds = Counter(run.conditions.text("round") for run in imported.runs)
    by_round = ", ".join(f"{name} {count:,}" for name, count in sorted(rounds.items()))
    show(cell(f"{plural(len(imported.runs), 'run')} read{': ' if by_round else ''}{by_round}"))
    verb = "would be added" if dry_run else "added"
    show(cell(f"{len(added.added):,} {verb} ({len(added.replaced):,} enrich an older one), {len(added.known):,} known"))
    if imported.passed_over:
        passed = "; ".join(f"{count:,} {reason}" for reason, count in sorted(imported.passed_over.items()))
        show(cell(f"passed over: {passed}"))
    if schedules := _schedules(imported):
        show(cell("schedules: " + ", ".join(f"{count:,} {state}" for state, count in sorted(schedules.items()))))
    if imported.problems:
        _print_problems(imported)


def _print_problems(imported: Imported) -> None:
    counts = Counter(problem.code for problem in imported.problems)
    by_code = ", ".join(f"{count:,} {code}" for code, count in counts.most_common())
    show(cell(""), cell(f"{plural(len(imported.problems), 'problem')}: {by_code}"))
    for problem in imported.problems[:SHOWN_PROBLEMS]:
        where = f"{problem.path}:{problem.line}" if problem.line else problem.path
        found = f" (found {problem.found}, expected {problem.expected})" if problem.found else ""
        show_lines([f"{problem.code}: {problem.message}{found}"])
        show_lines([where, *([f"next: {problem.next}"] if problem.next else [])], indent=4)
    if len(imported.problems) > SHOWN_PROBLEMS:
        show(cell(f"{len(imported.problems) - SHOWN_PROBLEMS:,} more with --json"))
