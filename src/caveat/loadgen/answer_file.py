"""Answers on disk: the texts that a server gave, one JSON line a request, beside the samples of the run.

{"request": 3, "text": "…", "first": 5}      `first` is the length of the first delta in characters
{"request": 4, "left_out": "too long"}       an answer beyond the bounds leaves its mark

What a server says back of our secrets is hidden before it is written. Lines come as requests end, in no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from caveat.errors import InputError
from caveat.loadgen.endpoint import HIDDEN

MAX_ANSWER_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 30
_LINE_SLACK = 6  # a character of a text takes at most so many bytes of JSON (backslash, u and four digits)


class KeptAnswer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line. `text` is None where it was left out; `first` is None where it cannot be told."""

    request: int
    text: str | None = None
    first: int | None = None
    left_out: str = ""


class AnswerFile:
    """Keeps answers as they come; a context manager. Called by the writer's thread, one answer a call."""

    def __init__(
        self,
        path: Path,
        secrets: Sequence[str] = (),
        *,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._path, self._secrets = path, tuple(secrets)
        self._most, self._room = max_answer_bytes, max_file_bytes
        self._encode = msgspec.json.Encoder().encode

    def __enter__(self) -> AnswerFile:
        try:
            self._file = self._path.open("xb")
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror or error}", next="give a new folder") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __call__(self, number: int, text: str, first: int) -> None:
        """Write one line."""
        clean = self._without_secrets(text)
        line = self._encode(self._kept(number, clean, first if clean == text else None)) + b"\n"
        self._room -= len(line)
        self._file.write(line)

    def _kept(self, number: int, text: str, first: int | None) -> KeptAnswer:
        size = len(text.encode())
        if size > self._most:
            return KeptAnswer(number, left_out=f"{size:,} bytes, at most {self._most:,} are kept")
        if _LINE_SLACK * size > self._room:
            return KeptAnswer(number, left_out="the file is full")
        return KeptAnswer(number, text, first)

    def _without_secrets(self, text: str) -> str:
        """Without what must not be kept, and without halves of characters, which no file can hold."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text.encode("utf-8", "replace").decode()


def read_answers(path: Path, requests: int) -> dict[int, KeptAnswer]:
    """The lines of a file by request, all of them numbers below `requests`. InputError names file, line and fault.

    A last line without its end was cut by a killed process and is left out.
    """
    found: dict[int, KeptAnswer] = {}
    decode = msgspec.json.Decoder(KeptAnswer).decode
    longest = _LINE_SLACK * MAX_ANSWER_BYTES + 200
    with _opened(path) as file:
        for place, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
            if not line.endswith(b"\n"):
                if len(line) > longest:
                    raise _fault(path, place, "more than an answer may have")
                break
            try:
                answer = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise _fault(path, place, str(error)[:200]) from error
            if not 0 <= answer.request < requests or answer.request in found:
                what = "which is not in the plan or has its answer already"
                raise _fault(path, place, f"request {answer.request}, {what}")
            found[answer.request] = answer
    return found


def _opened(path: Path) -> BinaryIO:
    try:
        if path.stat().st_size > 2 * MAX_FILE_BYTES:
            most = f"found more than {2 * MAX_FILE_BYTES:,} bytes, expected the answers of a run"
            raise InputError(f"{path.name}: {most}")
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="give the folder of an accuracy run") from error


def _fault(path: Path, place: int, found: str) -> InputError:
    return InputError(f"{path.name}, line {place}: found {found}, expected one answer", next="keep the file as it was")
