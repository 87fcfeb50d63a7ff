"""From estimates to rows of a Run: one metric, converted to its unit, or the reason why it is absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from caveat.figures import METRICS, Row, Spread
from caveat.measure.blocks import FEWEST_EFFECTIVE
from caveat.measure.intervals import Estimate, TooFew


@dataclass(frozen=True, slots=True)
class Absent:
    """A metric that this run has no value for, and why.

    `observed` is what its requests had, in words: no figure, as nothing says how near it lies to the next run's.
    """

    metric: str
    reason: str
    observed: str = ""


Item: TypeAlias = Row | Absent


def metric_keys(*definitions: str) -> tuple[str, ...]:
    """The metric keys of definitions whose id begins like one of these."""
    return tuple(key for key, metric in METRICS.items() if metric.definition.startswith(definitions))


def row_of(metric: str, found: Estimate | TooFew, *, per: float = 1.0, notes: tuple[str, ...] = ()) -> Row | Absent:
    """The row of an estimate; `per` is how many of the estimate's units make one of the metric's.

    A row whose interval could not be made says why.
    """
    if isinstance(found, TooFew):
        return Absent(metric, found.reason)
    spread = None
    if found.low is not None and found.high is not None:
        spread = Spread(low=found.low / per, high=found.high / per, method=found.method)
    else:
        notes = (*notes, f"no interval: {_why_none(found)}")
    return Row(metric=metric, value=found.value / per, n=found.n, spread=spread, notes=notes)


def _why_none(found: Estimate) -> str:
    if found.n_effective < FEWEST_EFFECTIVE:
        return f"it tells as much as {found.n_effective:,.0f} independent values, expected {FEWEST_EFFECTIVE:g}"
    return "its upper end lies among the requests that failed"


def plain_row(metric: str, value: float, n: int, *, notes: tuple[str, ...] = ()) -> Row:
    """A row without an interval, already in the metric's unit."""
    return Row(metric=metric, value=value, n=n, notes=notes)
