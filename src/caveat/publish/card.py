"""One figure on one screen: value, meaning, validity, conditions by group, what is undisclosed, provenance, caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caveat.caveats import sentences
from caveat.figures import ASPECTS, GROUPS, TABLE, Figure
from caveat.publish.tables import cell, plain_table
from caveat.publish.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

_MARKS = {"pass": "ok", "fail": "NO", "unknown": "?", "not applicable": "-"}


def card(figure: Figure, *, partners: Sequence[Figure] = (), history: Sequence[str] = ()) -> list[RenderableType]:
    """The parts of the screen, from the top."""
    return [
        *_head(figure),
        *_validity(figure),
        *(part for group in GROUPS for part in _group(figure, group)),
        *_undisclosed(figure),
        *_other_rows(figure),
        *_partners(partners),
        *_provenance(figure, history),
        *_caveats(figure),
    ]


def _title(text: str) -> RenderableType:
    from rich.text import Text

    return Text(f"\n{text}", style="bold")


def _head(figure: Figure) -> list[RenderableType]:
    from rich.text import Text

    known, applicable = figure.conditions.disclosed()
    head = Text(printable(figure.text), style="bold")
    head.append(f"   {figure.metric.key}", style="not bold")
    return [
        head,
        cell(figure.summary()),
        cell(f"{figure.metric.meaning}; window: {figure.metric.window}; tokens: {figure.metric.token_source}"),
        cell(f"{figure.id}   {known} of {applicable} conditions disclosed"),
        *(cell(f"note: {note}") for note in (*figure.row.notes, *figure.run.notes)),
    ]


def _validity(figure: Figure) -> list[RenderableType]:
    table = plain_table(["", "aspect", "what was found"])
    for entry in figure.validity:
        table.add_row(_MARKS[entry.outcome], cell(entry.aspect), cell(entry.sentence or ASPECTS[entry.aspect]))
    return [_title(f"validity: {figure.outcome}"), table]


def _group(figure: Figure, group: str) -> list[RenderableType]:
    c = figure.conditions
    known = [row for row in TABLE if row.group == group and c.state(row.key) == "known"]
    if not known:
        return []
    table = plain_table(["condition", "value", ""])
    for row in known:
        claims = c.claims.get(row.key, ())
        said = ", ".join(f"{claim.source}: {claim.value}" for claim in claims) if row.key in c.conflicts() else ""
        table.add_row(row.key, cell(c.text(row.key)), cell(f"sources disagree ({said})" if said else ""))
    return [_title(group), table]


def _undisclosed(figure: Figure) -> list[RenderableType]:
    keys = [row.key for row in TABLE if figure.conditions.state(row.key) == "undisclosed"]
    return [_title("undisclosed"), cell(", ".join(keys))] if keys else []


def _other_rows(figure: Figure) -> list[RenderableType]:
    rows = [row for row in figure.run.rows if row.metric != figure.metric.key]
    if not rows:
        return []
    table = plain_table(["metric", "value", "n"], right=["value", "n"])
    for row in rows:
        table.add_row(row.metric, cell(Figure(figure.run, row.metric).text), f"{row.n:,}" if row.n else "")
    return [_title("other metrics of the run"), table]


def _partners(partners: Sequence[Figure]) -> list[RenderableType]:
    return [_title("same system, other scenarios"), *(cell(str(p)) for p in partners)] if partners else []


def _provenance(figure: Figure, history: Sequence[str]) -> list[RenderableType]:
    table = plain_table(["source", "file", "place", "sha256"])
    for source in figure.provenance.sources:
        table.add_row(source.kind, cell(source.path), cell(source.place), source.sha256[:10])
    title = f"provenance: {figure.provenance.origin}"
    return [_title(title), table, *(cell(line) for line in history)]


def _caveats(figure: Figure) -> list[RenderableType]:
    return [_title("caveats"), *(cell(f"{name}: {sentence}") for name, sentence in sentences(figure))]
