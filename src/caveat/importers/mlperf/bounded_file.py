"""Reading files of strangers: line by line, once, with a hash, and never more than a bounded piece in memory."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from caveat.errors import InputError

MAX_LINE_BYTES = 16 << 20  # the longest honest line, a loaded set of samples, has some hundred kilobytes
MAX_LOG_BYTES = 4 << 30
MAX_DESCRIPTION_BYTES = 4 << 20


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    """A file read to its end: hash, number of lines, numbers of lines too long to be read, whether it ends in one."""

    sha256: str
    lines: int
    overlong: tuple[int, ...]
    ends_whole: bool


def scan_lines(path: Path, take: Callable[[int, bytes], None], *, max_bytes: int = MAX_LOG_BYTES) -> Scanned:
    """Give every line (number from 1, with its end) to `take`; overlong lines are skipped and counted.

    Raises InputError with code "file-unreadable" or "log-too-large".
    """
    with _opened(path, max_bytes) as file:
        digest = hashlib.sha256()
        overlong: list[int] = []
        number, ends_whole = 0, True
        try:
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                digest.update(line)
                ends_whole = line.endswith(b"\n")
                if not ends_whole and len(line) == MAX_LINE_BYTES:
                    overlong.append(number)
                    ends_whole = _skip_line(file, digest.update)
                else:
                    take(number, line)
        except OSError as error:
            raise _unreadable(error) from error
        return Scanned(sha256=digest.hexdigest(), lines=number, overlong=tuple(overlong), ends_whole=ends_whole)


def read_small(path: Path, *, max_bytes: int = MAX_DESCRIPTION_BYTES) -> bytes:
    """The content of a small file. Raises InputError with code "file-unreadable" or "log-too-large"."""
    with _opened(path, max_bytes) as file:
        try:
            return file.read(max_bytes)
        except OSError as error:
            raise _unreadable(error) from error


def read_head(path: Path, size: int = 4096) -> bytes:
    """The first bytes of a file of any length. Raises InputError with code "file-unreadable"."""
    with _opened(path, MAX_LOG_BYTES) as file:
        return file.read(size)


def _opened(path: Path, max_bytes: int) -> BinaryIO:
    """The file, open; a pipe or device is refused before it could block."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not a regular file", code="file-unreadable")
        if status.st_size > max_bytes:
            raise InputError(f"{status.st_size:,} bytes, at most {max_bytes:,} are read", code="log-too-large")
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise _unreadable(error) from error


def _skip_line(file: BinaryIO, hashed: Callable[[bytes], None]) -> bool:
    """Read past the rest of a line; whether it has an end."""
    while piece := file.readline(MAX_LINE_BYTES):
        hashed(piece)
        if piece.endswith(b"\n"):
            return True
    return False


def _unreadable(error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(reason, code="file-unreadable")
