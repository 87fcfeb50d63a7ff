"""Reads mlperf_log_detail.txt: one line a record, `:::MLLOG {"key": ..., "value": ..., "metadata": {...}}`.

Lines are streamed, and JSON is decoded only where the key is wanted or the line is an error: most bytes of a whole
log are lists that nobody needs. Format: mlcommons/inference loadgen/logging.cc @ b66003e.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import InputError, Problem
from caveat.importers.mlperf.bounded_file import Scanned, scan_lines
from caveat.importers.mlperf.loadgen_log import DETAIL, WANTED, LoadgenLog, LoggedError, checked
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.stated_text import harmless

PREFIX = b":::MLLOG"
SHOWN_PROBLEMS = 3  # of one kind in one file; the rest is counted
KEPT_ERRORS = 20  # that differ in more than their numbers: a kind that comes once must not drown in one of thousands

_KEY = re.compile(rb':::MLLOG\s*\{\s*"key"\s*:\s*"([^"\\]{1,200})"')
_NOT_FINITE = re.compile(rb'"value"\s*:\s*([-+]?(?:nan|inf(?:inity)?))\b', re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_IS_ERROR = re.compile(rb'"is_error"\s*:\s*true')
_WANTED = frozenset(key.encode() for key in WANTED)
_VERDICT = b"result_validity"  # once a run


class _Metadata(msgspec.Struct):
    is_error: bool = False


class _Record(msgspec.Struct):
    key: str
    value: Any = None
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decoder = msgspec.json.Decoder(_Record)


def read_log_detail(path: Path, shown: str) -> LoadgenLog:
    """The detail log at `path`, called `shown` in problems and sources. Never raises for what a file holds."""
    reading = _Reading(shown)
    try:
        scanned = scan_lines(path, reading.take)
    except InputError as error:
        unread = problem(error.code, shown, detail=error.message)
        return LoadgenLog(kind=DETAIL, path=shown, problems=(unread,))
    return reading.log(scanned)


class _Reading:
    """The state of reading one file, line after line."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.found: list[tuple[str, object, int]] = []
        self.errors: list[LoggedError] = []
        self.error_count = 0
        self.error_kinds: set[tuple[str, str]] = set()
        self.records = 0
        self.seen: set[bytes] = set()
        self.bad: dict[str, list[tuple[int, bytes]]] = {}  # the first few of each code
        self.bad_count: Counter[str] = Counter()
        self.last_bad = (0, b"")

    def take(self, number: int, line: bytes) -> None:
        """One line of the file."""
        match = _KEY.match(line, 3 if number == 1 and line.startswith(b"\xef\xbb\xbf") else 0)
        if match is None:
            if line.strip():
                self._bad("log-not-utf8" if _is_utf16(line, number) else "log-malformed-line", number, line)
            return
        self.records += 1
        key = match[1]
        is_error = key.startswith(b"error_") or _IS_ERROR.search(line) is not None
        if is_error or (key in _WANTED and key not in self.seen):
            self.seen.add(key)
            self._record(number, line[line.index(b"{") :], is_error)
        elif key == _VERDICT:
            self._bad("log-repeated", number, line)

    def _record(self, number: int, content: bytes, is_error: bool) -> None:
        try:
            record = _decoder.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._undecoded(number, content, is_error)
            return
        if is_error:
            self._error(record.key, record.value, number)
        else:
            self.found.append((record.key, record.value, number))

    def _undecoded(self, number: int, content: bytes, is_error: bool) -> None:
        """LoadGen prints infinities bare, and vendors print what they like: say which of the two it was."""
        key = content.split(b'"', 4)[3].decode("utf-8", "replace")
        if is_error:  # an error whose text breaks the line is an error all the same
            self._error(key, content.decode("utf-8", "replace"), number)
        elif match := _NOT_FINITE.search(content):
            self.found.append((key, match[1].decode(), number))
        elif not _is_utf8(content):
            self._bad("log-not-utf8", number, content)
        else:
            self._bad("log-malformed-line", number, content)

    def _error(self, key: str, value: object, number: int) -> None:
        self.error_count += 1
        name, text = harmless(key, 80), harmless(str(value), 200)
        kind = (name, _DIGITS.sub("0", text))
        if len(self.errors) < KEPT_ERRORS and kind not in self.error_kinds:
            self.error_kinds.add(kind)
            self.errors.append(LoggedError(name, text, number))

    def _bad(self, code: str, number: int, line: bytes) -> None:
        self.last_bad = (number, line[:200])
        self.bad_count[code] += 1
        if self.bad_count[code] <= SHOWN_PROBLEMS:
            self.bad.setdefault(code, []).append(self.last_bad)

    def log(self, scanned: Scanned) -> LoadgenLog:
        """What was read, with its problems."""
        values, lines, impossible = checked(self.found, self.shown)
        if self.error_count:
            values["num_errors"] = max(self.error_count, int(values.get("num_errors", 0)))
        return LoadgenLog(
            kind=DETAIL,
            path=self.shown,
            sha256=scanned.sha256,
            values=values,
            lines=lines,
            errors=tuple(self.errors),
            problems=(*self._line_problems(scanned), *impossible),
        )

    def _line_problems(self, scanned: Scanned) -> list[Problem]:
        problems = [problem("log-too-large", self.shown, line=line) for line in scanned.overlong[:SHOWN_PROBLEMS]]
        if not self.records:
            return [*problems, problem("log-empty", self.shown, detail=f"{scanned.lines} lines")]
        number, line = self.last_bad
        if number == scanned.lines and not scanned.ends_whole:
            return [*problems, problem("log-truncated", self.shown, line=number, found=line)]
        for code, bad in self.bad.items():
            problems += [problem(code, self.shown, line=number, found=line) for number, line in bad]
            if (more := self.bad_count[code] - len(bad)) > 0:
                problems.append(problem(code, self.shown, detail=f"{more} more such lines"))
        return problems


def _is_utf16(line: bytes, number: int) -> bool:
    return number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff"))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
