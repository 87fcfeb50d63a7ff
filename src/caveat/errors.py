"""The error tree, and the structured problem that an importer reports without raising.

CaveatError                 anything caveat refuses or fails at; has a code, a message and a next step
├── UsageError              the command or call was put together wrongly           exit 2
├── CannotSayError          there is no honest answer from what is known           exit 3
├── InputError              a file or a value cannot be read                       exit 4
│   └── DocumentError       a Run document breaks its own format                   exit 4
├── NotFoundError           an id or name that nothing answers to                  exit 4
├── RefusedError            the answer is no: a claim that must not be made        exit 1
└── LedgerError             the ledger's folder cannot be used as it is            exit 4
"""

from __future__ import annotations

import re

import msgspec

EXIT_YES = 0
EXIT_NO = 1
EXIT_USAGE = 2
EXIT_CANNOT_SAY = 3
EXIT_INPUT = 4


class CaveatError(Exception):
    """Base of all errors raised on purpose. `next` says what to do about it.

    `code` is for programs; unless given it is the class's name in words: `cannot-say` for CannotSayError.
    """

    exit_code = EXIT_INPUT

    def __init__(self, message: str, *, code: str = "", next: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__.removesuffix("Error")).lower()
        self.next = next


class UsageError(CaveatError):
    """The command line or the call is put together wrongly."""

    exit_code = EXIT_USAGE


class CannotSayError(CaveatError):
    """No honest answer can be given from what is known; the message names what is missing."""

    exit_code = EXIT_CANNOT_SAY


class InputError(CaveatError):
    """A file or a value from outside cannot be read."""


class DocumentError(InputError):
    """A Run document breaks its own format."""


class NotFoundError(CaveatError):
    """Nothing answers to this id or name."""


class RefusedError(CaveatError):
    """The answer is no: a claim that the rules or the facts do not allow."""

    exit_code = EXIT_NO


class LedgerError(CaveatError):
    """The ledger's folder cannot be used as it is."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with one place of one file. Reported, never raised: the rest still imports.

    `line` counts from 1; None where the whole file is meant. `found` is cut to a readable length by
    whoever makes the problem and may be hostile text: renderers escape it.
    """

    code: str
    path: str
    message: str
    line: int | None = None
    found: str | None = None
    expected: str | None = None
    next: str | None = None
