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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    prefixes, strangers = folders(root)
    inside = [list_folder(root, prefix) for prefix in prefixes]
    return Listing(
        tuple(entry for one in inside for entry in one.documents),
        tuple(sorted((*strangers, *(stranger for one in inside for stranger in one.strangers)))),
        tuple(name for one in inside for name in one.temporary),
    )


def folders(root: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """The folders of documents by their two digits, in order; and what else lies among them (path, reason)."""
    prefixes: list[str] = []
    strangers: list[tuple[str, str]] = []
    for entry in _entries(root, RUNS):
        if _FOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            prefixes.append(entry.name)
        elif not entry.name.startswith("."):
            strangers.append((f"{RUNS}/{entry.name}", "not a folder of documents"))
    return sorted(prefixes), strangers


def list_folder(root: Path, prefix: str) -> Listing:
    """Everything inside `runs/<prefix>`, each part in order."""
    documents: list[Entry] = []
    strangers: list[tuple[str, str]] = []
    temporary: list[str] = []
    for entry in _entries(root, f"{RUNS}/{prefix}"):
        match = _DOCUMENT.fullmatch(entry.name)
        name = f"{RUNS}/{prefix}/{entry.name}"
        if entry.name.startswith(TEMPORARY):
            temporary.append(name)
        elif not entry.is_file(follow_symlinks=False):
            strangers.append((name, "not a plain file"))
        elif match is None or match[1][:2] != prefix:
            strangers.append((name, "not where a document stands"))
        else:
            with suppress(FileNotFoundError):
                facts = entry.stat(follow_symlinks=False)
                documents.append(Entry(match[1], facts.st_size, facts.st_mtime_ns))
    return Listing(
        tuple(sorted(documents, key=lambda entry: entry.id)), tuple(sorted(strangers)), tuple(sorted(temporary))
    )


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


def read_bytes(root: Path, entry: Entry, *, untouched: bool = False) -> bytes:
    """The document's bytes. DocumentError naming the file where it cannot be read or is far too large.

    With `untouched` also (code `touched`) where its size or time is not the entry's any more.
    """
    try:
        handle = os.open(f"{root}/{entry.name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(handle)
            content = _all_of(handle, facts.st_size)
        finally:
            os.close(handle)
    except OSError as error:
        raise DocumentError(f"{entry.name}: {error.strerror or error}", code="touched") from error
    if untouched and (facts.st_size, facts.st_mtime_ns) != (entry.size, entry.changed_ns):
        raise DocumentError(f"{entry.name}: the file was changed while it was read", code="touched")
    if len(content) > LARGEST_DOCUMENT:
        raise DocumentError(f"{entry.name}: found more than {LARGEST_DOCUMENT:,} bytes, expected a run document")
    return content


def _all_of(handle: int, size: int) -> bytes:
    """What the open file holds, a byte more than may be at most. Its size is a hint: it may grow, or be no file."""
    content = os.read(handle, min(size, LARGEST_DOCUMENT) + 1)
    while content and len(content) <= LARGEST_DOCUMENT and (more := os.read(handle, LARGEST_DOCUMENT)):
        content += more
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


def write_runs(root: Path, runs: Sequence[Run], progress: Progress | None = None) -> dict[Entry, Run]:
    """Write the documents, each atomically, one fsync a folder. Call it with the lock held. Gives their files."""
    done = 0
    written: dict[Entry, Run] = {}
    try:
        for prefix, group in groupby(sorted(runs, key=lambda run: run.id), key=lambda run: run.id[:2]):
            with _folder(root, RUNS, prefix) as folder:
                for run in group:
                    facts = write_file(folder, f"{run.id}.json", dump(run))
                    written[Entry(run.id, facts.st_size, facts.st_mtime_ns)] = run
                    done += 1
                    if progress:
                        progress(done, len(runs))
                os.fsync(folder)
    except OSError as error:
        wrong = unusable(root, error)
        raise LedgerError(f"{wrong.message} ({done} of {len(runs)} documents written)", next=wrong.next) from error
    return written


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


def write_file(folder: int, name: str, content: bytes) -> os.stat_result:
    """Write a file into an open folder so that the name is either absent, old or complete. Gives its size and time."""
    temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            facts = os.fstat(handle)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return facts


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


@contextmanager
def locked_if_free(root: Path) -> Iterator[bool]:
    """Hold the ledger for writing if nobody does and it can be written, and say so. Never waits, raises nothing."""
    handle = None
    with suppress(OSError):
        handle = _lock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _lock(root: Path, operation: int = fcntl.LOCK_EX) -> int:
    with index_folder(root) as folder:
        while True:
            handle = os.open("lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
            try:
                fcntl.flock(handle, operation)
            except OSError:
                os.close(handle)
                raise
            with suppress(FileNotFoundError):
                here = os.stat("lock", dir_fd=folder, follow_symlinks=False)
                if os.path.samestat(here, os.fstat(handle)):
                    return handle
            os.close(handle)  # somebody removed the file while we waited: it locks nothing any more


def remove_left_behind(root: Path, temporary: Iterable[str]) -> None:
    """Delete those temporary files (paths inside the ledger) that a killed writer left. Call it with the lock held."""
    oldest = time.time() - LEFT_BEHIND_S
    for name in temporary:
        with suppress(OSError):
            facts = (root / name).lstat()
            if stat.S_ISREG(facts.st_mode) and facts.st_mtime < oldest:
                (root / name).unlink()
