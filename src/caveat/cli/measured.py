"""A measured run on the screen: what matters first, with intervals, validity and what is absent."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats import sentences
from caveat.cli.console import heading, show, show_lines
from caveat.cli.drawn import print_chart
from caveat.errors import CaveatError
from caveat.figures import SHOWN, Figure, Row, Run, figures_of
from caveat.measure import DECIDING, verdict
from caveat.publish import cell, figure_json, plain_table, plot_sweep
from caveat.units import format_quantity

# Shown in this order where the run has them; caveat show has all.
FIRST = (
    "caveat-request-rate",
    "caveat-output-tokens-rate-usage",
    "caveat-output-tokens-rate-client",
    "caveat-goodput",
    "caveat-goodput-share",
    "caveat-error-rate",
    "caveat-ttft.p50",
    "caveat-ttft.p90",
    "caveat-ttft.p99",
    "caveat-tpot-usage.p50",
    "caveat-tpot-usage.p90",
    "caveat-tpot-usage.p99",
    "caveat-latency.p50",
    "caveat-latency.p90",
    "caveat-latency.p99",
    "caveat-send-lateness.p99",
)
# And before them, of a run in a scenario: LoadGen's own definitions, and what early stopping certifies.
IN_SCENARIO = (
    "loadgen-completed-tokens-rate",
    "loadgen-offline-tokens-rate",
    "loadgen-stream-tokens-rate",
    "loadgen-single-stream-latency.p90",
    "loadgen-multi-stream-latency.p99",
    "loadgen-ttft.p99",
    "loadgen-tpot.p99",
    "caveat-certified-ttft.p99",
    "caveat-certified-tpot-usage.p99",
    "caveat-certified-latency.p99",
)
FORMAT = "caveat-measured/1"
MARKS = {"pass": "ok", "fail": "NO", "unknown": "?", "not applicable": "-"}


def is_valid(run: Run) -> bool:
    """Whether nothing speaks against any figure of the run: not the client, the arrivals, the limits or the sums.

    In a scenario nothing may be undecided either.
    """
    judged = verdict(run.validity)
    return judged == "VALID" if judged else all(check.outcome != "fail" for check in run.validity)


def headline(run: Run) -> str | None:
    """What a run in a scenario came to, and what that is not; None for any other run.

    Never the word VALID alone: nobody but MLCommons makes a result of theirs of it.
    """
    judged = verdict(run.validity)
    if judged is None:
        return None
    profile, changes = (run.conditions.words(key) for key in ("profile", "profile_changes"))
    eased = f", changed ({changes})" if changes else ""
    rules = f"of {profile}{eased}" if profile else "with limits of your own"
    scenario = run.conditions.text("scenario")
    backing = "simulated" if run.provenance.origin == "simulated" else "unverified"
    return f"{judged} under caveat's reading of the rules ({scenario}, {rules}); {backing}, not an MLPerf result"


def why_not(run: Run) -> tuple[str, ...]:
    """What keeps a run in a scenario from being valid, the first thing that one asks for: how many more queries."""
    decided = [c for c in run.validity if c.outcome == "fail" or (c.outcome == "unknown" and c.aspect in DECIDING)]
    return tuple(f"{check.aspect}: {check.sentence}" for check in decided)


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


def print_validity(run: Run) -> None:
    """One sentence a line, with its outcome before it."""
    heading("validity")
    validity = plain_table(["", "aspect", "what was found"])
    for entry in run.validity:
        validity.add_row(MARKS[entry.outcome], cell(entry.aspect), cell(entry.sentence))
    show(validity)


def print_measured(run: Run) -> None:
    """One run."""
    c = run.conditions
    show(
        cell(f"{run.id[:SHOWN]}  {c.text('model')}, {c.text('scenario')}, {c.text('arrivals')} ({c.text('loop')} loop)")
    )
    said = headline(run)
    if said is not None:
        show(cell(""), cell(said))
        show_lines(why_not(run))
    table = plain_table(["metric", "value", "interval", "n"], right=["value", "n"])
    for key in (*(IN_SCENARIO if said else ()), *FIRST):
        row = run.row(key)
        if row is not None:
            table.add_row(key, cell(Figure(run, key).text), cell(_interval(row)), f"{row.n:,}" if row.n else "")
    show(cell(""), table)
    print_validity(run)
    heading("notes")
    show_lines(run.notes)
    if run.primary is not None:
        heading("caveats")
        show_lines([f"{name}: {text}" for name, text in sentences(Figure(run, run.primary))])
        show(cell(""), cell(f"all of it: caveat show {run.id[:SHOWN]}"))


def _interval(row: Row) -> str:
    if row.spread is None:
        return ""
    unit = row.definition.unit
    return f"{format_quantity(row.spread.low, unit)} to {format_quantity(row.spread.high, unit)}"


def print_sweep(runs: Sequence[Run]) -> None:
    """One line a run, in the order of what was swept: what the server gave, against what each user saw."""
    heads = ["id", "asked", "requests/s", "tokens/s", "TTFT p50", "TTFT p99", "TPOT p50", "goodput", "valid"]
    table = plain_table(heads, right=heads[1:-1])
    for run in sorted(runs, key=_asked):
        keys = ("caveat-request-rate", "caveat-output-tokens-rate-usage", "caveat-ttft.p50", "caveat-ttft.p99")
        cells = [_cell(run, key) for key in (*keys, "caveat-tpot-usage.p50", "caveat-goodput-share")]
        table.add_row(run.id[:SHOWN], f"{_asked(run):g}", *map(cell, cells), "yes" if is_valid(run) else "NO")
    show(table)
    show(cell(""))
    show_lines(
        ["asked: requests/s of an open loop, or requests in flight of a closed one; caveat show ID has it all"],
        indent=0,
    )
    _print_curve(runs)


def _print_curve(runs: Sequence[Run]) -> None:
    """What the system gave against what each user saw, or why that cannot be drawn."""
    heading("curve")
    try:
        print_chart(plot_sweep(runs))
    except CaveatError as error:
        show_lines([f"none: {error.message}"])
        return
    ids = " ".join(run.id[:SHOWN] for run in sorted(runs, key=_asked))
    show_lines([f"as a file: caveat show {ids} --plot curve.svg"], indent=0)


def _asked(run: Run) -> float:
    return run.conditions.number("target_qps") or run.conditions.number("concurrency") or 0.0


def _cell(run: Run, key: str) -> str:
    row = run.row(key)
    return (
        "-"
        if row is None
        else format_quantity(row.value, row.definition.unit).removesuffix(" requests/s").removesuffix(" tokens/s")
    )
