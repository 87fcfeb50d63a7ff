"""A measured run beside a simulated one: whether what was measured lies in the ranges that the model gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from caveat.cli.console import heading, show, show_lines
from caveat.cli.measured import FIRST
from caveat.figures import Figure, Run
from caveat.publish import cell, plain_table
from caveat.units import format_quantity


class Held(NamedTuple):
    """One metric: what was measured, what was predicted with its range, and whether it lies inside."""

    metric: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Ends included."""
        return self.low <= self.measured <= self.high


def held(left: Figure, right: Figure) -> tuple[Held, ...]:
    """Metrics that both runs state and the model gives a range for; none unless one is measured and one simulated."""
    sides = {figure.run.provenance.origin: figure.run for figure in (left, right)}
    if set(sides) != {"measured", "simulated"}:
        return ()
    return tuple(found for metric in FIRST if (found := _held(sides["measured"], sides["simulated"], metric)))


def _held(measured: Run, simulated: Run, metric: str) -> Held | None:
    seen, told = measured.row(metric), simulated.row(metric)
    if seen is None or told is None or told.spread is None:
        return None
    return Held(metric, seen.value, told.value, told.spread.low, told.spread.high)


def held_json(left: Figure, right: Figure) -> dict[str, Any] | None:
    """For a machine; null where the pair is none of a measured and a simulated run."""
    found = held(left, right)
    if not found:
        return None
    each = [{**one._asdict(), "inside": one.inside} for one in found]
    return {"same_plan": _same_plan(left, right), "metrics": each}


def print_held(left: Figure, right: Figure) -> None:
    """As a table, with how many lie inside; nothing for any other pair."""
    found = held(left, right)
    if not found:
        return
    heading("what was measured, against the model's ranges")
    table = plain_table(["metric", "measured", "predicted: 80 %", "inside"], right=["measured"])
    table.columns[0].no_wrap = True
    for one in found:
        unit = (left.run.row(one.metric) or right.row).definition.unit
        seen, _, low, high = (format_quantity(value, unit) for value in one[1:])
        table.add_row(one.metric, cell(seen), cell(f"{low} to {high}"), "yes" if one.inside else "NO")
    show(table)
    count = sum(one.inside for one in found)
    plans = {True: "the same plan", False: "another plan", None: "plans that are not known to be one"}
    show_lines([f"{count} of {len(found)} inside, of {plans[_same_plan(left, right)]}"])


def _same_plan(left: Figure, right: Figure) -> bool | None:
    plans = [figure.conditions.words("plan") for figure in (left, right)]
    return None if None in plans else plans[0] == plans[1]
