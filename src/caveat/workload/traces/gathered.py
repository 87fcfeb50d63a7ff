"""Pieces of a trace gathered into one recording of 16 bytes a request: 8 of time, 4 for each length.

Sessions, turns and blocks come on top where the file has them. Until the number of requests is known a long column
waits in a temporary file without a name, so that no column is ever held twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from caveat.workload.plan import NO_REQUEST, Int64, Whole
from caveat.workload.traces.recording import Recording

_KINDS: dict[str, Any] = {"input_tokens": np.int32, "output_tokens": np.int32}
"""Columns that need no 64 bits: lengths are at most 16 million."""

_ABSENT = {"session": NO_REQUEST, "turn": 0}
"""What a column holds for the pieces of a file in which nothing was recorded for it."""


class RowLines:
    """Which line of the file each request came from, as runs of lines that follow each other."""

    def __init__(self) -> None:
        self._rows: list[Int64] = []
        self._lines: list[Int64] = []
        self._count = 0

    def add(self, lines: Int64) -> None:
        """The lines of the next requests."""
        starts = np.append(0, np.flatnonzero(np.diff(lines) != 1) + 1)
        self._rows.append(self._count + starts)
        self._lines.append(lines[starts])
        self._count += len(lines)

    def of(self, rows: Int64) -> Int64:
        """The lines of some requests, by their places in the order of the file."""
        starts, lines = np.concatenate(self._rows), np.concatenate(self._lines)
        run = np.searchsorted(starts, rows, side="right") - 1
        return np.asarray(lines[run] + rows - starts[run], np.int64)


_IN_MEMORY = 4 << 20
"""Bytes of a column from which on it waits in a file."""

LinesOf = Callable[[Int64], Int64]
"""From places in a recording to lines of its file."""


def gathered(parts: Iterable[Recording]) -> Recording | None:
    """The requests of all parts in their order; None without parts. Source and block size are the last part's."""
    last, count, blocks = None, 0, 0
    with ExitStack() as stack:
        columns = {name: _Column(name, stack.enter_context(SpooledTemporaryFile(_IN_MEMORY))) for name in _NAMES}
        for part in parts:
            for name in _NAMES:
                values = getattr(part, name)
                columns[name].add(values + blocks if name == "prefix_ends" else values, count, len(part))
            last, count, blocks = part, count + len(part), blocks + len(part.prefix_blocks)
        if last is None:
            return None
        whole: dict[str, Any] = {name: column.array(count) for name, column in columns.items()}
        return replace(last, **whole)


_NAMES = ("t_ns", "input_tokens", "output_tokens", "session", "turn", "prefix_ends", "prefix_blocks")


class _Column:
    """One column, outside memory from some megabytes on."""

    def __init__(self, name: str, held: SpooledTemporaryFile[bytes]) -> None:
        self._kind = _KINDS.get(name, np.int64)
        self._absent = _ABSENT.get(name)
        self._held = held
        self._count = 0

    def add(self, values: Whole, before: int, count: int) -> None:
        """The values of `count` requests, after those of the `before` ones that came so far."""
        if self._absent is not None and len(values):
            self._fill(before)
        elif self._absent is not None and self._count:
            self._fill(before + count)
        self._write(values)

    def array(self, count: int) -> Whole:
        """The column; of all `count` requests, or empty where none had it."""
        if self._absent is not None and self._count:
            self._fill(count)
        column: Whole = np.empty(self._count, self._kind)
        self._held.seek(0)
        self._held.readinto(memoryview(column.data).cast("B") if self._count else bytearray())
        self._held.close()  # a file's room is given back before the next column is read
        return column

    def _fill(self, count: int) -> None:
        if count > self._count:
            self._write(np.full(count - self._count, self._absent, self._kind))

    def _write(self, values: Whole) -> None:
        self._held.write(values.astype(self._kind).tobytes())
        self._count += len(values)
