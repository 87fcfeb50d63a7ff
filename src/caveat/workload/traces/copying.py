"""Who continues whom in a replay: each request that reuses something gets an earlier one to take it from.

A profile says how much a request reuses and how old the source is. Among the requests so far, shelves by size find
one of fitting size and about that age. A source that is continued is taken off its shelf, so chains of turns stay
chains; what was missing at the start of a plan, when there is little to continue, is made up for later.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from caveat.workload.plan import NO_REQUEST, Int64

_NEARBY = 12
_BUCKETS = 6
_SIZE_WEIGHT = 0.5
_CONTINUED = 0.75
"""A request that takes at least this share of its source's blocks continues it; one that takes less branches off."""

_time = attrgetter("at_ns")


@dataclass(slots=True)
class Entry:
    """A request that can be continued: its size is what a shelf sorts by."""

    at_ns: int
    size: int
    number: int
    session: int
    turn: int
    blocks: Int64
    open: bool = True


class Shelf:
    """Entries by size (half octaves), each size in order of time. Entries past the horizon are forgotten."""

    def __init__(self, horizon_ns: int) -> None:
        self._horizon_ns = horizon_ns
        self._buckets: dict[int, list[Entry]] = {}
        self._limits: dict[int, int] = {}

    def put(self, entry: Entry) -> None:
        """Add an entry; times never go back."""
        place = _bucket(entry.size)
        held = self._buckets.setdefault(place, [])
        if len(held) >= self._limits.get(place, 64):
            oldest_ns = entry.at_ns - self._horizon_ns
            held[:] = [one for one in held if one.open and one.at_ns >= oldest_ns]
            self._limits[place] = max(64, 2 * len(held))
        held.append(entry)

    def near(self, size: int, at_ns: int, *, at_least: bool) -> Entry | None:
        """An open entry of at least (or at most) this size, near in time and in size; None if none is."""
        place = _bucket(size)
        step = 1 if at_least else -1
        buckets = sorted((one for one in self._buckets if (one - place) * step >= 0), key=lambda one: abs(one - place))
        best, best_off = None, math.inf
        for bucket in buckets[:_BUCKETS]:
            for entry in _around(self._buckets[bucket], at_ns):
                if entry.open and (entry.size >= size if at_least else entry.size <= size):
                    off = abs(entry.at_ns - at_ns) * (1 + _SIZE_WEIGHT * abs(bucket - place))
                    if off < best_off:
                        best, best_off = entry, off
                    break
        return best


def _bucket(size: int) -> int:
    """Half octaves: one more for each factor of about 1.5."""
    bits = size.bit_length()
    return 2 * bits + (size >> (bits - 2) & 1 if bits > 1 else 0)


def _around(held: list[Entry], at_ns: int) -> Iterator[Entry]:
    """Entries from the nearest in time outward, a few on each side."""
    after = bisect_left(held, at_ns, key=_time)
    before = after - 1
    for _ in range(2 * _NEARBY):
        if before < 0 and after >= len(held):
            return
        earlier = after >= len(held) or (before >= 0 and at_ns - held[before].at_ns <= held[after].at_ns - at_ns)
        yield held[before] if earlier else held[after]
        before, after = (before - 1, after) if earlier else (before, after + 1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is drawn for one request, before it is known whom it continues. Blocks are counted beyond the trunk."""

    at_ns: int
    input_tokens: int
    output_tokens: int
    trunk: int
    own_blocks: int
    reused: int
    turn: int
    reuse_age_ns: int
    turn_age_ns: int


class Copying:
    """Gives requests their sources, sessions and blocks, one after another."""

    def __init__(self, *, sessions: bool, blocks: bool, first_id: int, horizon_ns: int) -> None:
        self._sessions = sessions
        self._with_blocks = blocks
        self._next_id = first_id
        self._horizon_ns = horizon_ns
        self._number = self._next_session = self._missing = 0
        self._by_blocks: dict[int, Shelf] = {}
        self._by_turn: dict[tuple[int, int], Shelf] = {}

    def place(self, wanted: Wanted) -> Entry:
        """The request as it is made: `number` is its own, `blocks` are those beyond its trunk, `size` is the number
        of the request that it waits for, or NO_REQUEST."""
        before = self._turn_before(wanted) if self._sessions and wanted.turn > 0 else None
        blocks = self._blocks(wanted, before)
        made = Entry(
            at_ns=wanted.at_ns,
            size=before.number if before is not None else NO_REQUEST,
            number=self._number,
            session=before.session if before is not None else self._next_session,
            turn=before.turn + 1 if before is not None else 0,
            blocks=blocks,
        )
        self._next_session += before is None
        self._number += 1
        self._remember(wanted, made)
        return made

    def _turn_before(self, wanted: Wanted) -> Entry | None:
        """An open conversation of fitting length whose last turn came about the right time ago."""
        at_ns = wanted.at_ns - wanted.turn_age_ns
        turns = sorted(
            (turn for trunk, turn in self._by_turn if trunk == wanted.trunk),
            key=lambda turn: (abs(turn - wanted.turn + 1), turn),
        )
        for turn in turns[:4]:
            shelf = self._by_turn[wanted.trunk, turn]
            found = shelf.near(wanted.input_tokens, at_ns, at_least=False)
            found = found or shelf.near(0, at_ns, at_least=True)
            if found is not None:
                found.open = False
                return found
        return None

    def _blocks(self, wanted: Wanted, before: Entry | None) -> Int64:
        if not self._with_blocks or wanted.own_blocks == 0:
            return np.empty(0, np.int64)
        source = before.blocks if before is not None else self._source(wanted)
        reused = min(wanted.reused, len(source))
        if wanted.reused and self._missing:
            reused = min(reused + self._missing, len(source), wanted.own_blocks)
        self._missing += wanted.reused - reused
        fresh = wanted.own_blocks - reused
        new = np.arange(self._next_id, self._next_id + fresh, dtype=np.int64)
        self._next_id += fresh
        return np.concatenate([source[:reused], new])

    def _source(self, wanted: Wanted) -> Int64:
        shelf = self._by_blocks.get(wanted.trunk)
        if not wanted.reused or shelf is None:
            return np.empty(0, np.int64)
        at_ns = wanted.at_ns - wanted.reuse_age_ns
        found = shelf.near(wanted.reused, at_ns, at_least=True)
        found = found or shelf.near(wanted.reused, at_ns, at_least=False)
        if found is None:
            return np.empty(0, np.int64)
        found.open = wanted.reused < _CONTINUED * found.size
        return found.blocks

    def _remember(self, wanted: Wanted, made: Entry) -> None:
        if self._with_blocks and len(made.blocks):
            shelf = self._by_blocks.setdefault(wanted.trunk, Shelf(self._horizon_ns))
            shelf.put(Entry(made.at_ns, len(made.blocks), made.number, made.session, made.turn, made.blocks))
        if self._sessions:
            said = wanted.input_tokens + wanted.output_tokens
            shelf = self._by_turn.setdefault((wanted.trunk, made.turn), Shelf(self._horizon_ns))
            shelf.put(Entry(made.at_ns, said, made.number, made.session, made.turn, made.blocks))
