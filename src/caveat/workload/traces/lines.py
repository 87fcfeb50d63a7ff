"""A file in pieces of whole lines: a few megabytes at a time, hashed as it goes, nothing longer kept."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from caveat.errors import InputError
from caveat.workload.traces.findings import Findings

PIECE_BYTES = 1 << 19
MAX_LINE_BYTES = 16 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines with their ends; `first_line` counts from 1."""

    first_line: int
    data: bytes


class LineFile:
    """The lines of one file, read once from start to end; hash and number of lines are known after that."""

    def __init__(self, path: Path, findings: Findings) -> None:
        self.path = path
        self._findings = findings
        self._digest = hashlib.sha256()
        self.lines = 0

    @property
    def sha256(self) -> str:
        """Of what was read so far."""
        return self._digest.hexdigest()

    def head(self) -> bytes:
        """The first bytes, for a look at names before reading."""
        return head_of(self.path)

    def hash_whole(self) -> None:
        """Read for the hash alone: for files that have no lines."""
        with opened(self.path) as file:
            while read := file.read(PIECE_BYTES):
                self._digest.update(read)

    def pieces(self) -> Iterator[Piece]:
        """The file in order. InputError if it cannot be read."""
        try:
            with opened(self.path) as file:
                yield from self._whole_lines(file)
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _whole_lines(self, file: BinaryIO) -> Iterator[Piece]:
        held = b""
        too_long = False
        while read := file.read(PIECE_BYTES):
            self._digest.update(read)
            held = held + read if self.lines or held or too_long else read.removeprefix(_BOM)
            cut = held.rfind(b"\n") + 1
            if cut:
                if too_long:
                    held, cut, too_long = self._past_long_line(held, cut)
                yield from self._piece(held[:cut])
                held = held[cut:]
            elif len(held) > MAX_LINE_BYTES or too_long:
                held, too_long = b"", True
        if too_long:
            self._past_long_line(b"\n", 1)
        elif held:
            yield from self._piece(held)

    def _past_long_line(self, held: bytes, cut: int) -> tuple[bytes, int, bool]:
        """What follows the end of a line that was too long, and the new place of the cut."""
        end = held.index(b"\n") + 1
        self.lines += 1
        self._findings.add("line-too-long", self.lines)
        return held[end:], cut - end, False

    def _piece(self, data: bytes) -> Iterator[Piece]:
        if data:
            first = self.lines + 1
            self.lines += data.count(b"\n") + (not data.endswith(b"\n"))
            yield Piece(first, data)


def head_of(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, without a byte order mark. InputError if it cannot be read."""
    try:
        with opened(path) as file:
            return file.read(size).removeprefix(_BOM)
    except OSError as error:
        raise unreadable(path, error) from error


def opened(path: Path) -> BinaryIO:
    """The file, open; a pipe or device is refused before it could block."""
    if path.is_dir():
        raise InputError(
            f"{path.name}: found a folder, expected a file",
            code="trace-unreadable",
            next="name the file in it; of folders only ServeGen's are read, by their chunk-N-trace.csv",
        )
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(
            f"{path.name}: not a regular file", code="trace-unreadable", next="save the trace to a file first"
        )
    return path.open("rb")


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def unreadable(path: Path, error: Exception) -> InputError:
    """The error for a file that cannot be read: raise it."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)[:200]
    return InputError(f"{path.name}: {reason}", code="trace-unreadable", next="check the path")
