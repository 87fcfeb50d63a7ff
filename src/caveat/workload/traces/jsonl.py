"""JSONL of numbers: one object a line, fields by name. A typed decoder takes whole pieces; only if that fails, lines.

The typed way costs about two microseconds a row with twenty block ids, and one bad line costs its piece the slow way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from caveat.workload.plan import Int64
from caveat.workload.traces.clock import Times, iso_ns, looks_like_iso
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.lines import LineFile, Piece, is_utf8
from caveat.workload.traces.raw import Raw, block_columns, float_column, names_column, tokens_column

Row = Any  # a struct made for the fields of one file, or a plain object of the same names


class JsonFields(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the fields of one format; None where it has none. `others` are read as they are, for its module."""

    time: str
    input: str
    output: str
    session: str | None = None
    turn: str | None = None
    blocks: str | None = None
    others: tuple[str, ...] = ()

    def names(self) -> dict[str, str]:
        """From our name of a field to the file's."""
        ours = ("time", "input", "output", "session", "turn", "blocks")
        named = {name: getattr(self, name) for name in ours if getattr(self, name) is not None}
        return named | {f"other_{place}": name for place, name in enumerate(self.others)}


_TYPES: dict[str, Any] = {
    "time": float | str | None,
    "input": int | None,
    "output": int | None,
    "session": int | str | None,
    "turn": int | None,
    "blocks": list[int] | None,
}


def rows_of(fields: JsonFields, file: LineFile, findings: Findings) -> Iterator[tuple[Int64, list[Row]]]:
    """Line numbers and decoded rows, piece by piece; lines that cannot be read are reported and left out."""
    names = fields.names()
    row = msgspec.defstruct(
        "Row",
        [(name, _TYPES.get(name, Any), None) for name in names],
        rename=names.get,
        gc=False,
    )
    typed = msgspec.json.Decoder(row)
    loose = msgspec.json.Decoder(dict[str, Any])
    for piece in file.pieces():
        try:
            rows = typed.decode_lines(piece.data) if is_utf8(piece.data) else []
        except (msgspec.DecodeError, RecursionError):
            rows = []
        if rows and len(rows) == piece.data.count(b"\n") + (not piece.data.endswith(b"\n")):
            yield piece.first_line + np.arange(len(rows)), rows
        else:
            yield _by_line(piece, row, names, typed, loose, findings)


def _by_line(
    piece: Piece,
    row: Any,
    names: dict[str, str],
    typed: msgspec.json.Decoder[Row],
    loose: msgspec.json.Decoder[dict[str, Any]],
    findings: Findings,
) -> tuple[Int64, list[Row]]:
    lines, rows = [], []
    for number, line in enumerate(piece.data.split(b"\n"), piece.first_line):
        if not line.strip():
            continue
        text = line.decode("utf-8", "replace")
        try:
            rows.append(typed.decode(text))
        except (msgspec.DecodeError, RecursionError):
            try:
                found = loose.decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                findings.add("line-malformed", number, _why(error))
                continue
            rows.append(row(**{ours: found.get(theirs) for ours, theirs in names.items()}))
        if not is_utf8(line):
            findings.add("not-utf8", number)
        lines.append(number)
    return np.array(lines, np.int64), rows


def _why(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)[:100]


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """One field of all rows."""
    return list(map(attrgetter(name), rows))


def times_column(values: Sequence[object]) -> Times:
    """A column of times: ISO texts as nanoseconds, everything else as numbers."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, str) and looks_like_iso(first):
        return iso_ns([value if isinstance(value, str) else "" for value in values])
    if all(type(value) is float for value in values):
        return np.array(values, np.float64)
    return float_column(values)


def raw_of(fields: JsonFields, lines: Int64, rows: Sequence[Row]) -> Raw:
    """Decoded rows as columns."""
    ends, blocks = (None, None)
    if fields.blocks is not None:
        lists = column(rows, "blocks")
        ends, blocks = block_columns([some if isinstance(some, list) else [] for some in lists])
    return Raw(
        line=lines,
        time=times_column(column(rows, "time")),
        input_tokens=tokens_column(column(rows, "input")),
        output_tokens=tokens_column(column(rows, "output")),
        session=names_column(column(rows, "session")) if fields.session is not None else None,
        turn=tokens_column(column(rows, "turn")) if fields.turn is not None else None,
        ends=ends,
        blocks=blocks,
    )


def read_fields(fields: JsonFields, file: LineFile, findings: Findings) -> Iterator[Raw]:
    """All rows of a file of this format, piece by piece."""
    for lines, rows in rows_of(fields, file, findings):
        if rows:
            yield raw_of(fields, lines, rows)


def first_object(head: bytes) -> dict[str, Any]:
    """The first line that is an object, of the first bytes of a file; empty if none is."""
    for line in head.split(b"\n")[:20]:
        try:
            return dict(msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.DecodeError, RecursionError):
            continue
    return {}
