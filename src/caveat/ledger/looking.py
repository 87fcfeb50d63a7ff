"""Looking at a ledger's folders again: which of them differ from what was seen before.

A folder's times say whether a file came, went or was put in another's place, for the price of one look instead of
hundreds. A file that was written over where it stands leaves them alone: so a small ledger has every file looked at,
and of a large one each document before it is shown (`store.read_bytes`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from caveat.ledger.store import RUNS, Entry, Listing, folders, list_folder

LOOKED_AT_EACH_TIME = 10_000
"""Documents in a ledger of which every file is looked at before each answer: 50 ms or less."""
SETTLED_AFTER_NS = 2_000_000_000
"""A folder that was changed a moment ago may be changed again within one tick of the file system's clock."""

Times = tuple[int, int]


class Folder(msgspec.Struct, frozen=True, array_like=True):
    """One folder of documents as it was seen.

    `times` are those of its last change (of content and of state, ns); `settled` whether they were old enough to
    be believed; `digest` is over the names, sizes and times of its `count` documents; `unread` says that one of them
    could not be read, so that it is looked at each time; `temporary` are files of writers, paths inside the ledger.
    """

    times: Times
    settled: bool
    count: int
    digest: str
    unread: bool = False
    temporary: tuple[str, ...] = ()


class Look(msgspec.Struct, frozen=True):
    """The folders as they are, and the documents of those whose documents differ (none for one that is gone)."""

    folders: dict[str, Folder]
    documents: dict[str, tuple[Entry, ...]]

    def differs(self, before: Mapping[str, Folder]) -> bool:
        """Whether there is anything to remember."""
        return bool(self.documents) or self.folders != before


def look(root: Path, before: Mapping[str, Folder], *, at: Collection[str] = ()) -> Look:
    """Look again at what was seen `before`; `at` names folders to be looked at whatever their times say.

    LedgerError where the ledger cannot be read.
    """
    every = sum(folder.count for folder in before.values()) <= LOOKED_AT_EACH_TIME
    now_ns = time.time_ns()
    seen: dict[str, Folder] = {}
    documents: dict[str, tuple[Entry, ...]] = dict.fromkeys(before, ())
    for prefix in folders(root)[0]:
        times = _times(root, prefix)
        known = before.get(prefix)
        if known and not (every or known.unread or prefix in at) and known.settled and known.times == times:
            seen[prefix] = known
            del documents[prefix]
            continue
        listing = list_folder(root, prefix)
        seen[prefix] = _folder(listing, times, settled=max(times) < now_ns - SETTLED_AFTER_NS, known=known)
        documents[prefix] = listing.documents
        if known and known.digest == seen[prefix].digest:
            del documents[prefix]
    return Look(seen, documents)


def _times(root: Path, prefix: str) -> Times:
    """Taken before the folder is listed: a change in between shows next time."""
    try:
        facts = (root / RUNS / prefix).lstat()
    except OSError:
        return 0, 0  # it went away: listing it says how
    return facts.st_mtime_ns, facts.st_ctime_ns


def _folder(listing: Listing, times: Times, *, settled: bool, known: Folder | None) -> Folder:
    digest = hashlib.sha256(msgspec.json.encode(listing.documents)).hexdigest()[:32]
    unread = known is not None and known.unread and known.digest == digest
    return Folder(times, settled, len(listing.documents), digest, unread, listing.temporary)
