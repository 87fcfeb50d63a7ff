"""caveat verify: recompute arrival schedules from their seeds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, show, verb_app
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES
from caveat.importers import verify_schedules
from caveat.ledger import Ledger
from caveat.publish import cell, plain_table

app = verb_app()


@app.command()
def verify(
    paths: Annotated[list[str], typer.Argument(help="Logs or trees; or figures whose verdict is on record.")],
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
    files = [Path(text) for text in paths if Path(text).exists()]
    states = [(v.subject, v.state, v.detail) for v in verify_schedules(files)] if files else []
    book = Ledger(ledger)
    for text in (text for text in paths if not Path(text).exists()):
        figure = book.figure(text)
        checks = [check.sentence for check in figure.validity if check.aspect == "schedule"]
        states.append((figure.run.subject, figure.conditions.text("schedule"), "; ".join(checks)))
    if as_json:
        results = [{"subject": subject, "schedule": state, "detail": detail} for subject, state, detail in states]
        emit({"format": "caveat-verify/1", "results": results})
    else:
        table = plain_table(["schedule", "subject", "detail"])
        for subject, state, detail in states:
            table.add_row(state, cell(subject), cell(detail))
        counts = Counter(state for _, state, _ in states)
        show(table, cell(""), cell(", ".join(f"{state} {count}" for state, count in sorted(counts.items()))))
    return _exit({state for _, state, _ in states})


def _exit(states: set[str]) -> int:
    if "differs" in states:
        return EXIT_NO
    return EXIT_YES if "reproduced" in states else EXIT_CANNOT_SAY
