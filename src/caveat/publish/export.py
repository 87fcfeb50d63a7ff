"""Figures for other programs: JSON, CSV, Parquet, Markdown. Conditions are always in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from caveat.caveats import sentences
from caveat.errors import RefusedError, UsageError
from caveat.figures import TABLE, Figure
from caveat.publish.columns import column
from caveat.publish.figure_json import figure_json
from caveat.publish.text import csv_cell, markdown

FORMAT = "caveat-export/1"
_OWN = ("id", "subject", "metric", "value", "unit", "n", "outcome", "origin", "notes")


def export(figures: Sequence[Figure], form: str) -> bytes:
    """The figures in one of FORMS. UsageError for an unknown form.

    A figure that mixes two scenarios (a derived pair) is refused: it must not become a claim.
    """
    if form not in FORMS:
        raise UsageError(f"no export format is called {form!r}", next=f"one of {', '.join(FORMS)}")
    for figure in figures:
        if figure.provenance.origin == "derived":
            raise RefusedError(
                f"{figure.short_id} is derived from other figures and is not exported as a result",
                next="export the figures it was derived from: " + ", ".join(figure.provenance.inputs),
            )
    return FORMS[form](figures)


def _json(figures: Sequence[Figure]) -> bytes:
    content = {"format": FORMAT, "figures": [figure_json(figure) for figure in figures]}
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def condition_columns(figures: Sequence[Figure]) -> tuple[str, ...]:
    """Every condition of the table, distributions spread out into the parts that occur."""
    parts: dict[str, set[str]] = {}
    for figure in figures:
        for key, value in figure.conditions.known.items():
            if isinstance(value, dict):
                parts.setdefault(key, set()).update(value)
    spread = [
        [f"{row.key}.{part}" for part in sorted(parts[row.key])] if row.key in parts else [row.key] for row in TABLE
    ]
    return tuple(key for keys in spread for key in keys)


def _csv(figures: Sequence[Figure]) -> bytes:
    columns = condition_columns(figures)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow((*_OWN, *columns, "caveats"))
    for figure in figures:
        cells = [csv_cell(column(figure, key)) for key in (*_OWN, *columns)]
        writer.writerow((*cells, " ".join(name for name, _ in sentences(figure))))
    return text.getvalue().encode()


def _parquet(figures: Sequence[Figure]) -> bytes:
    """Typed columns; what is not known is null, and the JSON column says which kind of not known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = condition_columns(figures)
    table: dict[str, list[Any]] = {key: [column(figure, key) for figure in figures] for key in _OWN}
    for key in columns:
        table[key] = [figure.conditions.flat().get(key) for figure in figures]
    table["caveats"] = [[name for name, _ in sentences(figure)] for figure in figures]
    table["figure"] = [msgspec.json.encode(figure_json(figure)).decode() for figure in figures]
    buffer = io.BytesIO()
    pq.write_table(pa.table(table).replace_schema_metadata({"format": FORMAT}), buffer, compression="zstd")
    return buffer.getvalue()


def _markdown(figures: Sequence[Figure]) -> bytes:
    """A section a figure: the value, its conditions as a list, and the sentences that travel with it."""
    return "\n".join(_markdown_figure(figure) for figure in figures).encode()


def _markdown_figure(figure: Figure) -> str:
    known, applicable = figure.conditions.disclosed()
    lines = [
        f"### {markdown(figure.text)}: {markdown(figure.summary())}",
        "",
        f"{markdown(figure.metric.meaning)}. Validity: {figure.outcome}. "
        f"{known} of {applicable} conditions disclosed. `{figure.id}`",
        "",
        "| condition | value |",
        "| --- | --- |",
        *(f"| {row.key} | {markdown(figure.conditions.text(row.key))} |" for row in TABLE),
        "",
        *(f"- {markdown(note)}" for note in figure.row.notes),
        *(f"- *{name}*: {markdown(sentence)}" for name, sentence in sentences(figure)),
        "",
    ]
    return "\n".join(lines)


FORMS: dict[str, Callable[[Sequence[Figure]], bytes]] = {
    "json": _json,
    "csv": _csv,
    "parquet": _parquet,
    "markdown": _markdown,
}
