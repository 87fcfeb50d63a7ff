"""Random streams: one seed, one child stream for each aspect of a workload, and uniform numbers from it.

Built on PCG64's raw output and SeedSequence, the two things whose values NumPy promises never to change; NumPy's own
distributions carry no such promise. Children are named by place, so that changing one aspect leaves the rest alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caveat.workload.bounds import refuse
from caveat.workload.exact import Float64

CHUNK = 1 << 13
"""Values drawn at a time: a dozen arrays of 64 kB stay within a core's level-2 cache."""

_FIRST_CHUNK = 64

ARRIVALS, LENGTHS, SESSIONS, PREFIXES = range(4)
"""Places of the aspects under the seed. New ones go at the end: a place fixes every plan ever made from it."""


class Stream:
    """One endless sequence of uniform numbers; what is asked for at once does not change what comes."""

    def __init__(self, seed: int, place: tuple[int, ...] = ()) -> None:
        if not 0 <= seed < 1 << 64:
            raise refuse("seed", seed, "a whole number from 0 to 2^64 - 1")
        self._seed = seed
        self._place = place
        self._bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=place))

    def child(self, number: int) -> Stream:
        """The stream number `number` below this one, from its start."""
        return Stream(self._seed, (*self._place, number))

    def uniforms(self, count: int) -> Float64:
        """The next `count` numbers, each (k + 1/2) / 2^53: between 0 and 1 and never either."""
        raw = self._bits.random_raw(count)
        raw >>= np.uint64(11)
        uniform = raw.astype(np.float64)
        uniform += 0.5
        uniform *= 2.0**-53
        return np.minimum(uniform, 1.0 - 2.0**-53, out=uniform)

    def table(self, rows: int, columns: int) -> Float64:
        """The next rows x columns numbers, row by row; the array is (columns, rows) for speed."""
        return np.ascontiguousarray(self.uniforms(rows * columns).reshape(rows, columns).T)


def chunk_sizes() -> Iterator[int]:
    """How many values to draw at a time: 64, 128, ... up to CHUNK without end.

    Few at first, since most processes of a superposition need few.
    """
    size = _FIRST_CHUNK
    while True:
        yield size
        size = min(2 * size, CHUNK)
