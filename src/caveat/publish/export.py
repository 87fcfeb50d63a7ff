"""Figures for other programs: JSON, CSV, Parquet, Markdown. Conditions are always in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from caveat.errors import RefusedError, UsageError
from caveat.figures import TABLE, Figure
from caveat.publish.carried import carried
from caveat.publish.columns import column
from caveat.publish.figure_json import figure_json
from caveat.publish.text import csv_cell, json_text, markdown

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
    return json_text(content).encode()


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
    writer.writerow((*_OWN, *(csv_cell(key) for key in columns), "caveats"))  # parts are named by strangers
    for figure in figures:
        cells = [csv_cell(column(figure, key)) for key in (*_OWN, *columns)]
        writer.writerow((*cells, " ".join(name for name, _ in carried(figure))))
    return text.getvalue().encode()


# The type of a column follows from the table of conditions, never from the figures that happen to be exported.
_ARROW: dict[str, str] = {"value": "double", "n": "int64"} | {
    row.key: {"number": "double", "seconds": "double", "count": "int64", "flag": "bool"}.get(row.kind, "string")
    for row in TABLE
}


def _parquet(figures: Sequence[Figure]) -> bytes:
    """Typed columns; what is not known is null, and the JSON column says which kind of not known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = condition_columns(figures)
    flat = [figure.conditions.flat() for figure in figures]
    cells: dict[str, list[Any]] = {key: [column(figure, key) for figure in figures] for key in _OWN}
    cells |= {key: [known.get(key) for known in flat] for key in columns}
    # Parts of distributions are numbers.
    types = {key: pa.type_for_alias("double" if "." in key else _ARROW.get(key, "string")) for key in cells}
    cells["caveats"] = [[name for name, _ in carried(figure)] for figure in figures]
    cells["figure"] = [msgspec.json.encode(figure_json(figure)).decode() for figure in figures]
    types |= {"caveats": pa.list_(pa.string()), "figure": pa.string()}
    table = pa.table(cells, schema=pa.schema(list(types.items()), metadata={"format": FORMAT}))
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
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
        *(f"- *{name}*: {markdown(sentence)}" for name, sentence in carried(figure)),
        "",
    ]
    return "\n".join(lines)


FORMS: dict[str, Callable[[Sequence[Figure]], bytes]] = {
    "json": _json,
    "csv": _csv,
    "parquet": _parquet,
    "markdown": _markdown,
}
