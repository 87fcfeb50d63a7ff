"""Workload documents as text: read from TOML or JSON, written as JSON, with errors that name the field."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from caveat.errors import InputError
from caveat.workload.explained import PAGE, explained
from caveat.workload.workload import Workload

MAX_BYTES = 64 << 20
"""The largest document that is read: far above a traffic profile, below what could fill memory as objects."""


def read_workload(path: Path) -> Workload:
    """The workload in a file whose name ends in .toml or .json; InputError says which field is wrong."""
    form = _form(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                f"{path.name}: found {size:,} bytes, expected at most {MAX_BYTES:,}",
                code="workload-too-large",
                next="keep recorded times in a trace file, and lengths in a histogram",
            )
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror or error}", code="workload", next="check the path") from error
    return decode_workload(data, form)


def decode_workload(data: bytes | str, form: Literal["toml", "json"]) -> Workload:
    """The workload in a document; InputError says which field is wrong, what was found and what was expected."""
    plain: object = None
    try:
        plain = msgspec.toml.decode(data) if form == "toml" else msgspec.json.decode(data)
        return msgspec.convert(plain, Workload)
    except msgspec.ValidationError as error:
        text = data if isinstance(data, str) else data.decode(errors="replace")
        said = explained(error, plain, Workload, text)
        raise InputError(f"workload: {said}", code="workload", next=_NEXT) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"workload: not {form.upper()}: {error}", code="workload", next=_NEXT) from error
    except (RecursionError, OverflowError) as error:
        raise InputError(f"workload: too deep or too large a number: {error}", code="workload", next=_NEXT) from error


def encode_workload(workload: Workload) -> bytes:
    """The workload as JSON, with every default written out; the same workload gives the same bytes."""
    settled = msgspec.json.decode(msgspec.json.encode(workload), type=Workload)  # 2 where 2.0 is meant becomes 2.0
    return msgspec.json.format(msgspec.json.encode(settled), indent=2) + b"\n"


_NEXT = f"{PAGE} lists every kind with its fields"


def _form(path: Path) -> Literal["toml", "json"]:
    match path.suffix.lower():
        case ".toml":
            return "toml"
        case ".json":
            return "json"
    raise InputError(
        f"{path.name}: found the ending {path.suffix or '(none)'}, expected .toml or .json",
        code="workload",
        next="name the file for what is in it",
    )
