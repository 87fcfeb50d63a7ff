"""Who continues whom in a replay: each request that reuses something gets an earlier one to take it from.

A profile says how much a request reuses, how old the source is and how much of it is taken. Among the requests so
far one of about that size and age is found. From a source from which blocks were taken only deeper reuse is left, for
it is no longer the last to have them; so ages come out as wanted. What cannot be reused at the start of a plan, when
there is little to continue, is made up for later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.shelf import Entry, Shelf
from caveat.workload.traces.talks import Talk, Talks

_WHOLE = 1000
_NOTHING: Int64 = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is drawn for one request, before it is known whom it continues.

    `reuse` and `taken` are thousandths, of its own blocks beyond the trunk and of its source's; `rounding` is a
    number between 0 and 1 by which parts of a block are rounded.
    """

    at_ns: int
    input_tokens: int
    output_tokens: int
    trunk: int
    reuse: int
    rounding: float
    taken: int
    turn: int
    reuse_age_ns: int
    turn_age_ns: int


@dataclass(frozen=True, slots=True)
class Made:
    """A request with its place in a conversation, the request that it waits for (or NO_REQUEST) and all its blocks."""

    after: int
    session: int
    turn: int
    blocks: Int64


class Copying:
    """Gives requests their sources, conversations and blocks, one after another."""

    def __init__(
        self, *, sessions: bool, block_tokens: int, trunk_blocks: Mapping[int, Int64], first_id: int, horizon_ns: int
    ) -> None:
        self._talks = Talks(horizon_ns) if sessions else None
        self._block_tokens = block_tokens
        self._trunk_blocks = trunk_blocks
        self._next_id = first_id
        self._horizon_ns = horizon_ns
        self._number = self._next_session = self._missing = 0
        self._shelves: dict[int, Shelf] = {}
        self._owed_ns: list[int] = []

    def place(self, wanted: Wanted) -> Made:
        """The request as it is made."""
        before = None
        if self._talks is not None and wanted.turn > 0:
            before = self._talks.continued(wanted.turn, wanted.turn_age_ns, wanted.at_ns, wanted.input_tokens)
        trunk = before.trunk if before is not None else wanted.trunk
        start = self._trunk_blocks[trunk]
        own = self._own_blocks(wanted, trunk, before)
        session, turn = (before.session, before.turn + 1) if before is not None else (self._next_session, 0)
        if self._talks is not None:
            said = wanted.input_tokens + wanted.output_tokens
            self._talks.put(Talk(wanted.at_ns, self._number, session, turn, trunk, said, own))
        self._next_session += before is None
        self._number += 1
        most = wanted.input_tokens // self._block_tokens if self._block_tokens else 0
        blocks = np.concatenate([start[:most], own]) if self._block_tokens else _NOTHING
        return Made(before.number if before is not None else NO_REQUEST, session, turn, blocks)

    def _own_blocks(self, wanted: Wanted, trunk: int, before: Talk | None) -> Int64:
        """Ids of the whole blocks beyond the trunk: known ones, then new ones."""
        if not self._block_tokens:
            return _NOTHING
        count = wanted.input_tokens // self._block_tokens - len(self._trunk_blocks[trunk])
        if count <= 0:
            return _NOTHING
        reused = min(int(count * min(wanted.reuse, _WHOLE) / _WHOLE + wanted.rounding), count)
        source = self._source(wanted, trunk, reused, before)
        known = min(reused, len(source))
        if reused and self._missing:
            known = min(known + self._missing, len(source), count)
        self._missing += reused - known
        new = np.arange(self._next_id, self._next_id + count - known, dtype=np.int64)
        self._next_id += count - known
        own = np.concatenate([source[:known], new])
        self._shelves.setdefault(trunk, Shelf(self._horizon_ns)).put(Entry(wanted.at_ns, own))
        return own

    def _source(self, wanted: Wanted, trunk: int, reused: int, before: Talk | None) -> Int64:
        if before is not None:
            return before.blocks
        shelf = self._shelves.get(trunk)
        if not reused or shelf is None:
            return _NOTHING
        size = max(reused, reused * _WHOLE // max(1, wanted.taken))
        found = shelf.near(reused, size, self._feasible(wanted.reuse_age_ns, wanted.at_ns), wanted.at_ns)
        if found is None:
            return _NOTHING
        found.taken = max(found.taken, min(reused, len(found.blocks)))
        return found.blocks

    def _feasible(self, age_ns: int, passed_ns: int) -> int:
        """An age that the plan has reached; ages from before its start are kept for later, in place of shorter ones."""
        if age_ns > passed_ns:
            heappush(self._owed_ns, age_ns)
            return age_ns % (passed_ns + 1)
        if self._owed_ns and age_ns < self._owed_ns[0] <= passed_ns:
            return heappop(self._owed_ns)
        return age_ns
