"""Random numbers that fill their range evenly, so that what is drawn with them varies little from seed to seed."""

from __future__ import annotations

import numpy as np

from caveat.workload.exact import Float64, settled
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream

_MOST_STRATA = 1 << 16
_PLACE, _ORDER = range(2)


class EvenPlaces:
    """Places within boxes: visits to one box fill it evenly on all axes together, from a random start.

    A Kronecker sequence with the powers of the generalised golden ratio (Roberts, 2018).
    """

    def __init__(self, boxes: int, axes: int, stream: Stream) -> None:
        root = 1.0
        for _ in range(60):
            root = float((1.0 + root) ** (1.0 / (axes + 1)))
        ratio = settled(root)
        self._steps = np.array([settled(ratio ** -(axis + 1)) for axis in range(axes)])
        self._start = stream.table(boxes, axes)
        self._visits = np.zeros(boxes, np.int64)

    def take(self, boxes: Int64) -> Float64:
        """A place on each axis (rows) for each visit."""
        order = np.argsort(boxes, kind="stable")
        counts = np.bincount(boxes, minlength=len(self._visits))
        earlier = np.empty(len(boxes), np.int64)
        earlier[order] = np.arange(len(boxes)) - np.repeat(np.cumsum(counts) - counts, counts)
        visit = (self._visits[boxes] + earlier).astype(np.float64)
        self._visits += counts
        return (self._start[:, boxes] + self._steps[:, None] * visit) % 1.0


class Strata:
    """Uniform numbers that fill the unit interval evenly: of each n one falls into each n-th, in random order.

    With n the number of requests of a profile (or a part of it, if they are many) each box comes up as often as it
    was counted, and percentiles vary far less from seed to seed than with independent numbers.
    """

    def __init__(self, requests: int, stream: Stream) -> None:
        self._strata = -(-requests // -(-requests // _MOST_STRATA))
        self._place, self._order = stream.child(_PLACE), stream.child(_ORDER)
        self._held = np.empty(0)

    def take(self, count: int) -> Float64:
        """The next numbers."""
        parts, have = [self._held], len(self._held)
        while have < count:
            order = np.argsort(self._order.uniforms(self._strata), kind="stable")
            parts.append((order + self._place.uniforms(self._strata)) / self._strata)
            have += self._strata
        joined = np.concatenate(parts)
        self._held = joined[count:]
        return np.minimum(joined[:count], 1.0 - 2.0**-53)
