"""Figure: a frozen view of one value together with everything that makes it true.

There is no other way to hold a value, and no way from here to a bare number: no float(), no format as a number.
"""

from __future__ import annotations

from html import escape
from typing import NoReturn

from caveat.errors import NotFoundError, RefusedError
from caveat.figures.condition_values import Conditions
from caveat.figures.conditions import BY_KEY, GROUPS, TABLE
from caveat.figures.kinds import format_value
from caveat.figures.metrics import Metric
from caveat.figures.printable import printable
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
            next="pass the Figure on; arithmetic that keeps the figure beside its result may read figure.row.value",
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
        """The conditions that nobody may leave out, in one line. What else is undisclosed is left out of it."""
        c = self.conditions
        parts = (
            *_known(c, "submitter", "system"),
            _hardware(c),
            _workload(c),
            _load(c),
            *_round(c),
            *_backing(self._run),
            f"validity {self.outcome}",
        )
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        """For notebooks: the value with validity, notes and conditions, all text escaped."""
        known, of = self.conditions.disclosed()
        said = (*(f"{c.aspect}: {c.outcome}. {c.sentence}" for c in self.validity), *self._row.notes, *self._run.notes)
        notes = "".join(f"<li>{_html(sentence)}</li>" for sentence in said)
        return (
            f"<div><b>{_html(self.text)}</b> {_html(self.metric.meaning)}<br>"
            f"{_html(self.summary())}<br><small>{_html(self.id)}; {known} of {of} conditions disclosed</small>"
            f"<ul>{notes}</ul>"
            f"<details><summary>conditions</summary><table>{_html_rows(self.conditions)}</table></details></div>"
        )


def _known(c: Conditions, *keys: str) -> tuple[str, ...]:
    return tuple(c.text(key) for key in keys if c.state(key) == "known")


def _hardware(c: Conditions) -> str:
    """`8 x MI355X`; `87 or 88 x GB200` where the sources disagree about the count."""
    name, count = c.text("accelerator"), c.text("accelerators")
    if "accelerators" in c.conflicts():
        count = " or ".join(sorted({f"{claim.value:,}" for claim in c.claims["accelerators"]}))
    match (c.state("accelerator"), c.state("accelerators")):
        case ("known", "known"):
            return f"{count} x {name}"
        case ("known", _):
            return f"{name} (count {count})"
        case (_, "known"):
            return f"{count} accelerators (kind {name})"
        case _:
            return f"accelerator {name}"


def _workload(c: Conditions) -> str:
    known = _known(c, "benchmark") or _known(c, "model", "dataset")
    return " on ".join(known) or f"benchmark {c.text('benchmark')}"


def _load(c: Conditions) -> str:
    known = _known(c, "scenario") or _known(c, "arrivals")
    if c.state("concurrency") == "known" and c.state("scenario") != "known":
        known = (*known, f"concurrency {c.text('concurrency')}")
    return ", ".join(known) or f"scenario {c.text('scenario')}"


def _round(c: Conditions) -> tuple[str, ...]:
    """Round and division: where a suite has them, neither goes without the other."""
    keys = ("round", "division")
    if not _known(c, *keys):
        return ()
    return tuple(c.text(key) if c.state(key) == "known" else f"{key} {c.text(key)}" for key in keys)


def _backing(run: Run) -> tuple[str, ...]:
    """Who stands behind the number; that it was measured here, simulated or derived."""
    review = _known(run.conditions, "review")
    if run.provenance.origin == "imported":
        return review or ("review undisclosed",)
    return tuple(dict.fromkeys((run.provenance.origin, *review)))


def _html(text: str) -> str:
    return escape(printable(text), quote=True)


def _html_rows(c: Conditions) -> str:
    rows = (row for group in GROUPS for row in TABLE if row.group == group)
    return "".join(
        f"<tr><td>{row.group}</td><td title='{_html(row.meaning)}'>{row.key}</td>"
        f"<td>{_html(_html_cell(c, row.key))}</td></tr>"
        for row in rows
        if c.state(row.key) != "not applicable"
    )


def _html_cell(c: Conditions, key: str) -> str:
    if key not in c.conflicts():
        return c.text(key)
    said = "; ".join(f"{claim.source}: {format_value(BY_KEY[key], claim.value)}" for claim in c.claims[key])
    return f"{c.text(key)} (sources disagree: {said})"


def figures_of(run: Run) -> tuple[Figure, ...]:
    """All figures of a run, the published one first."""
    keys = sorted((row.metric for row in run.rows), key=lambda key: key != run.primary)
    return tuple(Figure(run, key) for key in keys)


def primary_figure(run: Run) -> Figure | None:
    """The figure under which the run was published, if it is known which."""
    return Figure(run, run.primary) if run.primary else None
