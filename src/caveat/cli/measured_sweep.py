"""The runs of a sweep or of repeats on the screen: a line each, what they have in common, and the curve they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caveat.cli.console import emit, heading, plural, show, show_lines
from caveat.cli.drawn import print_chart
from caveat.cli.measured import measured_json, print_measured
from caveat.cli.measured_repeats import Point, points, print_repeats, repeats_json
from caveat.cli.measured_words import aspects, draw_words, is_valid
from caveat.cli.turns import Turn, load_words
from caveat.errors import CaveatError
from caveat.figures import SHOWN, Run
from caveat.publish import cell, plain_table, plot_sweep
from caveat.units import format_quantity


def report(order: Sequence[Turn], runs: Sequence[Run], *, interrupted: bool, full: bool, as_json: bool) -> None:
    """What came of the runs in `order`, of which the first ones were made; and what did not come to be."""
    left = order[len(runs) :]
    if as_json:
        missing = [load_words(turn.spec) for turn in left]
        repeats = repeats_json(points(order, runs))
        emit(measured_json(runs, interrupted=interrupted, not_measured=missing, repeats=repeats))
        return
    if len(order) == 1 and runs:
        print_measured(runs[0], full=full)
    elif runs:
        print_sweep(runs, repeated=points(order, runs))
    if interrupted:
        show_lines(["", _interrupted(order, left)], indent=0)


def _interrupted(order: Sequence[Turn], left: Sequence[Turn]) -> str:
    """`Interrupted: 2 of 3 runs were not made (4 requests/s, 8 requests/s). The last one stopped early.`."""
    if not left:
        return "Interrupted: the run stopped early; what it had until then is kept."
    which = ", ".join(dict.fromkeys(load_words(turn.spec) for turn in left))
    return (
        f"Interrupted: {len(left)} of {plural(len(order), 'run')} were not made ({which}); the last of the others may "
        "have stopped early: see its check of completion."
    )


def print_sweep(runs: Sequence[Run], *, repeated: Sequence[Point] = ()) -> None:
    """One line a run, in the order of what was swept: what the server gave, against what each user saw."""
    heads = ["id", "asked", "requests/s", "tokens/s", "TTFT p50", "TTFT p99", "TPOT p50", "goodput", "valid"]
    table = plain_table(heads, right=heads[1:-1])
    for run in sorted(runs, key=_asked):
        keys = ("caveat-request-rate", "caveat-output-tokens-rate-usage", "caveat-ttft.p50", "caveat-ttft.p99")
        cells = [_cell(run, key) for key in (*keys, "caveat-tpot-usage.p50", "caveat-goodput-share")]
        table.add_row(run.id[:SHOWN], f"{_asked(run):g}", *map(cell, cells), cell(_judged(run)))
    show(table)
    show(cell(""))
    show_lines(
        ["asked: requests/s of an open loop, or requests in flight of a closed one; caveat show ID has it all"],
        indent=0,
    )
    show_lines(list(dict.fromkeys(_far_draws(runs))), indent=0)
    print_repeats(repeated)
    if len({_asked(run) for run in runs}) > 1 or not repeated:
        _print_curve(runs)


def _far_draws(runs: Sequence[Run]) -> Iterator[str]:
    """Points whose draw has another rate than was asked for, by so much that it matters."""
    for run in sorted(runs, key=_asked):
        rate_qps, scheduled_qps = run.conditions.number("target_qps"), run.conditions.number("scheduled_qps")
        said = "" if rate_qps is None else draw_words(rate_qps, scheduled_qps)
        if ", " in said:
            yield f"asked {rate_qps:g}/s; {said}"


def _judged(run: Run) -> str:
    """`yes`, or `NO:` and what failed."""
    failed = aspects(run, "fail")
    return "yes" if is_valid(run) else f"NO: {failed or aspects(run, 'unknown')}"


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
