"""Columns that a table or an export may have: any condition, and a few words about the figure itself."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from caveat.errors import UsageError
from caveat.figures import TABLE, Figure

_CONDITION_KEYS = {row.key for row in TABLE}

# What can be said of a figure beside its conditions. A new column is one new line.
OWN: dict[str, Callable[[Figure], Any]] = {
    "id": lambda figure: figure.id,
    "subject": lambda figure: figure.run.subject,
    "metric": lambda figure: figure.metric.key,
    "value": lambda figure: figure.row.value,
    "unit": lambda figure: str(figure.metric.unit),
    "n": lambda figure: figure.row.n,
    "outcome": lambda figure: figure.outcome,
    "origin": lambda figure: figure.provenance.origin,
    "disclosed": lambda figure: "{} of {}".format(*figure.conditions.disclosed()),
    "chips": lambda figure: chips(figure),
    "notes": lambda figure: "; ".join(figure.row.notes),
}


def chips(figure: Figure) -> str:
    """`8 x MI355X`, with every claim where the sources disagree on the count: `87 or 88 x MI355X`."""
    c = figure.conditions
    count = c.text("accelerators")
    if "accelerators" in c.conflicts():
        count = " or ".join(sorted({str(claim.value) for claim in c.claims["accelerators"]}))
    return f"{count} x {c.text('accelerator')}"


def column(figure: Figure, key: str) -> Any:
    """The raw cell of one column: a value, or "undisclosed" / "not applicable"."""
    if key in OWN:
        return OWN[key](figure)
    base, _, part = key.partition(".")
    if not part:
        value = figure.conditions.get(base)
        return figure.conditions.state(base) if value is None else value
    parts = figure.conditions.numbers(base)
    return parts.get(part, figure.conditions.state(base) if base not in figure.conditions.known else "undisclosed")


def column_text(figure: Figure, key: str) -> str:
    """The cell for people."""
    if key == "value":
        return figure.text
    if key == "id":
        return figure.short_id
    if key in _CONDITION_KEYS:
        return figure.conditions.text(key)
    value = column(figure, key)
    return f"{value:,.5g}" if isinstance(value, float) else str(value if value is not None else "")


def checked_columns(keys: Sequence[str]) -> tuple[str, ...]:
    """The keys as given, or UsageError naming the nearest that exist."""
    known = {*OWN, *_CONDITION_KEYS}
    for key in keys:
        if key.partition(".")[0] not in known:
            near = difflib.get_close_matches(key, sorted(known), n=3)
            raise UsageError(
                f"no column is called {key!r}",
                next=f"did you mean {', '.join(near)}?" if near else "docs/conditions.md lists all",
            )
    return tuple(keys)
