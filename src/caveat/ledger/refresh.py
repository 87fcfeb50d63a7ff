"""Bringing the index up to date: rows of new documents become a new part, parts are folded together now and then.

The index is written with the lock held and never waited for: where somebody else writes, or nobody may, what is new
is kept in memory. All of it may be deleted at any time; it is made again from the documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from caveat.figures import Run
from caveat.ledger.index import own_parquet_of, own_schema
from caveat.ledger.looking import Folder, Look, look
from caveat.ledger.manifest import Manifest, Part, part_path, read_manifest, write_manifest, write_part
from caveat.ledger.reading import read_documents
from caveat.ledger.store import Entry, Progress, locked_if_free

if TYPE_CHECKING:
    import pyarrow as pa

FOLD = 4
"""A part is folded into the next one once that is no less than a quarter of it: few parts, and each row is written
again only a few times in its life."""


class Index(msgspec.Struct, frozen=True):
    """The index as it was at one moment: its parts, and rows that stand in none of them."""

    manifest: Manifest = Manifest()
    memory: pa.Table | None = None

    def paths(self, root: Path) -> tuple[Path, ...]:
        """The files of the parts."""
        return tuple(part_path(root, part) for part in self.manifest.parts)


class Task(msgspec.Struct, frozen=True):
    """What a refresh may do: whether the lock is held already, the folders to look at whatever their times say, runs
    that were just written, and who is told how far it is."""

    held: bool = False
    at: Collection[str] = ()
    written: Mapping[Entry, Run] = {}
    progress: Progress | None = None


def refreshed(root: Path, earlier: Index | None = None, task: Task = Task()) -> Index:  # noqa: B008  (frozen)
    """The index as the documents are now; `earlier` is what this process knew. LedgerError: the folder is unusable."""
    base = Index(read_manifest(root)) if task.held or earlier is None else earlier
    seen = look(root, base.manifest.folders, at=task.at)
    if not seen.differs(base.manifest.folders):
        return base
    if task.held:
        return _up_to_date(root, base, seen, task, save=True)
    with _lock(root) as mine:
        if mine:  # somebody may have been here before the lock was ours
            base = Index(read_manifest(root))
            seen = look(root, base.manifest.folders, at=task.at)
        return _up_to_date(root, base, seen, task, save=mine)


def rebuilt(root: Path, task: Task = Task()) -> Index:  # noqa: B008  (frozen)
    """The index made from the documents alone, and kept where that is possible."""
    if task.held:
        return _up_to_date(root, Index(), look(root, {}), task, save=True)
    with _lock(root) as mine:
        return _up_to_date(root, Index(), look(root, {}), task, save=mine)


@contextmanager
def _lock(root: Path) -> Iterator[bool]:
    if not root.is_dir():  # an empty ledger is not made by looking at it
        yield False
        return
    with locked_if_free(root) as mine:
        yield mine


def _up_to_date(root: Path, base: Index, seen: Look, task: Task, *, save: bool) -> Index:
    try:
        return _with_changes(root, base, seen, task, save=save)
    except _Unreadable:
        return _with_changes(root, Index(), look(root, {}), task, save=save)


def _with_changes(root: Path, base: Index, seen: Look, task: Task, *, save: bool) -> Index:
    changed = _changes(root, base, seen)
    fresh = [piece.table() for _, piece in read_documents(root, changed.fresh, task.written, task.progress)]
    folders = _with_unread(seen.folders, changed.fresh, fresh)
    parts, loose = _taken_apart(root, base, changed.gone)
    tables = [table for table in (*loose, *fresh) if table.num_rows]
    if save:
        try:
            return Index(_saved(root, Manifest(parts, folders), tables))
        except OSError:
            pass
    return Index(Manifest(parts, folders), _together(tables) if tables else None)


class _Changes(msgspec.Struct, frozen=True):
    """Documents whose rows are missing, and ids whose rows are no longer true."""

    fresh: tuple[Entry, ...]
    gone: frozenset[str]


class _Unreadable(Exception):
    """A part cannot be read."""


def _changes(root: Path, base: Index, seen: Look) -> _Changes:
    """Compare the documents of the folders that differ with the rows that are there."""
    present = {entry.id: entry for entries in seen.documents.values() for entry in entries}
    rows = _rows(root, base, seen.documents) if base.manifest.parts or base.memory is not None else set()
    true = {row for row in rows if row.id in present and present[row.id] == row}
    return _Changes(
        tuple(entry for entry in present.values() if entry not in true),
        frozenset(row.id for row in rows - true),
    )


def _rows(root: Path, base: Index, prefixes: Collection[str]) -> set[Entry]:
    """What the index says about the documents of some folders."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["id", "size", "changed_ns"]
    tables = [_read(path, names) for path in base.paths(root)]
    if base.memory is not None:
        tables.append(base.memory.select(names))
    found: set[Entry] = set()
    for table in tables:
        inside = pc.is_in(pc.utf8_slice_codeunits(table["id"], 0, 2), pa.array(list(prefixes), pa.string()))
        columns = table.filter(inside).to_pydict()
        found.update(map(Entry, *(columns[name] for name in names)))
    return found


def _read(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A part; _Unreadable where it is broken or of another form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise _Unreadable from error
    if columns is None and not table.schema.equals(own_schema()):
        raise _Unreadable
    return table


def _with_unread(folders: Mapping[str, Folder], asked: Sequence[Entry], got: Sequence[pa.Table]) -> dict[str, Folder]:
    """The folders, marked where a document could not be read."""
    missing = {entry.id for entry in asked}
    for table in got:
        missing.difference_update(table.column("id").to_pylist())
    prefixes = {id[:2] for id in missing}
    return {
        prefix: msgspec.structs.replace(folder, unread=True) if prefix in prefixes else folder
        for prefix, folder in folders.items()
    }


def _taken_apart(root: Path, base: Index, gone: frozenset[str]) -> tuple[tuple[Part, ...], list[pa.Table]]:
    """Parts that stay as they are, and the true rows of all others."""
    loose = [] if base.memory is None else [_without(base.memory, gone)]
    kept: list[Part] = []
    for part in base.manifest.parts:
        if gone and not gone.isdisjoint(_read(part_path(root, part), ["id"]).column("id").to_pylist()):
            loose.append(_without(_read(part_path(root, part)), gone))
        else:
            kept.append(part)
    return tuple(kept), loose


def _without(table: pa.Table, gone: frozenset[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not gone:
        return table
    return table.filter(pc.invert(pc.is_in(table["id"], pa.array(sorted(gone), pa.string()))))


def _saved(root: Path, manifest: Manifest, tables: list[pa.Table]) -> Manifest:
    """Write the tables as one part, together with the smaller parts that it has caught up with."""
    parts = sorted(manifest.parts, key=lambda part: part.rows)
    rows = sum(table.num_rows for table in tables)
    while rows and parts and parts[0].rows <= FOLD * rows:
        tables.append(_read(part_path(root, parts[0])))
        rows += parts.pop(0).rows
    if rows:
        parts.append(write_part(root, own_parquet_of(_together(tables)), rows))
    found = msgspec.structs.replace(manifest, parts=tuple(parts))
    write_manifest(root, found)
    return found


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
