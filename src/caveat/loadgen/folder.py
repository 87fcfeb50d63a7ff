"""The folder of an experiment: what lies in it, how it is written, and whether its run still goes.

spec.json         the resolved spec, without keys
samples.parquet   one row a request; while the run goes, samples.parquet.parts/
notes.json        what was learned around the run: plan digest, probes, client, engine facts
.going            locked by the process that makes the run, for as long as it lives
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from caveat.errors import InputError, RefusedError
from caveat.loadgen.client_calibration import ClientCalibration
from caveat.loadgen.engine import EngineFacts
from caveat.loadgen.selfcheck import ClientHealth
from caveat.loadgen.spec import Spec, decode_spec, encode_spec
from caveat.loadgen.tokens import TokenCalibration

SPEC, SAMPLES, NOTES, GOING = "spec.json", "samples.parquet", "notes.json", ".going"
SUBJECT = re.compile(r"measured/[0-9a-f]{32}")
_MAX_BYTES = 64 << 20


class Notes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learned around a run. None is what was not looked for or not reached.

    subject      the run's name in any ledger, `measured/<32 hex digits>`
    plan         digest over every planned request
    client       the machine that made the load
    tokenizer    name and hash of the tokenizer's file, where the client had one
    by_clock     a closed loop came to its stop_after_s before its plan was through
    health       the client's look at itself; None until the run has ended
    """

    format: str = "caveat-notes/1"
    version: str
    started: str
    plan: str
    subject: str = ""
    salt: int | None = None
    client: str | None = None
    tokenizer: str | None = None
    prompts: TokenCalibration | None = None
    prompts_unknown: str | None = None
    before: EngineFacts | None = None
    after: EngineFacts | None = None
    health: ClientHealth | None = None
    calibration: ClientCalibration | None = None
    interrupted: bool = False
    by_clock: bool = False


@contextmanager
def new_folder(folder: Path, spec: Spec) -> Iterator[None]:
    """A folder for one run, with its spec, marked as going while the block lasts. RefusedError where one holds a run.

    The mark is a lock and no file that could be left behind: a killed process lets go of it.
    """
    with marked_folder(folder, SPEC, encode_spec(spec)):
        yield


@contextmanager
def marked_folder(folder: Path, name: str, document: bytes) -> Iterator[None]:
    """As `new_folder`, for a run whose document is another than a spec."""
    if (folder / SPEC).exists() or (folder / name).exists():
        raise RefusedError(f"{folder}: found a run already, expected a new folder", next="give another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = (folder / GOING).open("wb")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}", next="give a folder that can be written") from error
    with mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        (folder / name).write_bytes(document)
        yield


def is_going(folder: Path) -> bool:
    """Whether a living process is making the run of this folder."""
    try:
        with (folder / GOING).open("rb") as mark:
            fcntl.flock(mark, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def write_notes(folder: Path, notes: Notes) -> None:
    """Whole or not at all."""
    new = folder / f".{NOTES}"
    new.write_bytes(msgspec.json.format(msgspec.json.encode(notes), indent=1) + b"\n")
    new.replace(folder / NOTES)


def read_folder(folder: Path) -> tuple[Spec, Notes]:
    """The spec and the notes of an experiment. Raises InputError where the folder holds none."""
    try:
        spec = decode_spec(_read(folder / SPEC), "json", name=SPEC)
        notes = msgspec.json.decode(_read(folder / NOTES), type=Notes)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{folder}: no experiment here: {error}", next=f"give a folder with {SPEC}, {NOTES} and {SAMPLES}"
        ) from error
    if notes.subject and not SUBJECT.fullmatch(notes.subject):
        raise InputError(f"{folder}: subject: found {notes.subject[:80]!r}, expected measured/ and 32 hex digits")
    return spec, notes


def copy_folder(source: Path, target: Path) -> None:
    """The experiment's own files, and none beside them, into a folder that is there. InputError for a link.

    A link may lead anywhere, and what it leads to would be kept as the run's.
    """
    for name in _file_names(source):
        if (source / name).is_symlink():
            raise InputError(f"{source / name}: found a link, expected a file", next="put the file itself there")
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / name, target / name)


def differing_file(one: Path, other: Path) -> str | None:
    """The name of the first of the experiment's files that two folders do not have alike; None where all are."""
    names, others = _file_names(one), _file_names(other)
    apart = sorted({*names} ^ {*others})
    unlike = [name for name in names if name in others and _digest(one / name) != _digest(other / name)]
    return next(iter([*unlike, *apart]), None)


def _file_names(folder: Path) -> list[str]:
    """Files of the experiment below its folder, links among them."""
    parts = folder / f"{SAMPLES}.parts"
    below = sorted(f"{parts.name}/{part.name}" for part in parts.iterdir()) if parts.is_dir() else []
    return [
        name for name in (SPEC, NOTES, SAMPLES, *below) if (folder / name).is_file() or (folder / name).is_symlink()
    ]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InputError(f"{path.name}: found more than {_MAX_BYTES:,} bytes, expected an experiment's own file")
    return data
