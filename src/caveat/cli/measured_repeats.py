"""Repeated runs on the screen and for machines: the mean of each point's runs, its interval, and the spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from caveat.cli.console import heading, plural, show, show_lines
from caveat.cli.measured_tables import LATENCIES, RATES
from caveat.cli.measured_words import is_valid
from caveat.cli.turns import Turn, load_words
from caveat.figures import METRICS, Run
from caveat.measure import Repeated, repeated
from caveat.publish import cell, plain_table
from caveat.units import format_interval, format_quantity

SUMMARIZED = (
    *RATES[:5],
    *(f"{definition}.{percentile}" for _, definition in LATENCIES for percentile in ("p50", "p99")),
)
"""What is averaged over runs: rates, goodput, and both ends of each latency."""
METHOD = "mean of the runs' values; interval: 95 %, Student's t over runs; sd: standard deviation between runs"
_OWN = "each run has a draw of its own (the next seed), so the interval is about draws too"
_SAME = "all runs of a point sent one plan: the interval says nothing of another draw"


@dataclass(frozen=True, slots=True)
class Point:
    """The runs of one point, what it asked, and whether they were drawn apart."""

    asked: str
    runs: tuple[Run, ...]
    own_draws: bool

    def rows(self) -> tuple[Repeated, ...]:
        """The main metrics over the runs."""
        return repeated(self.runs, SUMMARIZED)

    def invalid(self) -> int:
        """How many of the runs something speaks against."""
        return sum(not is_valid(run) for run in self.runs)


def points(order: Sequence[Turn], runs: Sequence[Run]) -> list[Point]:
    """The points that have more than one run, as they were asked for; `runs` are the first of `order`."""
    made: dict[int, list[tuple[Turn, Run]]] = {}
    for turn, run in zip(order, runs, strict=False):  # an interrupted series has fewer runs
        made.setdefault(turn.point, []).append((turn, run))
    return [_point(pairs) for _, pairs in sorted(made.items()) if len(pairs) > 1]


def _point(pairs: Sequence[tuple[Turn, Run]]) -> Point:
    plans = {run.conditions.words("plan") for _, run in pairs}
    return Point(load_words(pairs[0][0].spec), tuple(run for _, run in pairs), len(plans) == len(pairs))


def repeats_json(found: Sequence[Point]) -> list[dict[str, Any]]:
    """Derived from the runs that are named; null is what two runs at least would say."""
    return [
        {
            "asked": point.asked,
            "runs": [run.id for run in point.runs],
            "not_valid": point.invalid(),
            "own_draws": point.own_draws,
            "derived": True,
            "method": METHOD,
            "rows": [_row_json(row) for row in point.rows()],
        }
        for point in found
    ]


def _row_json(row: Repeated) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "unit": METRICS[row.metric].unit.value,
        "n": row.n,
        "mean": row.mean,
        "low": row.low,
        "high": row.high,
        "sd": row.sd,
        "min": row.least,
        "max": row.most,
    }


def print_repeats(found: Sequence[Point]) -> None:
    """A table a point, and what it was made of."""
    for point in found:
        heading(f"over {plural(len(point.runs), 'run')}: {point.asked}")
        show(_table(point))
        wrong = point.invalid()
        spoiled = f"; {wrong} of {len(point.runs)} runs are not valid, and their values are in it" if wrong else ""
        show_lines([f"derived: {METHOD}; {_OWN if point.own_draws else _SAME}{spoiled}"], indent=0)


def _table(point: Point) -> Any:
    heads = ["metric", "mean", "interval", "sd", "from", "to", "runs"]
    table = plain_table(heads, right=heads[1:])
    for row in point.rows():
        unit = METRICS[row.metric].unit
        ends = "" if row.low is None or row.high is None else format_interval(row.low, row.high, unit)
        sd = "" if row.sd is None else format_quantity(row.sd, unit)
        mean, least, most = (format_quantity(value, unit) for value in (row.mean, row.least, row.most))
        words = (_without_unit(said) for said in (mean, ends, sd, least, most))
        table.add_row(row.metric, *map(cell, words), f"{row.n}")
    return table


def _without_unit(said: str) -> str:
    """Rates without their unit, which their definitions name: the row keeps to one line."""
    return said.replace(" requests/s", "").replace(" tokens/s", "")
