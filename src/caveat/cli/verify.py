"""caveat verify: recompute arrival schedules from their seeds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, progress, show, show_lines, steps, verb_app
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES
from caveat.importers import Schedule, verify_runs, verify_schedules
from caveat.ledger import Ledger
from caveat.publish import cell

app = verb_app()


@app.command()
def verify(
    paths: Annotated[list[str], typer.Argument(help="Logs or trees; or figures of the ledger.", metavar="PATH|FIGURE")],
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Play LoadGen's Poisson schedule again from seed, rate and rules, and compare with the log to the nanosecond.

    Exit 0 where every schedule was reproduced, 1 where one differs, 3 where none could be checked.

    \b
    Examples:
      caveat verify inference_results_v6.0/closed/NVIDIA
      caveat verify mlperf_log_detail.txt --json
      caveat verify 3f2a90c1
    """
    book = Ledger(ledger)
    kept = [book.figure(text).run for text in paths if not os.path.exists(text)]  # noqa: PTH110  (never raises)
    files = [Path(text) for text in paths if os.path.exists(text)]  # noqa: PTH110
    with progress() as bar:
        found = [*(verify_schedules(files, progress=steps(bar)) if files else ()), *verify_runs(kept)]
    if as_json:
        results = [{"subject": one.subject, "schedule": one.state, "detail": one.detail} for one in found]
        emit({"format": "caveat-verify/1", "results": results})
    else:
        _print(found)
    return _exit({one.state for one in found})


def _print(found: Sequence[Schedule]) -> None:
    if not found:
        show(cell("no log of a run with scheduled arrivals was found; caveat import --dry-run says what is there"))
        return
    for one in found:
        show_lines([f"{one.state}  {one.subject}"], indent=0)
        show_lines([one.detail], indent=4, hang=0)
    counts = Counter(one.state for one in found)
    show(cell(""), cell(", ".join(f"{count:,} {state}" for state, count in sorted(counts.items()))))


def _exit(states: set[str]) -> int:
    if "differs" in states:
        return EXIT_NO
    return EXIT_YES if "reproduced" in states else EXIT_CANNOT_SAY
