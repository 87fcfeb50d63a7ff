"""Adding runs: which of them say something new, and which document each of those replaces. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from caveat.errors import DocumentError
from caveat.figures import Run, merge, merge_all, same_facts
from caveat.ledger.view import Known


class Added(msgspec.Struct, frozen=True):
    """What became of the runs, as ids.

    `added` are all new documents; `replaced` maps the id of an old head to the new document that replaces it;
    `known` are the heads that already say what was handed in; `refused` maps a subject to the reason why its run
    cannot be joined with the head that is there (a measured run under the name of an imported one).
    """

    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    replaced: dict[str, str] = {}
    refused: dict[str, str] = {}


def one_each(runs: Iterable[Run]) -> tuple[Run, ...]:
    """One run of each subject, merged from all that were handed in, in order of first appearance."""
    by_subject: dict[str, dict[str, Run]] = {}
    for run in runs:
        by_subject.setdefault(run.subject, {})[run.id] = run
    return tuple(merge_all(same.values()) for same in by_subject.values())


def plan(runs: Sequence[Run], known: Mapping[str, Known], heads: Mapping[str, Run]) -> tuple[tuple[Run, ...], Added]:
    """The documents to write for runs of different subjects, and what will have become of all of them.

    `known` is by subject, `heads` by id. One run that cannot be merged with its head does not stop the others.
    """
    documents: list[Run] = []
    already: list[str] = []
    replaced: dict[str, str] = {}
    refused: dict[str, str] = {}
    for run in runs:
        subject = known.get(run.subject, Known(None, frozenset()))
        head = heads.get(subject.head) if subject.head else None
        try:
            new = _news(run, head, subject.ids)
        except DocumentError as error:
            refused[run.subject] = error.message
            continue
        if new is None:
            already.append(head.id if head else run.id)
            continue
        documents.append(new)
        if head:
            replaced[head.id] = new.id
    return tuple(documents), Added(tuple(run.id for run in documents), tuple(already), replaced, refused)


def _news(run: Run, head: Run | None, ids: frozenset[str]) -> Run | None:
    """The document that adds the run's facts to its head; None where they are there already."""
    if run.id in ids:
        return None
    if head is None:
        return msgspec.structs.replace(run, replaces=None)
    merged = merge(head, run)
    if merged.id in ids or same_facts(merged, head):
        return None
    return msgspec.structs.replace(merged, replaces=head.id)
