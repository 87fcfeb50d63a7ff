"""Figure: a frozen view of one value together with everything that makes it true.

There is no other way to hold a value, and no way from here to a bare number: no float(), no format as a number.
"""

from __future__ import annotations

from html import escape
from typing import NoReturn

from caveat.errors import NotFoundError, RefusedError
from caveat.figures.conditions import GROUPS, TABLE, Conditions
from caveat.figures.metrics import Metric
from caveat.figures.provenance import Provenance
from caveat.figures.run import SHOWN, Row, Run
from caveat.figures.validity import Check, Outcome, concerning
from caveat.units import format_quantity


class Figure:
    """One row of a Run with the Run's conditions. Equal and hashable by id."""

    __slots__ = ("_row", "_run")

    def __init__(self, run: Run, metric: str) -> None:
        row = run.row(metric)
        if row is None:
            raise NotFoundError(
                f"run {run.id[:SHOWN]} has no metric {metric}", next=f"it has: {', '.join(r.metric for r in run.rows)}"
            )
        self._run = run
        self._row = row

    @property
    def run(self) -> Run:
        """The document that the figure is a view of."""
        return self._run

    @property
    def row(self) -> Row:
        """The row: value, n, spread and notes."""
        return self._row

    @property
    def id(self) -> str:
        """`<run id>.<metric key>`."""
        return f"{self._run.id}.{self._row.metric}"

    @property
    def short_id(self) -> str:
        """The id as a screen shows it."""
        return f"{self._run.id[:SHOWN]}.{self._row.metric}"

    @property
    def metric(self) -> Metric:
        """What the value means."""
        return self._row.definition

    @property
    def conditions(self) -> Conditions:
        """The conditions of the run."""
        return self._run.conditions

    @property
    def provenance(self) -> Provenance:
        """Where it comes from."""
        return self._run.provenance

    @property
    def validity(self) -> tuple[Check, ...]:
        """The validity entries that concern this metric."""
        return concerning(self._run.validity, self._row.metric)

    @property
    def outcome(self) -> Outcome:
        """The worst of the validity entries."""
        return self._run.outcome(self._row.metric)

    @property
    def is_primary(self) -> bool:
        """Whether this is the metric under which the run was published."""
        return self._run.primary == self._row.metric

    @property
    def text(self) -> str:
        """The value with its unit, for people. Renderers put it beside the conditions."""
        return format_quantity(self._row.value, self.metric.unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figure) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __float__(self) -> NoReturn:
        raise RefusedError(
            "a figure is not a number: it would lose its conditions",
            next="pass the Figure on; figure.row.value is the value of this row for arithmetic that keeps the figure",
        )

    def __format__(self, spec: str) -> str:
        if spec:
            self.__float__()
        return str(self)

    def __str__(self) -> str:
        return f"{self.text} ({self.metric.key}; {self.summary()}) [{self.short_id}]"

    def __repr__(self) -> str:
        return f"<Figure {self}>"

    def summary(self) -> str:
        """The conditions that nobody may leave out, in one line."""
        c = self.conditions
        parts = (
            c.text("submitter"),
            c.text("system"),
            f"{c.text('accelerators')} x {c.text('accelerator')}",
            c.text("benchmark"),
            c.text("scenario"),
            c.text("round"),
            c.text("division"),
            c.text("review"),
            f"validity {self.outcome}",
        )
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        """For notebooks: the value with its conditions, all text escaped."""
        rows = "".join(
            f"<tr><td>{escape(row.group)}</td><td title='{escape(row.meaning, quote=True)}'>{escape(row.key)}</td>"
            f"<td>{escape(self.conditions.text(row.key))}</td></tr>"
            for group in GROUPS
            for row in TABLE
            if row.group == group and self.conditions.state(row.key) != "not applicable"
        )
        known, of = self.conditions.disclosed()
        return (
            f"<div><b>{escape(self.text)}</b> {escape(self.metric.meaning)}<br>"
            f"{escape(self.summary())}<br><small>{escape(self.id)}; {known} of {of} conditions disclosed</small>"
            f"<details><summary>conditions</summary><table>{rows}</table></details></div>"
        )


def figures_of(run: Run) -> tuple[Figure, ...]:
    """All figures of a run, the published one first."""
    keys = sorted((row.metric for row in run.rows), key=lambda key: key != run.primary)
    return tuple(Figure(run, key) for key in keys)


def primary_figure(run: Run) -> Figure | None:
    """The figure under which the run was published, if it is known which."""
    return Figure(run, run.primary) if run.primary else None
