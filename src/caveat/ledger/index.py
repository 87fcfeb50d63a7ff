"""Rows of the index: one a run, its figures and conditions in columns, and their form as Arrow and Parquet.

The shipped set holds the documents too. A row of a person's own ledger does not: the document is a file, and is
read from there when it is shown. pyarrow is loaded only to make rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from caveat.figures import TABLE, Run, Value
from caveat.ledger.store import Entry

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_GROUP = 512  # of the shipped set, whose documents are read with their rows
OWN_ROWS_A_GROUP = 8_192
COMPRESSION_LEVEL = 9
OWN_COMPRESSION_LEVEL = 1  # written again and again
UNKNOWN_RANK = 99
CLUSTERED_BY = ("round", "submitter", "platform", "benchmark", "scenario")

# column, its SQL type; then one column for each condition
FIXED: tuple[tuple[str, str], ...] = (
    ("id", "VARCHAR"),
    ("subject", "VARCHAR"),
    ("replaces", "VARCHAR"),
    ("source_rank", "BIGINT"),  # of the richest source: smaller is richer
    ("source_count", "BIGINT"),
    ("origin", "VARCHAR"),
    ("primary_metric", "VARCHAR"),
    ("not_applicable", "VARCHAR[]"),
    ("figures", "STRUCT(metric VARCHAR, value DOUBLE, outcome VARCHAR)[]"),
    ("size", "BIGINT"),  # of the document's file, with the next to see whether it was touched
    ("changed_ns", "BIGINT"),
    ("document", "BLOB"),  # of the shipped set only
)
SQL_OF_KIND: dict[str, str] = {
    "text": "VARCHAR",
    "technique": "VARCHAR",
    "number": "DOUBLE",
    "seconds": "DOUBLE",
    "count": "BIGINT",
    "flag": "BOOLEAN",
    "lengths": "MAP(VARCHAR, DOUBLE)",
    "numbers": "MAP(VARCHAR, DOUBLE)",  # a map and not columns: the names of the parts come from outside
}
COLUMNS: tuple[tuple[str, str], ...] = (*FIXED, *((row.key, SQL_OF_KIND[row.kind]) for row in TABLE))


def arrow_schema() -> pa.Schema:
    """The columns as Arrow writes them."""
    import pyarrow as pa

    figure = pa.struct([("metric", pa.string()), ("value", pa.float64()), ("outcome", pa.string())])
    types = {
        "VARCHAR": pa.string(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "BLOB": pa.binary(),
        "VARCHAR[]": pa.list_(pa.string()),
        "MAP(VARCHAR, DOUBLE)": pa.map_(pa.string(), pa.float64()),
        dict(FIXED)["figures"]: pa.list_(figure),
    }
    return pa.schema([(name, types[sql]) for name, sql in COLUMNS])


def own_schema() -> pa.Schema:
    """The columns of a person's own ledger: all but the document."""
    schema = arrow_schema()
    return schema.remove(schema.get_field_index("document"))


def own_row(run: Run, entry: Entry) -> dict[str, Any]:
    """One run of a file as a row."""
    return {**_row(run), "size": entry.size, "changed_ns": entry.changed_ns}


def row_of(run: Run, document: bytes) -> dict[str, Any]:
    """One run as a row of the shipped set; the document is kept without its line breaks."""
    return {**_row(run), "document": msgspec.json.format(document, indent=-1)}


def _row(run: Run) -> dict[str, Any]:
    sources = run.provenance.sources
    fixed = {
        "id": run.id,
        "subject": run.subject,
        "replaces": run.replaces,
        "source_rank": min((source.rank for source in sources), default=UNKNOWN_RANK),
        "source_count": len(sources),
        "origin": run.provenance.origin,
        "primary_metric": run.primary,
        "not_applicable": list(run.conditions.not_applicable),
        "figures": _figures(run),
    }
    return fixed | {key: _cell(value) for key, value in run.conditions.known.items()}


def _figures(run: Run) -> list[dict[str, Any]]:
    """Where no validity entry is about single metrics, they all have the outcome of the first."""
    if any(check.metrics for check in run.validity):
        return [{"metric": r.metric, "value": r.value, "outcome": run.outcome(r.metric)} for r in run.rows]
    outcome = run.outcome(run.rows[0].metric) if run.rows else None
    return [{"metric": row.metric, "value": row.value, "outcome": outcome} for row in run.rows]


def _cell(value: Value) -> Any:
    """Parts of a map in the order of their names, as in the document: a run in memory and its file give one row."""
    return sorted(value.items()) if isinstance(value, dict) else value


def table_of(rows: Iterable[dict[str, Any]], schema: pa.Schema | None = None) -> pa.Table:
    """Rows as a table with the columns of the shipped set, or those named; an absent condition is null."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=schema or arrow_schema())


def parquet_of(table: pa.Table, *, level: int = COMPRESSION_LEVEL) -> bytes:
    """The table as a Parquet file, sorted so that what is asked for together lies together. Same table, same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    order = [(key, "ascending") for key in (*CLUSTERED_BY, "subject", "id")]
    dictionaries = [name for name, sql in COLUMNS if sql == "VARCHAR" and name not in ("id", "subject", "replaces")]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.sort_by(order),
        sink,
        compression="zstd",
        compression_level=level,
        row_group_size=ROWS_A_GROUP,
        use_dictionary=dictionaries,
        write_statistics=False,
    )
    return bytes(sink.getvalue())


def own_parquet_of(table: pa.Table) -> bytes:
    """The table as a part of a ledger's own index: by id, so that what is sought by its id is in one place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(
        table.sort_by("id"),
        sink,
        compression="zstd",
        compression_level=OWN_COMPRESSION_LEVEL,
        row_group_size=OWN_ROWS_A_GROUP,
        write_statistics=["id"],
    )
    return bytes(sink.getvalue())
