"""One figure on one screen: value, meaning, validity, conditions by group, what is undisclosed, provenance, caveats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from caveat.figures import ASPECTS, GROUPS, TABLE, Check, Figure, Row
from caveat.publish.carried import carried
from caveat.publish.tables import cell, plain_table, two_line_table
from caveat.publish.text import printable, wrapped
from caveat.units import format_interval

if TYPE_CHECKING:
    from rich.console import RenderableType

_MARKS = {"pass": "ok", "fail": "NO", "unknown": "?", "not applicable": "-"}


def card(
    figure: Figure, *, partners: Sequence[Figure] = (), history: Sequence[str] = (), width: int = 100
) -> list[RenderableType]:
    """The parts of a screen of that width, from the top."""
    return [
        *_head(figure, width),
        *_validity(figure),
        *(part for group in GROUPS for part in _group(figure, group)),
        *_undisclosed(figure, width),
        *_other_rows(figure),
        *_notes(figure, width),
        *_partners(partners, width),
        *_provenance(figure, history),
        *_caveats(figure, width),
    ]


def _title(text: str) -> RenderableType:
    from rich.text import Text

    return Text(f"\n{text}", style="bold")


def _paragraphs(texts: Iterable[str], width: int) -> list[RenderableType]:
    from rich.text import Text

    return [Text(wrapped(text, width)) for text in texts]


def _head(figure: Figure, width: int) -> list[RenderableType]:
    from rich.text import Text

    known, applicable = figure.conditions.disclosed()
    head = Text(printable(figure.text), style="bold")
    head.append(f"   {figure.metric.key}", style="not bold")
    sentences = [
        *_behind(figure),
        figure.summary(),
        f"{figure.metric.meaning}; window: {figure.metric.window}; tokens: {figure.metric.token_source}",
        f"{known} of {applicable} conditions disclosed",
        *(f"note: {note}" for note in figure.row.notes),
    ]
    return [head, *_paragraphs(sentences, width), cell(figure.id), cell(figure.run.subject)]


def _behind(figure: Figure) -> list[str]:
    """How many requests stand behind the value, and the interval around it."""
    count = [f"n {figure.row.n:,}"] if figure.row.n is not None else []
    if (spread := figure.row.spread) is not None:
        count.append(f"{format_interval(spread.low, spread.high, figure.metric.unit)} ({spread.method})")
    return ["; ".join(count)] if count else []


def _validity(figure: Figure) -> list[RenderableType]:
    others = [entry for entry in figure.run.validity if entry not in figure.validity]
    parts = [_title(f"validity: {figure.outcome}"), _checks(figure.validity)]
    return [*parts, _title("validity of other figures of the run"), _checks(others)] if others else parts


def _checks(entries: Iterable[Check]) -> RenderableType:
    table = plain_table(["", "aspect", "what was found"])
    for entry in entries:
        table.add_row(_MARKS[entry.outcome], cell(entry.aspect), cell(entry.sentence or ASPECTS[entry.aspect]))
    return table


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


def _undisclosed(figure: Figure, width: int) -> list[RenderableType]:
    keys = [row.key for row in TABLE if figure.conditions.state(row.key) == "undisclosed"]
    return [_title("undisclosed"), *_paragraphs([", ".join(keys)], width)] if keys else []


def _other_rows(figure: Figure) -> list[RenderableType]:
    rows = [row for row in figure.run.rows if row.metric != figure.metric.key]
    if not rows:
        return []
    spread = any(row.spread is not None for row in rows)
    table = plain_table(["metric", "value", *(["interval"] if spread else []), "n"], right=["value", "n"])
    for row in rows:
        between = [cell(_interval(row))] if spread else []
        count = f"{row.n:,}" if row.n is not None else ""
        table.add_row(row.metric, cell(Figure(figure.run, row.metric).text), *between, count)
    return [_title("other metrics of the run"), table]


def _interval(row: Row) -> str:
    if row.spread is None:
        return ""
    return format_interval(row.spread.low, row.spread.high, row.definition.unit)


def _notes(figure: Figure, width: int) -> list[RenderableType]:
    return [_title("notes"), *_paragraphs(figure.run.notes, width)] if figure.run.notes else []


def _partners(partners: Sequence[Figure], width: int) -> list[RenderableType]:
    lines = _paragraphs((str(partner) for partner in partners), width)
    return [_title("same system, other scenarios"), *lines] if partners else []


def _provenance(figure: Figure, history: Sequence[str]) -> list[RenderableType]:
    """A path stands on a line of its own, whole: it is there to be copied."""
    rows = [((source.kind, source.sha256[:10], source.place), source.path) for source in figure.provenance.sources]
    tables = [two_line_table(["source", "sha256", "place"], rows)] if rows else []
    made = [figure.provenance.formula, *figure.provenance.inputs] if figure.provenance.formula else []
    title = f"provenance: {figure.provenance.origin}"
    return [_title(title), *tables, *(cell(line) for line in (*made, *history))]


def _caveats(figure: Figure, width: int) -> list[RenderableType]:
    return [_title("caveats"), *_paragraphs((f"{name}: {sentence}" for name, sentence in carried(figure)), width)]
