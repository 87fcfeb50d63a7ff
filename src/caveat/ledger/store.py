"""The folder of documents: `runs/<2 hex>/<id>.json`, written once each, atomically, one writer at a time.

A name that stands in `runs` is complete: a document is written beside it and renamed. Symbolic links are never
followed below the ledger's own folder. Readers take no lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

import msgspec

from caveat.errors import DocumentError, LedgerError
from caveat.figures import Run, dump, load

RUNS = "runs"
INDEX = ".index"
TEMPORARY = ".tmp-"
LARGEST_DOCUMENT = 16 * 2**20  # bytes; real ones have a few thousand
LEFT_BEHIND_S = 3600.0  # a temporary file older than this has no writer any more

Progress = Callable[[int, int], None]  # (documents written, documents to write)

_FOLDER = re.compile(r"[0-9a-f]{2}")
_DOCUMENT = re.compile(r"([0-9a-f]{40})\.json")


class Entry(msgspec.Struct, frozen=True):
    """One document's file. `size` in bytes, `changed_ns` the file's modification time."""

    id: str
    size: int
    changed_ns: int

    @property
    def name(self) -> str:
        """The path inside the ledger."""
        return f"{RUNS}/{self.id[:2]}/{self.id}.json"


class Listing(msgspec.Struct, frozen=True):
    """What lies in a ledger: documents by id, what does not belong there (path, reason), temporary files."""

    documents: tuple[Entry, ...] = ()
    strangers: tuple[tuple[str, str], ...] = ()
    temporary: tuple[str, ...] = ()

    @property
    def stamp(self) -> str:
        """A digest that changes when a document comes, goes or is touched; 32 hex digits."""
        return hashlib.sha256(msgspec.json.encode(self.documents)).hexdigest()[:32]


def scan(root: Path) -> Listing:
    """The ledger's files; an absent folder is an empty ledger. LedgerError where it is no folder."""
    documents: list[Entry] = []
    strangers: list[tuple[str, str]] = []
    temporary: list[str] = []
    for name, entry in _files(root, strangers):
        match = _DOCUMENT.fullmatch(entry.name)
        if entry.name.startswith(TEMPORARY):
            temporary.append(name)
        elif not entry.is_file(follow_symlinks=False):
            strangers.append((name, "not a plain file"))
        elif match is None or match[1][:2] != name.split("/")[1]:
            strangers.append((name, "not where a document stands"))
        else:
            with suppress(FileNotFoundError):
                facts = entry.stat(follow_symlinks=False)
                documents.append(Entry(match[1], facts.st_size, facts.st_mtime_ns))
    return Listing(
        tuple(sorted(documents, key=lambda entry: entry.id)), tuple(sorted(strangers)), tuple(sorted(temporary))
    )


def _files(root: Path, strangers: list[tuple[str, str]]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything inside `runs/<2 hex>`, with its path inside the ledger."""
    for folder in _entries(root, RUNS):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False):
            name = f"{RUNS}/{folder.name}"
            for entry in _entries(root, name):
                yield f"{name}/{entry.name}", entry
        elif not folder.name.startswith("."):
            strangers.append((f"{RUNS}/{folder.name}", "not a folder of documents"))


def _entries(root: Path, name: str) -> list[os.DirEntry[str]]:
    try:
        if (root / name).is_symlink():
            raise LedgerError(f"{root / name} is a symbolic link", next="put the folder itself there")
        with os.scandir(root / name) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unusable(root, error) from error


def unusable(root: Path, error: OSError) -> LedgerError:
    """The error of the operating system as ours."""
    return LedgerError(
        f"the ledger {str(root)!r} cannot be used: {error.strerror or error}",
        next="name another folder with --ledger PATH or CAVEAT_LEDGER",
    )


def read_bytes(root: Path, entry: Entry) -> bytes:
    """The document's bytes. DocumentError naming the file where it cannot be read or is far too large."""
    try:
        handle = os.open(root / entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            content = file.read(LARGEST_DOCUMENT + 1)
    except OSError as error:
        raise DocumentError(f"{entry.name}: {error.strerror or error}") from error
    if len(content) > LARGEST_DOCUMENT:
        raise DocumentError(f"{entry.name}: found more than {LARGEST_DOCUMENT:,} bytes, expected a run document")
    return content


def read_run(root: Path, entry: Entry) -> tuple[Run, bytes]:
    """The run and its document. DocumentError where it is broken or says something else than its name promises."""
    content = read_bytes(root, entry)
    run = load(content, path=entry.name)
    if run.id != entry.id:
        raise DocumentError(
            f"{entry.name}: the content was changed, its hash is {run.id[:10]}...",
            code="changed",
            next="restore the file from a copy, or delete it and import its source again",
        )
    return run, content


def write_runs(root: Path, runs: Sequence[Run], progress: Progress | None = None) -> None:
    """Write the documents, each atomically, one fsync a folder. Call it with the lock held."""
    done = 0
    try:
        for prefix, group in groupby(sorted(runs, key=lambda run: run.id), key=lambda run: run.id[:2]):
            with _folder(root, RUNS, prefix) as folder:
                for run in group:
                    write_file(folder, f"{run.id}.json", dump(run))
                    done += 1
                    if progress:
                        progress(done, len(runs))
                os.fsync(folder)
    except OSError as error:
        wrong = unusable(root, error)
        raise LedgerError(f"{wrong.message} ({done} of {len(runs)} documents written)", next=wrong.next) from error


@contextmanager
def _folder(root: Path, *names: str) -> Iterator[int]:
    """A descriptor of a folder inside the ledger, made where absent; never through a symbolic link."""
    root.mkdir(parents=True, exist_ok=True)
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def write_file(folder: int, name: str, content: bytes) -> None:
    """Write a file into an open folder so that the name is either absent, old or complete."""
    temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


@contextmanager
def index_folder(root: Path) -> Iterator[int]:
    """A descriptor of `.index`, which git ignores. OSError where it cannot be made or is no folder."""
    with _folder(root, INDEX) as folder:
        if ".gitignore" not in os.listdir(folder):  # noqa: PTH208  (a descriptor, not a path)
            write_file(folder, ".gitignore", b"*\n")
        yield folder


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the ledger for writing; waits for whoever holds it. LedgerError where it cannot be written."""
    try:
        handle = _lock(root)
    except OSError as error:
        raise unusable(root, error) from error
    try:
        yield
    finally:
        os.close(handle)  # gives the lock back


def _lock(root: Path) -> int:
    with index_folder(root) as folder:
        while True:
            handle = os.open("lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
            fcntl.flock(handle, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                here = os.stat("lock", dir_fd=folder, follow_symlinks=False)
                if os.path.samestat(here, os.fstat(handle)):
                    return handle
            os.close(handle)  # somebody removed the file while we waited: it locks nothing any more


def remove_left_behind(root: Path, listing: Listing) -> None:
    """Delete temporary files that a killed writer left. Call it with the lock held."""
    oldest = time.time() - LEFT_BEHIND_S
    for name in listing.temporary:
        with suppress(OSError):
            facts = (root / name).lstat()
            if stat.S_ISREG(facts.st_mode) and facts.st_mtime < oldest:
                (root / name).unlink()
