"""Columns that a table or an export may have: any condition, and a few words about the figure itself."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from caveat.errors import UsageError
from caveat.figures import LENGTH_STATISTICS, TABLE, Condition, Figure

_CONDITIONS: dict[str, Condition] = {row.key: row for row in TABLE}

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
    count, kind = c.text("accelerators"), c.text("accelerator")
    if "accelerators" in c.conflicts():
        count = " or ".join(sorted({str(claim.value) for claim in c.claims["accelerators"]}))
    match c.state("accelerators") == "known", c.state("accelerator") == "known":
        case True, True:
            return f"{count} x {kind}"
        case True, False:
            return f"{count} accelerators"
        case False, True:
            return f"{kind}, count {count}"
    return f"accelerators {count}"


def column(figure: Figure, key: str) -> Any:
    """The raw cell of one column: a value, or "undisclosed" / "not applicable"."""
    if key in OWN:
        return OWN[key](figure)
    base, _, part = key.partition(".")
    c = figure.conditions
    if not part:
        value = c.get(base)
        return c.state(base) if value is None else value
    absent = c.state(base) if c.state(base) != "known" else "undisclosed"
    return c.numbers(base).get(part, absent)


def column_text(figure: Figure, key: str) -> str:
    """The cell for people."""
    if key == "value":
        return figure.text
    if key == "id":
        return figure.short_id
    if key in _CONDITIONS:
        return figure.conditions.text(key)
    value = column(figure, key)
    return f"{value:,.5g}" if isinstance(value, float) else str(value if value is not None else "")


def checked_columns(keys: Sequence[str]) -> tuple[str, ...]:
    """The keys, each once, or UsageError naming the nearest that exist. `output_tokens.mean` is a part of one."""
    if not keys:
        raise UsageError("no column is named", next="for instance --columns id,value,submitter")
    for key in keys:
        _check(key)
    return tuple(dict.fromkeys(keys))


def _check(key: str) -> None:
    base, dot, part = key.partition(".")
    row = _CONDITIONS.get(base)
    if key not in OWN and row is None:
        near = difflib.get_close_matches(base, [*OWN, *_CONDITIONS], n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "docs/conditions.md lists all"
        raise UsageError(f"no column is called {key!r}", next=hint)
    if row and dot and row.kind not in ("lengths", "numbers"):
        raise UsageError(f"{base} has no parts: found {key!r}", next=f"write {base}")
    if row and dot and row.kind == "lengths" and part not in LENGTH_STATISTICS:
        raise UsageError(f"{base} has no part {part!r}", next=f"it has {', '.join(LENGTH_STATISTICS)}")
