"""A measured run beside a simulated one: whether what was measured lies in the ranges that the model gave.

Only a prediction of the same load can be right or wrong. Of another load the values stand side by side, and nothing is
counted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from caveat.cli.console import heading, show, show_lines
from caveat.cli.measured_tables import FIRST
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


def other_load(left: Figure, right: Figure) -> tuple[str, ...]:
    """How the two loads differ, in sentences; none where the plans are equal, or alike but for their random numbers."""
    if _same_plan(left, right):
        return ()
    sides = {figure.run.provenance.origin: figure.conditions for figure in (left, right)}
    pairs = ((name, sides["measured"].get(key), sides["simulated"].get(key)) for key, name in _LOAD)
    return tuple(
        f"{name}: {_said(seen)} measured, {_said(told)} predicted"
        for name, seen, told in pairs
        if None not in (seen, told) and not _alike(seen, told)
    )


def held_json(left: Figure, right: Figure) -> dict[str, Any] | None:
    """For a machine; null where the pair is none of a measured and a simulated run. Of another load nothing is inside
    or outside: null."""
    found = held(left, right)
    if not found:
        return None
    other = other_load(left, right)
    each = [{**one._asdict(), "inside": None if other else one.inside} for one in found]
    return {"same_plan": _same_plan(left, right), "other_load": list(other), "metrics": each}


def print_held(left: Figure, right: Figure) -> None:
    """As a table, with how many lie inside; nothing for any other pair."""
    found = held(left, right)
    if not found:
        return
    other = other_load(left, right)
    heading("what was measured, against the model's ranges")
    table = plain_table(["metric", "measured", "predicted: 80 %", "inside"], right=["measured"])
    table.columns[0].no_wrap = True
    for one in found:
        unit = (left.run.row(one.metric) or right.row).definition.unit
        seen, _, low, high = (format_quantity(value, unit) for value in one[1:])
        inside = "another load" if other else "yes" if one.inside else "NO"
        table.add_row(one.metric, cell(seen), cell(f"{low} to {high}"), inside)
    show(table)
    show_lines(_counted(found, _same_plan(left, right), other))


def _counted(found: tuple[Held, ...], same_plan: bool | None, other: tuple[str, ...]) -> list[str]:
    if other:
        return [
            f"a prediction of another load ({'; '.join(other)}): whether what was measured lies in its ranges says "
            "nothing of the model; simulate the load that was measured"
        ]
    count = sum(one.inside for one in found)
    plans = {True: "the same plan", False: "another plan of the same load", None: "plans that are not known to be one"}
    return [f"{count} of {len(found)} inside, of {plans[same_plan]}"]


_LOAD = (
    ("scenario", "scenario"),
    ("arrivals", "arrivals"),
    ("concurrency", "concurrency"),
    ("target_qps", "rate asked for"),
    ("input_tokens_requested", "mean input length"),
    ("output_tokens_requested", "mean output length"),
    ("prefix_reuse", "prefix reuse"),
)
"""(condition, what it is called here): two loads are one where these agree."""

_LENGTH_SLACK = 0.1  # two draws of some dozens of requests with one law differ by so much


def _alike(seen: object, told: object) -> bool:
    if isinstance(seen, dict) and isinstance(told, dict):
        return math.isclose(seen.get("mean", 0.0), told.get("mean", 0.0), rel_tol=_LENGTH_SLACK)
    if isinstance(seen, int | float) and isinstance(told, int | float):
        return math.isclose(seen, told, rel_tol=1e-3)
    return seen == told


def _said(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("mean")
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _same_plan(left: Figure, right: Figure) -> bool | None:
    plans = [figure.conditions.words("plan") for figure in (left, right)]
    return None if None in plans else plans[0] == plans[1]
