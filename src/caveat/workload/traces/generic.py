"""Any CSV, JSONL or Parquet with a column for time, input and output: by a map of names, or by usual names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.workload.traces.clock import Times
from caveat.workload.traces.csvs import CsvColumns, read_columns
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import JsonFields, read_fields, times_column
from caveat.workload.traces.lines import LineFile, unreadable
from caveat.workload.traces.raw import Raw, block_columns, names_column, tokens_column

MAPPED = ("time", "input", "output", "session", "turn", "blocks")
"""What a map of columns may name. It must name input and output; without time only lengths are read."""

_EXAMPLE = "time=NAME,input=NAME,output=NAME"

_USUAL: Mapping[str, tuple[str, ...]] = {
    "time": ("timestamp", "time", "arrival_time", "arrived_at", "arrival", "start_time", "created", "ts", "t"),
    "input": ("input_tokens", "input_length", "prompt_tokens", "input_toks", "context_tokens", "num_prefill_tokens"),
    "output": (
        "output_tokens",
        "output_length",
        "completion_tokens",
        "output_toks",
        "generated_tokens",
        "num_decode_tokens",
    ),
    "session": ("session", "session_id", "conversation_id", "chat_id"),
    "turn": ("turn",),
}
_SHORT = ("input", "output")
"""Names that may as well be of texts: taken where both are there and the first row does not hold texts under them."""
_UNITS = ("_s", "_ms", "_us", "_ns")


def generic_format(path: Path, head: Head, given: Mapping[str, str] | None) -> Format:
    """A format for one file, from a map of its columns. InputError names what is missing."""
    present = _columns_of(path, head)
    columns = dict(given) if given is not None else _guessed(present, head.fields)
    _check(path, columns, present)
    timed = "time" in columns
    columns.setdefault("time", columns["input"])  # something to read; no time is made of it
    read = _reader(path, head, columns)
    return Format(
        name="generic",
        title="CSV, JSONL or Parquet with a map of columns",
        recognises=lambda _: False,
        read=read if timed else partial(_untimed, read),
        time=columns["time"],
        unit=None if timed else "s",
        timed=timed,
    )


def _reader(path: Path, head: Head, columns: dict[str, str]) -> Callable[[LineFile, Findings], Iterator[Raw]]:
    if head.suffix == ".parquet":
        return partial(_read_parquet, columns)
    if head.fields:
        return partial(read_fields, msgspec.convert(columns, JsonFields))
    if "blocks" in columns:
        raise InputError(
            f"{path.name}: blocks in a CSV", code="trace-column-missing", next="lists of blocks need JSONL or Parquet"
        )
    return partial(read_columns, msgspec.convert(columns, CsvColumns))


def _untimed(read: Callable[[LineFile, Findings], Iterator[Raw]], file: LineFile, findings: Findings) -> Iterator[Raw]:
    for raw in read(file, findings):
        yield replace(raw, time=np.zeros(len(raw.line)))


def _columns_of(path: Path, head: Head) -> tuple[str, ...]:
    if head.suffix == ".parquet":
        return tuple(_parquet(path).schema_arrow.names)
    return tuple(head.fields) if head.fields else head.header


def _guessed(present: Iterable[str], first: Mapping[str, Any]) -> dict[str, str]:
    """Usual names, in any case, with or without a unit at the end of a time. `first` is the first row, if known."""
    by_lower = {name.lower().replace(" ", "_"): name for name in present}
    found = {}
    for ours, names in _USUAL.items():
        spellings = [n + unit for n in names for unit in ("", *_UNITS)] if ours == "time" else list(names)
        usual = next((by_lower[name] for name in spellings if name in by_lower), None)
        if usual is not None:
            found[ours] = usual
    if not found.keys() & set(_SHORT) and all(name in by_lower for name in _SHORT):
        short = {name: by_lower[name] for name in _SHORT}
        if not any(isinstance(first.get(name), str | list | dict) for name in short.values()):
            found |= short
    return found


def _check(path: Path, columns: Mapping[str, str], present: Iterable[str]) -> None:
    unknown = [name for name in columns if name not in MAPPED]
    missing = [name for name in ("input", "output") if name not in columns]
    if unknown or missing:
        what = f"no column for {missing[0]}" if missing else f"{unknown[0][:40]!r} in the map of columns"
        raise InputError(
            f"{path.name}: {what}; the file has {', '.join(present)[:200] or 'none'}",
            code="trace-column-missing" if missing else "trace-column-unknown",
            next=f"map them by name: {_EXAMPLE} (also {', '.join(MAPPED[3:])})",
        )


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error


def _read_parquet(columns: Mapping[str, str], file: LineFile, findings: Findings) -> Iterator[Raw]:
    table = _parquet(file.path)
    absent = [name for name in columns.values() if name not in table.schema_arrow.names]
    if absent:
        raise InputError(
            f"{file.path.name}: found no column {absent[0][:40]!r}, expected one of "
            f"{', '.join(table.schema_arrow.names)[:200]}",
            code="trace-column-missing",
            next=f"map them by name: {_EXAMPLE}",
        )
    file.hash_whole()
    for batch in table.iter_batches(columns=sorted(set(columns.values()))):
        cells = {ours: batch.column(theirs) for ours, theirs in columns.items()}
        lines = file.lines + 1 + np.arange(batch.num_rows)
        file.lines += batch.num_rows
        yield _raw(lines, cells)


def _raw(lines: Any, cells: Mapping[str, Any]) -> Raw:
    ends, blocks = (
        block_columns([some or [] for some in cells["blocks"].to_pylist()]) if "blocks" in cells else (None, None)
    )
    return Raw(
        line=lines,
        time=_arrow_times(cells["time"]),
        input_tokens=tokens_column(cells["input"].to_pylist()),
        output_tokens=tokens_column(cells["output"].to_pylist()),
        session=names_column(cells["session"].to_pylist()) if "session" in cells else None,
        turn=tokens_column(cells["turn"].to_pylist()) if "turn" in cells else None,
        ends=ends,
        blocks=blocks,
    )


def _arrow_times(column: Any) -> Times:
    import pyarrow as pa

    from caveat.workload.traces.clock import NO_TIME

    if pa.types.is_timestamp(column.type):
        whole = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64()).fill_null(NO_TIME)
        return np.asarray(whole.to_numpy(zero_copy_only=False), np.int64)
    return times_column(column.to_pylist())
