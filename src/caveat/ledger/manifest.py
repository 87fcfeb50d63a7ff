"""The manifest: what the index was made from and which Parquet files are the index. One file, replaced whole.

format history
    caveat-index/1   no manifest: one Parquet file named after a digest of the folder's listing; no longer read
    caveat-index/2   parts, and the folders of documents as they were seen
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

import msgspec

from caveat import __version__
from caveat.ledger.index import COLUMNS
from caveat.ledger.looking import Folder
from caveat.ledger.store import INDEX, TEMPORARY, index_folder, write_file

FORMAT = "caveat-index/2"
NAME = "manifest"
SUFFIX = ".parquet"
_LARGEST = 64 * 2**20  # bytes; 256 folders take 30,000
_PART = re.compile(r"[0-9a-f]{32}\.parquet")
_FOLDER = re.compile(r"[0-9a-f]{2}")
# Another version may read what this one could not, and know conditions that this one does not.
COLUMNS_DIGEST = hashlib.sha256(msgspec.json.encode((__version__, COLUMNS))).hexdigest()[:32]


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A Parquet file of the index, and how many rows it has."""

    name: str
    rows: int


class Manifest(msgspec.Struct, frozen=True):
    """The parts of the index and the folders that their rows were read from."""

    parts: tuple[Part, ...] = ()
    folders: dict[str, Folder] = {}
    columns: str = COLUMNS_DIGEST
    format: str = FORMAT


_decoder = msgspec.json.Decoder(Manifest)


def read_manifest(root: Path) -> Manifest:
    """The manifest; an empty one where there is none, or none that can be believed."""
    try:
        handle = os.open(root / INDEX / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = _decoder.decode(file.read(_LARGEST))
    except (OSError, msgspec.MsgspecError, RecursionError):
        return Manifest()
    return found if _is_ours(root, found) else Manifest()


def _is_ours(root: Path, found: Manifest) -> bool:
    return (
        (found.format, found.columns) == (FORMAT, COLUMNS_DIGEST)
        and not (root / INDEX).is_symlink()
        and all(_FOLDER.fullmatch(prefix) for prefix in found.folders)
        and all(_PART.fullmatch(part.name) and _is_own_file(part_path(root, part)) for part in found.parts)
    )


def part_path(root: Path, part: Part) -> Path:
    """Where a part stands."""
    return root / INDEX / part.name


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def write_part(root: Path, content: bytes, rows: int) -> Part:
    """Write a Parquet file of the index. OSError where that is not possible. Call it with the lock held."""
    part = Part(f"{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}", rows)
    with index_folder(root) as folder:
        write_file(folder, part.name, content)
    return part


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Replace the manifest and remove what it does not name. OSError where that is not possible.

    Call it with the lock held: nobody else writes parts then, and a reader whose parts go asks again.
    """
    with index_folder(root) as folder:
        write_file(folder, NAME, msgspec.json.encode(manifest))
        names = {part.name for part in manifest.parts}
        for other in os.listdir(folder):  # noqa: PTH208  (a descriptor, not a path)
            if (other not in names and other.endswith(SUFFIX)) or other.startswith(TEMPORARY):
                with suppress(OSError):
                    os.unlink(other, dir_fd=folder)
