"""Verifying a ledger: every document hashed again, and the questions of descent that only all of them answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from caveat.errors import Problem
from caveat.figures import SHOWN
from caveat.ledger.reading import read_documents
from caveat.ledger.store import Entry, Listing, Progress
from caveat.ledger.view import View

if TYPE_CHECKING:
    import pyarrow as pa

FOUND_LENGTH = 200
_DIFFERENT = "the index and the document say different things"


def verify(root: Path, listing: Listing, view: View, progress: Progress | None = None) -> tuple[Problem, ...]:
    """Everything that is wrong with the ledger, by path. The view must be one of this listing.

    Codes: unreadable, changed (the content is not what the name promises), stranger (no document), index (it says
    something else than the documents), fork (a subject with several heads), dangling (a document replaces one that
    is not there), circle (a subject whose documents replace each other).
    """
    found = (*_documents(root, listing, view, progress), *_strangers(listing), *_descent(view))
    return tuple(sorted(found, key=lambda problem: (problem.path, problem.code, problem.message)))


def _documents(root: Path, listing: Listing, view: View, progress: Progress | None) -> Iterator[Problem]:
    """A piece of the documents at a time, so that it does not matter how many there are."""
    for entries, piece in read_documents(root, listing.documents, progress=progress):
        yield from piece.problems
        indexed = view.own_rows(entries[0].id, entries[-1].id)
        yield from (_of_index(_path(id), _DIFFERENT) for id in _differing(indexed, piece.table()))
    for id in view.own_ids() - {entry.id for entry in listing.documents}:
        yield _of_index(_path(id), "the index holds a document that is not there")


def _differing(indexed: pa.Table, read: pa.Table) -> Iterator[str]:
    """Ids of documents about which the index says something else, or nothing, or something where nothing is."""
    if indexed.cast(read.schema).equals(read):
        return
    ours, theirs = ({row["id"]: row for row in table.to_pylist()} for table in (read, indexed))
    yield from (id for id in ours.keys() | theirs.keys() if ours.get(id) != theirs.get(id))


def _of_index(path: str, message: str) -> Problem:
    return Problem(code="index", path=path, message=message, next="delete the folder .index: it is made again")


def _strangers(listing: Listing) -> Iterator[Problem]:
    for path, reason in listing.strangers:
        yield Problem(code="stranger", path=path[:FOUND_LENGTH], message=f"{reason}; it is not read")


def _descent(view: View) -> Iterator[Problem]:
    for subject, ids in view.forks():
        yield Problem(
            code="fork",
            path=_path(ids[0]),
            message=f"{len(ids)} documents of one subject, none replaces the other; the richest is shown",
            found=f"{subject[:FOUND_LENGTH]}: {', '.join(id[:SHOWN] for id in ids)}",
        )
    for id, replaced in view.dangling():
        message = "replaces a document that is not there, or one of another subject"
        yield Problem(code="dangling", path=_path(id), message=message, found=replaced[:FOUND_LENGTH])
    for subject, ids in view.headless():
        message = f"{len(ids)} documents replace each other in a circle; none is shown"
        yield Problem(code="circle", path=_path(ids[0]), message=message, found=subject[:FOUND_LENGTH])


def _path(id: str) -> str:
    return Entry(id, 0, 0).name
