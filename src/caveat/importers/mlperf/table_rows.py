"""The rows of a published table, from JSON or CSV, however damaged: what can be read is read, the rest is a problem.

The checker writes every CSV field in quotes and does not escape quotes inside: a field ends at a quote before a
comma that no blank follows, or at the end of the line. JSON rows are decoded one at a time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import InputError, Problem
from caveat.importers.mlperf.bounded_file import read_small
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.summary_columns import Columns, columns_of, picked

MAX_TABLE_BYTES = 64 * 1024 * 1024  # thirty times the largest that was published
MAX_ROW_CHARS = 128 * 1024
MAX_ROW_LINES = 20
MAX_ROWS = 100_000
MAX_LINES = 1_000_000
MAX_BAD_ROWS = 300


class TableRow(msgspec.Struct, frozen=True):
    """One row under our names. `number` counts rows as the file does: from 1, the header of a CSV included."""

    number: int
    line: int | None
    cells: dict[str, str]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table with what was wrong in it; `columns` is None where it is no table of ours."""

    sha256: str
    columns: Columns | None = None
    rows: tuple[TableRow, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_table(path: Path) -> Table:
    """All rows of a JSON or CSV table. Never raises for what the file holds, nor for a file that cannot be read."""
    try:
        content = read_small(path, max_bytes=MAX_TABLE_BYTES)
    except InputError as error:
        code = "file-unreadable" if error.code == "file-unreadable" else "table-too-large"
        return Table(sha256="", problems=(problem(code, str(path), detail=error.message),))
    sha256 = hashlib.sha256(content).hexdigest()
    content = content.removeprefix(b"\xef\xbb\xbf")
    problems: list[Problem] = []
    if not _is_utf8(content):
        problems.append(problem("table-not-utf8", str(path)))
    rows = _json_rows if content.lstrip()[:1] == b"[" else _csv_rows
    columns, found = rows(path, content, problems)
    return Table(sha256=sha256, columns=columns, rows=tuple(found), problems=tuple(problems))


# JSON


def _json_rows(path: Path, content: bytes, problems: list[Problem]) -> tuple[Columns | None, list[TableRow]]:
    rows: list[TableRow] = []
    columns: Columns | None = None
    for number, record in enumerate(_records(path, content, problems), start=1):
        if not isinstance(record, dict):
            problems.append(_bad_row(path, number, None, type(record).__name__, "an object"))
        elif isinstance(record, _Doubled):
            problems.append(_bad_row(path, number, None, "one key several times", "each key once"))
        elif (here := columns_of(record)) is None:
            problems.append(_bad_row(path, number, None, "no column of a result", "a result and a scenario"))
        else:
            columns = columns or here
            rows.append(TableRow(number, None, picked(here, record)))
        if len(problems) > MAX_BAD_ROWS or len(rows) >= MAX_ROWS:
            problems.append(_given_up(path, number))
            break
    return columns, rows


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float(digits)


class _Doubled(dict[str, Any]):
    """An object in which a key stands several times: readers differ in which of them they believe."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Doubled(fields)


# Not msgspec: real files hold bare NaN, and a row at a time is decoded.
_decoder = json.JSONDecoder(parse_int=_whole_number, object_pairs_hook=_object)
_BLANKS = re.compile(r"[ \t\r\n]*")


def _records(path: Path, content: bytes, problems: list[Problem]) -> Iterator[Any]:
    """Each element of the list, up to where the text stops being JSON."""
    text = content.decode(errors="replace")
    at, number = text.index("[") + 1, 0
    while True:
        at = _after_blanks(text, at)
        if text.startswith("]", at):
            return
        try:
            record, at = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            problems.append(_cut_off(path, number, str(error)))
            return
        number += 1
        yield record
        at = _after_blanks(text, at)
        if text.startswith(",", at):
            at += 1
        elif not text.startswith("]", at):
            problems.append(_cut_off(path, number, "neither a comma nor the end of the list"))
            return


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


# CSV


def _csv_rows(path: Path, content: bytes, problems: list[Problem]) -> tuple[Columns | None, list[TableRow]]:
    lines = _Lines(content)
    header = fields_of(lines.take()) if lines.more() else None
    columns = columns_of(header) if header else None
    if header is None or columns is None:
        return None, []
    if doubled := sorted({name for name in columns.names.values() if header.count(name) > 1}):
        problems.append(problem("table-malformed", str(path), detail="a column stands twice", found=", ".join(doubled)))
        return None, []
    rows: list[TableRow] = []
    for number, (line, fields) in enumerate(_logical_rows(path, lines, len(header), problems), start=2):
        if fields is not None:
            rows.append(TableRow(number, line, picked(columns, dict(zip(header, fields, strict=True)))))
        if len(problems) > MAX_BAD_ROWS or len(rows) >= MAX_ROWS:
            problems.append(_given_up(path, number))
            break
    return columns, rows


class _Lines:
    """The lines of a file, decoded one at a time, with a look at those that follow."""

    def __init__(self, content: bytes) -> None:
        self._rest = io.BytesIO(content)
        self._seen: deque[str] = deque()
        self.number = 0

    def more(self) -> bool:
        """Whether a line is left."""
        return self.ahead(1) is not None

    def ahead(self, places: int) -> str | None:
        """The line that comes after `places` calls of take; None past the end. Overlong lines are cut."""
        while len(self._seen) < places:
            line = self._rest.readline()
            if not line:
                return None
            self._seen.append(line[: 4 * MAX_ROW_CHARS].decode(errors="replace").rstrip("\r\n"))
        return self._seen[places - 1]

    def take(self, count: int = 1) -> str:
        """The next line, and as many as `count` fewer to come."""
        text = self.ahead(1) or ""
        for _ in range(count):
            self._seen.popleft()
        self.number += count
        return text


def _logical_rows(
    path: Path, lines: _Lines, width: int, problems: list[Problem]
) -> Iterator[tuple[int, list[str] | None]]:
    """(line number, fields) of each row; a quoted field may run over several lines. None for what is no row."""
    while lines.more():
        if lines.number >= MAX_LINES:
            problems.append(_given_up(path, lines.number))
            return
        fields, taken = _row_ahead(lines, width)
        line = lines.number + 1
        text = lines.take(taken)
        if fields is None and not text.strip():
            continue
        if fields is None:
            problems.append(_bad_row(path, line, line, f"{text[:80]!r}", f"{width} fields"))
        yield line, fields


def _row_ahead(lines: _Lines, width: int) -> tuple[list[str] | None, int]:
    """The fields of the row that starts at the next line, and how many lines it takes."""
    text = ""
    for taken in range(1, MAX_ROW_LINES + 1):
        line = lines.ahead(taken)
        if line is None or len(text) + len(line) > MAX_ROW_CHARS:
            break
        text = line if taken == 1 else f"{text}\n{line}"
        fields = fields_of(text)
        if fields is not None and len(fields) != width:
            fields = _resaved(text)
        if fields is not None and len(fields) == width:
            return fields, taken
        if fields is not None and (not text.strip() or len(fields) > width):
            break
    return None, 1


def _resaved(text: str) -> list[str]:
    """The fields of a row that other hands have saved again, by the common rules of CSV."""
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return []


_CLOSING = re.compile(r'"(?=,(?! )|\Z)')


def fields_of(line: str) -> list[str] | None:
    """The fields of one CSV row; None where a quoted field does not end in it."""
    fields: list[str] = []
    at = 0
    while True:
        quoted = line.startswith('"', at)
        end = _closing_quote(line, at + 1) if quoted else line.find(",", at)
        if quoted and end is None:
            return None
        last = len(line) if end is None or end < 0 else end
        fields.append(line[at + 1 : last].replace('""', '"') if quoted else line[at:last])
        at = last + 2 if quoted else last + 1
        if at > len(line):
            return fields


def _closing_quote(line: str, at: int) -> int | None:
    """Where the quote stands that ends a field; None where none does."""
    match = _CLOSING.search(line, at)
    return match.start() if match else None


# problems


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bad_row(path: Path, row: int, line: int | None, found: str, expected: str) -> Problem:
    return problem("row-malformed", str(path), detail=f"row {row}", line=line, found=found, expected=expected)


def _cut_off(path: Path, rows: int, found: str) -> Problem:
    detail = f"no JSON from row {rows + 1} on, {rows} rows were read"
    return problem("table-malformed", str(path), detail=detail, found=found, next="fetch the file again")


def _given_up(path: Path, row: int) -> Problem:
    return problem("table-malformed", str(path), detail=f"given up at row {row}: too many rows, or too many bad ones")
