"""Every foreign format that caveat reads: one visible table. To add a format, write its module and add a line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from caveat.errors import DocumentError, InputError, UsageError
from caveat.figures import FORMAT, load
from caveat.importers.imported import Imported
from caveat.importers.mlperf import read_summary, read_tree
from caveat.importers.mlperf.bounded_file import read_small
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.summary_columns import columns_of
from caveat.importers.mlperf.table_rows import fields_of

Progress = Callable[[str, int, int], None]
"""Hears what is being read, how many of it are done, and how many there are (0 while that is not known)."""

HEAD_BYTES = 64 * 1024
LOG_MARKS = (b":::MLLOG", b"MLPerf Results Summary")


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format. `recognises` gets the path and the first bytes (none for a folder); `read` raises for no content."""

    name: str
    description: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Path, Progress | None], Imported]


def _is_run_document(path: Path, head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"caveat-run/' in head


def _is_results_json(path: Path, head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text[:1] == b"[" and b"Result" in text and b"Scenario" in text


def _is_summary_csv(path: Path, head: bytes) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r")
    header = fields_of(first.decode(errors="replace"))
    return first[:1] not in (b"[", b"{") and header is not None and columns_of(header) is not None


def _is_tree(path: Path, head: bytes) -> bool:
    return path.is_dir() or any(mark in head for mark in LOG_MARKS)


def _read_run_document(path: Path, progress: Progress | None) -> Imported:
    try:
        return Imported(runs=(load(read_small(path), path=str(path)),))
    except DocumentError as error:
        found = problem("document-malformed", str(path), detail=error.message, expected=FORMAT, next=error.next)
    except InputError as error:
        found = problem("file-unreadable", str(path), detail=error.message)
    return Imported(problems=(found,))


def _read_summary(path: Path, progress: Progress | None) -> Imported:
    return read_summary(path)


def _read_tree(path: Path, progress: Progress | None) -> Imported:
    if progress is None:
        return read_tree(path)
    return read_tree(path, progress=partial(progress, path.name))


FORMATS: tuple[Format, ...] = (
    Format(
        name="caveat-run",
        description="a Run document of caveat's own",
        recognises=_is_run_document,
        read=_read_run_document,
    ),
    Format(
        name="mlperf-summary-json",
        description="the results table of an MLPerf Inference round, summary_results.json",
        recognises=_is_results_json,
        read=_read_summary,
    ),
    Format(
        name="mlperf-summary-csv",
        description="the table that the MLPerf Inference submission checker writes, summary.csv",
        recognises=_is_summary_csv,
        read=_read_summary,
    ),
    Format(
        name="mlperf-tree",
        description="an MLPerf Inference submission tree, any folder of one, or one LoadGen log",
        recognises=_is_tree,
        read=_read_tree,
    ),
)
"""Asked in this order; the first that recognises a file reads it."""


def format_named(name: str) -> Format:
    """The format of that name. Raises UsageError listing the names there are."""
    for one in FORMATS:
        if one.name == name:
            return one
    raise UsageError(f"no format is called {name!r}", next=f"use one of {', '.join(one.name for one in FORMATS)}")


def format_of(path: Path) -> Format | None:
    """The format that recognises a file or folder, by its name and first bytes; None where none does."""
    try:
        head = b"" if path.is_dir() else _head(path)
    except OSError:
        return None
    return next((one for one in FORMATS if one.recognises(path, head)), None)


def _head(path: Path) -> bytes:
    if not path.is_file():  # a pipe or device could block
        return b""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)
