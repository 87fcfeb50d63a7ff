"""The index: documents as Parquet, one row a run, so that a query decodes only what it selects.

A DuckDB file admits one writer; a ledger must be safe with several. So the index is a Parquet file that is
written whole, named after the stamp of the listing it was made from (`.index/<stamp>.parquet`): a file of that
name is up to date by its name, and any of them may be deleted at any time. pyarrow is loaded only to write one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from caveat.errors import DocumentError
from caveat.figures import TABLE, Run, Value
from caveat.ledger.store import INDEX, Entry, Listing, index_folder, read_run, write_file

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1  # of the columns' meaning; a new condition needs no new version
SUFFIX = ".parquet"
ROWS_A_GROUP = 512
COMPRESSION_LEVEL = 9
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
    ("document", "BLOB"),
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


def row_of(run: Run, document: bytes, entry: Entry | None = None) -> dict[str, Any]:
    """One run as a row; the document is kept without its line breaks."""
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
        "figures": [{"metric": r.metric, "value": r.value, "outcome": run.outcome(r.metric)} for r in run.rows],
        "size": entry.size if entry else None,
        "changed_ns": entry.changed_ns if entry else None,
        "document": msgspec.json.format(document, indent=-1),
    }
    return fixed | {key: _cell(value) for key, value in run.conditions.known.items()}


def _cell(value: Value) -> Any:
    return list(value.items()) if isinstance(value, dict) else value


def table_of(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows as a table with the columns of the index; an absent condition is null."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=arrow_schema())


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


def index_path(root: Path, listing: Listing) -> Path:
    """Where the index of this listing stands, if it was made."""
    return root / INDEX / f"{VERSION}-{listing.stamp}{SUFFIX}"


def index_of(root: Path, listing: Listing) -> Path | pa.Table | None:
    """The index of the documents: its file, or a table where none may be written. None for an empty ledger.

    Rows of an earlier index are taken over for files that were not touched since.
    """
    if not listing.documents:
        return None
    path = index_path(root, listing)
    if _is_own_file(path):
        return path
    table = _table_of_documents(root, listing.documents, _earlier(root))
    return path if _save(root, path.name, table) else table


def rebuild(root: Path, listing: Listing) -> pa.Table | None:
    """The index made from the documents alone and kept where that is possible. None for an empty ledger."""
    if not listing.documents:
        return None
    table = _table_of_documents(root, listing.documents, None)
    _save(root, index_path(root, listing).name, table)
    return table


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _earlier(root: Path) -> pa.Table | None:
    """The newest readable index of another listing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = [path for path in (root / INDEX).glob(f"{VERSION}-*{SUFFIX}") if _is_own_file(path)]
    for path in sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        with suppress(OSError, pa.ArrowException):
            table = pq.read_table(path, partitioning=None)
            if table.schema.equals(arrow_schema()):
                return table
    return None


def _table_of_documents(root: Path, entries: Sequence[Entry], earlier: pa.Table | None) -> pa.Table:
    import pyarrow as pa

    if earlier is None:
        return table_of(_rows(root, entries))
    wanted = {(entry.id, entry.size, entry.changed_ns): entry for entry in entries}
    seen = list(zip(*(earlier.column(name).to_pylist() for name in ("id", "size", "changed_ns")), strict=True))
    kept = earlier.filter(pa.array([key in wanted for key in seen], pa.bool_()))
    known = set(seen)
    fresh = [entry for key, entry in wanted.items() if key not in known]
    return pa.concat_tables([kept, table_of(_rows(root, fresh))])


def _rows(root: Path, entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Rows of the documents that can be read and say what their name promises; `verify` reports the others."""
    for entry in entries:
        with suppress(DocumentError):
            run, document = read_run(root, entry)
            yield row_of(run, document, entry)


def _save(root: Path, name: str, table: pa.Table) -> bool:
    """Write the index and remove the earlier ones; False where the folder cannot be written."""
    try:
        with index_folder(root) as folder:
            write_file(folder, name, parquet_of(table))
            for other in os.listdir(folder):  # noqa: PTH208  (a descriptor, not a path)
                if other.endswith(SUFFIX) and other != name:
                    with suppress(OSError):
                        os.unlink(other, dir_fd=folder)
    except OSError:
        return False
    return True
