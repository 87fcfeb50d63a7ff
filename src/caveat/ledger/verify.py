"""Verifying a ledger: every document hashed again, and the questions of descent that only all of them answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from caveat.errors import DocumentError, Problem
from caveat.figures import SHOWN
from caveat.ledger.store import Entry, Listing, read_run
from caveat.ledger.view import View

FOUND_LENGTH = 200


def verify(root: Path, listing: Listing, view: View) -> tuple[Problem, ...]:
    """Everything that is wrong with the ledger, by path. The view must be one of this listing.

    Codes: unreadable, changed (the content is not what the name promises), stranger (no document), index (it says
    something else than the documents), fork (a subject with several heads), dangling (a document replaces one that
    is not there), circle (a subject whose documents replace each other).
    """
    found = (*_documents(root, listing, view.own_documents()), *_strangers(listing), *_descent(view))
    return tuple(sorted(found, key=lambda problem: (problem.path, problem.code, problem.message)))


def _documents(root: Path, listing: Listing, indexed: dict[str, bytes]) -> Iterator[Problem]:
    for entry in listing.documents:
        try:
            _, document = read_run(root, entry)
        except DocumentError as error:
            code = "changed" if error.code == "changed" else "unreadable"
            yield Problem(code=code, path=entry.name, message=error.message, next=error.next or None)
            document = None
        if indexed.pop(entry.id, None) != (document and msgspec.json.format(document, indent=-1)):
            yield _of_index(entry.name, "the index and the document say different things")
    for id in indexed:
        yield _of_index(_path(id), "the index holds a document that is not there")


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
