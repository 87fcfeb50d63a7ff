"""Reading many documents: their rows for the index and what is wrong with them, in pieces, by all processors.

A process that reads documents is started with the parent's own import path and does nothing else. Whatever goes
wrong with one, its piece is read here instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

from caveat.errors import DocumentError, Problem
from caveat.figures import Run
from caveat.ledger.index import own_row, own_schema, table_of
from caveat.ledger.store import Entry, Progress, read_run

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 4_000
"""Documents from which on the start of further processes (0.5 s each) is worth it."""
PIECE = 500
"""Documents that are read at once: 5 MB or so."""
_START = "import sys; sys.path[:] = sys.argv[1:]; from caveat.ledger.reading import serve; serve()"
_LENGTH = 8  # bytes before each message
_LONGEST = 2**30  # bytes of one; a piece has 2 MB


class Piece(msgspec.Struct, frozen=True):
    """Some documents: rows of those that can be read (Arrow IPC), and a problem for each of the others."""

    rows: bytes
    problems: tuple[Problem, ...]

    def table(self) -> pa.Table:
        """The rows."""
        import pyarrow as pa

        return pa.ipc.open_stream(self.rows).read_all()


def read_documents(
    root: Path, entries: Sequence[Entry], written: Mapping[Entry, Run] | None = None, progress: Progress | None = None
) -> Iterator[tuple[tuple[Entry, ...], Piece]]:
    """Pieces of the documents in their order, each with its rows.

    Those just `written` need not be read. `progress` is called with (read, to read).
    """
    pieces = [tuple(entries[at : at + PIECE]) for at in range(0, len(entries), PIECE)]
    helpers = os.cpu_count() or 1 if len(entries) >= MANY and not written else 1
    done = 0
    found = _by_several(root, pieces, helpers) if helpers > 1 else (_piece(root, p, written or {}) for p in pieces)
    for piece, result in zip(pieces, found, strict=True):
        yield piece, result
        done += len(piece)
        if progress:
            progress(done, len(entries))


def _piece(root: Path, entries: Sequence[Entry], written: Mapping[Entry, Run]) -> Piece:
    """Read here."""
    import pyarrow as pa

    rows, problems = [], []
    for entry in entries:
        try:
            rows.append(own_row(written.get(entry) or read_run(root, entry)[0], entry))
        except DocumentError as error:
            code = "changed" if error.code == "changed" else "unreadable"
            problems.append(Problem(code=code, path=entry.name, message=error.message, next=error.next or None))
    table = table_of(rows, own_schema())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Piece(bytes(sink.getvalue()), tuple(problems))


def _by_several(root: Path, pieces: Sequence[tuple[Entry, ...]], count: int) -> Iterator[Piece]:
    """Read by further processes; a few pieces more than there are processes are under way at a time."""
    helpers: SimpleQueue[_Helper] = SimpleQueue()
    started = [_Helper() for _ in range(count)]
    for helper in started:
        helpers.put(helper)

    def read(piece: tuple[Entry, ...]) -> Piece | None:
        helper = helpers.get()
        try:
            return helper.read(root, piece)
        finally:
            helpers.put(helper)

    waiting: deque[tuple[tuple[Entry, ...], Future[Piece | None]]] = deque()
    try:
        with ThreadPoolExecutor(count, thread_name_prefix="caveat-reading") as pool:
            for piece in pieces:
                waiting.append((piece, pool.submit(read, piece)))
                if len(waiting) > 2 * count:
                    yield _result(root, *waiting.popleft())
            while waiting:
                yield _result(root, *waiting.popleft())
    finally:
        for helper in started:
            helper.close()


def _result(root: Path, piece: tuple[Entry, ...], future: Future[Piece | None]) -> Piece:
    found = future.result()
    return _piece(root, piece, {}) if found is None else found


class _Helper:
    """A process that reads documents; without one it reads nothing."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def read(self, root: Path, entries: Sequence[Entry]) -> Piece | None:
        """The piece; None where the process is not there or not well."""
        if self._process is None:
            return None
        try:
            _send(cast(BinaryIO, self._process.stdin), msgspec.msgpack.encode((str(root.absolute()), entries)))
            reply = _receive(cast(BinaryIO, self._process.stdout))
        except OSError:
            reply = b""
        return self._understood(reply)

    def _understood(self, reply: bytes) -> Piece | None:
        """A process that once said something else is not asked again."""
        with suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(reply, type=Piece)
        self.close()
        return None

    def close(self) -> None:
        """End it: it has nothing to lose."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    cast(BinaryIO, pipe).close()
            self._process = None


def serve() -> None:
    """What such a process does: pieces from standard input, rows to standard output, until there are no more."""
    while request := _receive(sys.stdin.buffer):
        root, entries = msgspec.msgpack.decode(request, type=tuple[str, tuple[Entry, ...]])
        _send(sys.stdout.buffer, msgspec.msgpack.encode(_piece(Path(root), entries, {})))


def _send(pipe: BinaryIO, content: bytes) -> None:
    pipe.write(len(content).to_bytes(_LENGTH, "big"))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: BinaryIO) -> bytes:
    """The next message; empty at the end, or where it is none."""
    length = int.from_bytes(pipe.read(_LENGTH), "big")
    if length > _LONGEST:
        return b""
    content = pipe.read(length)
    return content if len(content) == length else b""
