"""Turns of many sessions in one order: by the earliest time at which each can come, so a plan is read as it happens.

Also the small arithmetic of tables whose rows belong to sessions that follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from caveat.workload.plan import Int64


@dataclass(frozen=True, slots=True)
class Turns:
    """Rows of sessions, one a turn, session by session; every column is int64 and equally long.

    `row` numbers the turns of a whole plan in this order (turns that are left out leave a gap). Shared blocks of the
    input are those of the system prompt at place `prompt`, and `own` further ones, whose ids begin at `first_own`.
    """

    at_ns: Int64
    row: Int64
    session: Int64
    turn: Int64
    think_ns: Int64
    input_tokens: Int64
    output_tokens: Int64
    prompt: Int64
    first_own: Int64
    own: Int64
    after: Int64

    def __len__(self) -> int:
        return len(self.row)

    def columns(self) -> tuple[Int64, ...]:
        """The columns in order, time first."""
        return tuple(getattr(self, column.name) for column in fields(self))

    def changed(self, **columns: Int64) -> Turns:
        """The same rows with some columns replaced."""
        return replace(self, **columns)

    def at(self, places: Int64 | slice) -> Turns:
        """Some of the rows."""
        return Turns(*(column[places] for column in self.columns()))

    def joined(self, other: Turns) -> Turns:
        """These rows and then the others."""
        return Turns(*map(np.concatenate, zip(self.columns(), other.columns(), strict=True)))


def no_turns() -> Turns:
    """An empty table."""
    return Turns(*(np.empty(0, np.int64) for _ in fields(Turns)))


def summed_within(values: Int64, counts: Int64) -> Int64:
    """Running sums that begin again in each group; groups of these sizes follow each other."""
    sums = np.cumsum(values)
    group_starts = np.cumsum(counts) - counts
    before: Int64 = np.repeat(sums[group_starts] - values[group_starts], counts)
    return np.subtract(sums, before)


def last_of_each(session: Int64) -> npt.NDArray[np.bool_]:
    """Whether each row is the last of its session."""
    return np.append(session[1:] != session[:-1], True)


def in_order(batches: Iterable[Turns]) -> Iterator[Turns]:
    """Turns in order of their time, numbered from 0, with `after` the number of the turn before in the session.

    Batches come in order of their sessions' starts. What lies before the next batch's first start can go; the rest
    waits. Memory: the turns of sessions that are under way.
    """
    waiting = no_turns()
    numbered = 0
    for batch in batches:
        start_ns = int(batch.at_ns[0])
        ready, waiting = _split(waiting, start_ns)
        if len(ready):
            waiting = _tell(ready, waiting, numbered)
            yield _numbered(ready, numbered)
            numbered += len(ready)
        waiting = waiting.joined(batch)
        waiting = waiting.at(np.lexsort((waiting.row, waiting.at_ns)))
    if len(waiting):
        yield _numbered(waiting, numbered)


def _split(waiting: Turns, start_ns: int) -> tuple[Turns, Turns]:
    count = int(np.searchsorted(waiting.at_ns, start_ns))
    return waiting.at(slice(None, count)), waiting.at(slice(count, None))


def _numbered(ready: Turns, first: int) -> Turns:
    return ready.changed(after=_numbers_before(ready, ready, first))


def _tell(ready: Turns, waiting: Turns, first: int) -> Turns:
    """Turns that still wait learn the number of the turn before them."""
    return waiting.changed(after=_numbers_before(ready, waiting, first))


def _numbers_before(ready: Turns, rows: Turns, first: int) -> Int64:
    """For each row, the number of the turn before it if that is among the ready; else what it has."""
    order = np.argsort(ready.row)
    sorted_rows = ready.row[order]
    place = np.minimum(np.searchsorted(sorted_rows, rows.row - 1), len(order) - 1)
    found = (rows.turn > 0) & (sorted_rows[place] == rows.row - 1)
    return np.where(found, first + order[place], rows.after)
