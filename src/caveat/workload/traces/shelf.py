"""Shelves of requests that can still be continued, from which one is taken by its size and its time."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from caveat.workload.plan import Int64

_NEARBY = 8
"""Entries looked at on each side of the wanted time, in each bucket."""
_BUCKET_STEPS = (0, 1, -1, 2, 3, 4, 6, 8)
_SIZE_WEIGHT = 2.0
"""How much a size that is off counts against an age that is off."""
_GOOD = 1.1 + 1.1 * _SIZE_WEIGHT
"""Ten per cent off in both: near enough to look no further."""
_SLACK_NS = 1_000_000_000
_FEWEST_HELD = 64


@dataclass(slots=True)
class Entry:
    """The blocks of one prompt beyond its trunk; later ones already have the first `taken` of them."""

    at_ns: int
    blocks: Int64
    taken: int = 0


class Shelf:
    """Entries by number of blocks (half octaves), each in order of time; those past the horizon are forgotten."""

    def __init__(self, horizon_ns: int) -> None:
        self._horizon_ns = horizon_ns
        self._buckets: dict[int, tuple[list[int], list[Entry]]] = {}
        self._limits: dict[int, int] = {}

    def put(self, entry: Entry) -> None:
        """Add an entry; times never go back."""
        place = _bucket(len(entry.blocks))
        times, held = self._buckets.setdefault(place, ([], []))
        if len(held) >= self._limits.get(place, _FEWEST_HELD):
            oldest_ns = entry.at_ns - self._horizon_ns
            held[:] = [one for one in held if one.taken < len(one.blocks) and one.at_ns >= oldest_ns]
            times[:] = [one.at_ns for one in held]
            self._limits[place] = max(_FEWEST_HELD, 2 * len(held))
        times.append(entry.at_ns)
        held.append(entry)

    def near(self, fewest: int, size: int, age_ns: int, now_ns: int) -> Entry | None:
        """The entry nearest to a size and an age that has `fewest` blocks, of which not so many are taken.

        If there is none, the largest near that age of which something is left; None if there is none of these either.
        """
        place = _bucket(size)
        wanted_ns = age_ns + _SLACK_NS
        best, best_off = None, math.inf
        for step in _BUCKET_STEPS:
            if best_off < _GOOD:
                break
            # Plain loops: this is run for every request that reuses anything.
            for entry in self._around(place + step, now_ns - age_ns):
                length = len(entry.blocks)
                if entry.taken < fewest <= length:
                    found_ns = now_ns - entry.at_ns + _SLACK_NS
                    off = found_ns / wanted_ns if found_ns > wanted_ns else wanted_ns / found_ns
                    off += _SIZE_WEIGHT * (length / size if length > size else size / length)
                    if off < best_off:
                        best, best_off = entry, off
        return best or self._largest(now_ns - age_ns)

    def _largest(self, at_ns: int) -> Entry | None:
        for place in sorted(self._buckets, reverse=True):
            for entry in self._around(place, at_ns):
                if entry.taken < len(entry.blocks):
                    return entry
        return None

    def _around(self, place: int, at_ns: int) -> list[Entry]:
        if place not in self._buckets:
            return []
        times, held = self._buckets[place]
        middle = bisect_left(times, at_ns)
        return held[max(0, middle - _NEARBY) : middle + _NEARBY]


def _bucket(size: int) -> int:
    """Half octaves: one more for each factor of about 1.5."""
    bits = size.bit_length()
    return 2 * bits + (size >> (bits - 2) & 1 if bits > 1 else 0)
