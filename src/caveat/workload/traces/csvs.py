"""CSV of numbers and times: columns by name, taken by Arrow piece by piece; what it cannot take goes line by line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.workload.plan import Int64
from caveat.workload.traces.clock import Times, iso_ns, looks_like_iso
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.lines import LineFile, Piece, is_utf8
from caveat.workload.traces.raw import Raw, float_column, names_column, tokens_column

_DELIMITERS = ",;\t"


class CsvColumns(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the columns of one format; None where it has none."""

    time: str
    input: str
    output: str
    session: str | None = None
    turn: str | None = None

    def names(self) -> dict[str, str]:
        """From our name of a column to the file's."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}


def header_of(head: bytes) -> tuple[list[str], str]:
    """Column names and delimiter from the first line of a file; no names if it does not look like a header."""
    line = head.split(b"\n", 1)[0].decode("utf-8", "replace").strip("\r")
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        cells = []
    return [cell.strip() for cell in cells], delimiter


def read_columns(columns: CsvColumns, file: LineFile, findings: Findings) -> Iterator[Raw]:
    """All rows of a file with a header, piece by piece. InputError if a column is not in it."""
    header: list[str] = []
    delimiter = ","
    for piece in file.pieces():
        if not header:
            header, delimiter = header_of(piece.data)
            _check_header(columns, header)
            piece = _without_first_line(piece)
        if piece.data:
            lines, cells = _cells(piece, header, delimiter, columns, findings)
            if len(lines):
                yield _raw(columns, lines, cells)


def _check_header(columns: CsvColumns, header: list[str]) -> None:
    for name, theirs in columns.names().items():
        if theirs not in header:
            raise InputError(
                f"column for {name}: found no {theirs[:40]!r}, expected one of {', '.join(header)[:200]}",
                code="trace-column-missing",
                next="map the columns that are there: time=NAME,input=NAME,output=NAME",
            )


def _without_first_line(piece: Piece) -> Piece:
    rest = piece.data.split(b"\n", 1)
    return Piece(piece.first_line + 1, rest[1] if len(rest) > 1 else b"")


def _cells(
    piece: Piece, header: list[str], delimiter: str, columns: CsvColumns, findings: Findings
) -> tuple[Int64, dict[str, list[Any]]]:
    """Line numbers and the wanted cells as texts, by our names."""
    bad: list[int] = []
    if not is_utf8(piece.data):
        return _cells_by_line(piece, header, delimiter, columns, findings)
    try:
        table = _arrow_table(piece.data, header, delimiter, sorted(set(columns.names().values())), bad)
        cells = {name: table.column(theirs).to_pylist() for name, theirs in columns.names().items()}
    except ValueError:  # Arrow's errors are ValueErrors
        return _cells_by_line(piece, header, delimiter, columns, findings)
    kept = np.delete(np.arange(table.num_rows + len(bad)), np.array(bad, np.int64))
    lines = piece.first_line + kept
    findings.add_lines("line-malformed", [piece.first_line + place for place in bad if not _blank(piece, place)])
    return lines, cells


def _arrow_table(data: bytes, header: list[str], delimiter: str, wanted: list[str], bad: list[int]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def skip(row: arrow_csv.InvalidRow) -> str:
        bad.append(row.number - 1)
        return "skip"

    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(column_names=header, use_threads=False, block_size=len(data) + 1),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip, ignore_empty_lines=False),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
        ),
        memory_pool=pa.system_memory_pool(),  # which gives a piece's room back before the next one
    )


def _blank(piece: Piece, place: int) -> bool:
    return not piece.data.split(b"\n", place + 1)[place].strip() if place < 100_000 else False


def _cells_by_line(
    piece: Piece, header: list[str], delimiter: str, columns: CsvColumns, findings: Findings
) -> tuple[Int64, dict[str, list[Any]]]:
    wanted = {name: header.index(theirs) for name, theirs in columns.names().items()}
    lines: list[int] = []
    cells: dict[str, list[Any]] = {name: [] for name in wanted}
    for number, line in enumerate(piece.data.split(b"\n"), piece.first_line):
        text = line.decode("utf-8", "replace").strip("\r")
        if not text.strip():
            continue
        if "\ufffd" in text:
            findings.add("not-utf8", number)
        row = _split(text, delimiter)
        if len(row) != len(header):
            findings.add("line-malformed", number, f"{len(row)} cells")
            continue
        lines.append(number)
        for name, place in wanted.items():
            cells[name].append(row[place])
    return np.array(lines, np.int64), cells


def _split(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _raw(columns: CsvColumns, lines: Int64, cells: dict[str, list[Any]]) -> Raw:
    return Raw(
        line=lines,
        time=_times(cells["time"]),
        input_tokens=_tokens(cells["input"]),
        output_tokens=_tokens(cells["output"]),
        session=names_column(_whole_if_so(cell) for cell in cells["session"]) if columns.session else None,
        turn=_tokens(cells["turn"]) if columns.turn else None,
    )


def _times(texts: list[str]) -> Times:
    if texts and looks_like_iso(texts[0]):
        return iso_ns(texts)
    try:
        return np.array(texts, np.str_).astype(np.float64)
    except ValueError:
        return float_column(texts)


def _tokens(texts: list[str]) -> Int64:
    try:
        return tokens_column(list(map(int, texts)))
    except ValueError:
        return tokens_column(texts)


def _whole_if_so(cell: str) -> int | str:
    return int(cell) if cell.isdecimal() and len(cell) < 10 else cell
