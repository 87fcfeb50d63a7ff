"""Who continues whom in a replay: each request that reuses something gets an earlier one to take it from.

A profile says how much a request reuses and how old the source is. Among the requests so far, shelves by size find
one of fitting size and about that age. A source that is continued is taken off its shelf, so chains of turns stay
chains; what was missing at the start of a plan, when there is little to continue, is made up for later.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from caveat.workload.plan import NO_REQUEST, Int64

_NEARBY = 8
"""Entries looked at on each side of the wanted time, in each bucket."""
_BUCKET_STEPS = (0, 1, -1, 2, 3, 4, 6, 8)
_SIZE_WEIGHT = 2.0
_GOOD = 1.1 + _SIZE_WEIGHT * 1.1
"""Ten per cent off in both: near enough to look no further."""
_AGE_SLACK_NS = 1_000_000_000
_FEWEST_HELD = 64


@dataclass(slots=True)
class Entry:
    """A request that can be continued: its size is what a shelf sorts by, `taken` what later ones have of it."""

    at_ns: int
    size: int
    number: int
    session: int
    turn: int
    blocks: Int64
    taken: int = 0


class Shelf:
    """Entries by size (half octaves), each size in order of time. Entries past the horizon are forgotten."""

    def __init__(self, horizon_ns: int) -> None:
        self._horizon_ns = horizon_ns
        self._buckets: dict[int, tuple[list[int], list[Entry]]] = {}
        self._limits: dict[int, int] = {}

    def put(self, entry: Entry) -> None:
        """Add an entry; times never go back."""
        place = _bucket(entry.size)
        times, held = self._buckets.setdefault(place, ([], []))
        if len(held) >= self._limits.get(place, _FEWEST_HELD):
            oldest_ns = entry.at_ns - self._horizon_ns
            held[:] = [one for one in held if one.taken < one.size and one.at_ns >= oldest_ns]
            times[:] = [one.at_ns for one in held]
            self._limits[place] = max(_FEWEST_HELD, 2 * len(held))
        times.append(entry.at_ns)
        held.append(entry)

    def near(self, fewest: int, size: int, at_ns: int, now_ns: int) -> Entry | None:
        """The entry nearest to a size and a time that has `fewest` and of which not so much is taken; None if none is.

        If none has so many, the largest near that time of which something is left.
        """
        place = _bucket(size)
        wanted_ns = now_ns - at_ns + _AGE_SLACK_NS
        best, best_off = None, math.inf
        for step in _BUCKET_STEPS:
            if best_off < _GOOD:
                break
            if place + step not in self._buckets:
                continue
            times, held = self._buckets[place + step]
            middle = bisect_left(times, at_ns)
            # Plain loops: this is run for every request that reuses anything.
            for entry in held[max(0, middle - _NEARBY) : middle + _NEARBY]:
                if entry.taken < fewest <= entry.size:
                    age_ns = now_ns - entry.at_ns + _AGE_SLACK_NS
                    off = age_ns / wanted_ns if age_ns > wanted_ns else wanted_ns / age_ns
                    off += _SIZE_WEIGHT * (entry.size / size if entry.size > size else size / entry.size)
                    if off < best_off:
                        best, best_off = entry, off
        return best or self._largest(at_ns)

    def _largest(self, at_ns: int) -> Entry | None:
        for bucket in sorted(self._buckets, reverse=True):
            times, held = self._buckets[bucket]
            middle = bisect_left(times, at_ns)
            for entry in held[max(0, middle - _NEARBY) : middle + _NEARBY]:
                if entry.taken < entry.size:
                    return entry
        return None


def _bucket(size: int) -> int:
    """Half octaves: one more for each factor of about 1.5."""
    bits = size.bit_length()
    return 2 * bits + (size >> (bits - 2) & 1 if bits > 1 else 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is drawn for one request, before it is known whom it continues. Blocks are counted beyond the trunk."""

    at_ns: int
    input_tokens: int
    output_tokens: int
    trunk: int
    own_blocks: int
    reused: int
    source_blocks: int
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
            found = shelf.near(1, wanted.input_tokens, at_ns, wanted.at_ns)
            if found is not None:
                found.taken = found.size
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
        found = shelf.near(wanted.reused, wanted.source_blocks, at_ns, wanted.at_ns)
        if found is None:
            return np.empty(0, np.int64)
        found.taken = max(found.taken, min(wanted.reused, found.size))
        return found.blocks

    def _remember(self, wanted: Wanted, made: Entry) -> None:
        if self._with_blocks and len(made.blocks):
            shelf = self._by_blocks.setdefault(wanted.trunk, Shelf(self._horizon_ns))
            shelf.put(Entry(made.at_ns, len(made.blocks), made.number, made.session, made.turn, made.blocks))
        if self._sessions:
            said = wanted.input_tokens + wanted.output_tokens
            shelf = self._by_turn.setdefault((wanted.trunk, made.turn), Shelf(self._horizon_ns))
            shelf.put(Entry(made.at_ns, said, made.number, made.session, made.turn, made.blocks))
