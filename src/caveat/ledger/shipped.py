"""The public figures that come with the package: one Parquet file, documents and index in one. Read-only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from caveat.errors import LedgerError
from caveat.figures import Run, dump
from caveat.ledger.index import parquet_of, row_of, table_of

SHIPPED = Path(__file__).parent / "shipped" / "runs.parquet"
_STRONGEST = 19  # zstd: written once a release, read ten thousand times


def shipped_file() -> Path:
    """Where the set lies. LedgerError where the installation lacks it."""
    if not SHIPPED.is_file():
        raise LedgerError(f"the shipped figures are missing: {SHIPPED}", next="install caveat again")
    return SHIPPED


def shipped_bytes(runs: Iterable[Run]) -> bytes:
    """The set as a file, from heads of different subjects. Same runs, same bytes, in whatever order they come."""
    rows = [row_of(run, dump(run)) for run in runs]
    subjects = [row["subject"] for row in rows]
    if len(set(subjects)) < len(subjects):
        raise LedgerError("a subject stands twice in the shipped set", next="merge its runs first")
    return parquet_of(table_of(rows), level=_STRONGEST)
