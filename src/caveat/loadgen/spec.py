"""Spec: everything that makes a measured run what it is, as a document that can be kept, sent and repeated.

Keys and the values of headers never enter the document: it names the environment variable, and header names alone.

format history
    caveat-spec/1   first version
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from caveat.errors import InputError, UsageError
from caveat.figures import Conditions, Value, conditions_of
from caveat.loadgen.body import Decoding
from caveat.loadgen.endpoint import HIDDEN, Endpoint
from caveat.loadgen.settings import Settings
from caveat.measure import Slo, WarmUp
from caveat.workload import Workload

FORMAT: Literal["caveat-spec/1"] = "caveat-spec/1"
MAX_BYTES = 64 << 20


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One experiment: a workload, an endpoint, how to ask, what to demand, what is known of the system.

    salted          prompts of this run share no beginning with those of any other
    tokenizer_file  words of one token each, and answers counted by it as well; else calibrated by the server's usage
    calibrated      ask the server a few probes first, to learn tokens per word; without, a word is taken for a token
    known           conditions that only a person knows: accelerator, engine, weight_precision, ...
    """

    endpoint: Endpoint
    workload: Workload
    format: Literal["caveat-spec/1"] = FORMAT
    decoding: Decoding = Decoding()
    settings: Settings = Settings()
    slo: Slo | None = None
    warmup: WarmUp | None = None
    processes: int = 1
    salted: bool = True
    calibrated: bool = True
    tokenizer_file: str | None = None
    known: dict[str, Value] = {}

    def __post_init__(self) -> None:
        self.conditions()

    def conditions(self) -> Conditions:
        """What the person said of the system. Raises DocumentError for what is no condition."""
        return conditions_of(self.known)

    def kept(self) -> Spec:
        """The spec as it may be written to disk: header values are hidden."""
        hidden = dict.fromkeys(self.endpoint.headers, HIDDEN)
        return msgspec.structs.replace(self, endpoint=msgspec.structs.replace(self.endpoint, headers=hidden))

    def repeated(self, headers: dict[str, str]) -> Spec:
        """The spec of an earlier run with its headers' values given anew; UsageError names those that are missing."""
        missing = [n for n, value in self.endpoint.headers.items() if value == HIDDEN and n not in headers]
        if missing:
            raise UsageError(
                f"the run had headers whose values were not kept: {', '.join(missing)}",
                next="give them again with --header 'NAME: VALUE'",
            )
        both = {**self.endpoint.headers, **headers}
        return msgspec.structs.replace(self, endpoint=msgspec.structs.replace(self.endpoint, headers=both))


def read_spec(path: Path) -> Spec:
    """The spec in a .toml or .json file; InputError says which field is wrong."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name}: found {path.stat().st_size:,} bytes, expected at most {MAX_BYTES:,}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error
    return decode_spec(data, "json" if path.suffix.lower() == ".json" else "toml", name=path.name)


def decode_spec(data: bytes, form: Literal["toml", "json"], *, name: str = "spec") -> Spec:
    """The spec in a document."""
    try:
        return msgspec.toml.decode(data, type=Spec) if form == "toml" else msgspec.json.decode(data, type=Spec)
    except msgspec.ValidationError as error:
        what, _, place = str(error).rpartition(" - at ")
        said = f"{place.strip('`').removeprefix('$.')}: {what}" if what else str(error)
        raise InputError(f"{name}: {said}", next="docs/measuring.md shows a whole spec") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise InputError(f"{name}: not {form.upper()}: {error}", next="docs/measuring.md shows a whole spec") from error


def encode_spec(spec: Spec) -> bytes:
    """The spec as JSON with every default written out, header values hidden."""
    return msgspec.json.format(msgspec.json.encode(spec.kept(), order="deterministic"), indent=1) + b"\n"
