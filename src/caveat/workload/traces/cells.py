"""Cells: how the quantities of a request go together, as boxes of bins that each hold enough requests.

A space of several axes is halved again and again along the axis on which a box is widest, until a half would hold
too few. What a box holds is spread over its bins by weights for which each quantity by itself keeps its counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.workload.exact import Float64
from caveat.workload.plan import Int64
from caveat.workload.traces.axis import Axis

_FITTING_ROUNDS = 40

Box = tuple[int, ...]
"""First and last bin on each axis in turn, and the number of requests."""


def boxes_of(bins: Sequence[Int64], axes: Sequence[Axis], min_count: int, fewest: int) -> list[Box]:
    """Boxes of requests given by their bins on each axis; none below `min_count`, few below `fewest`.

    There are at least `min_count` requests. Order is that of the halvings, the same for the same requests.
    """
    places = np.stack(bins)
    middles = [_middles(axis) for axis in axes]
    waiting = [np.arange(places.shape[1])]
    found = []
    while waiting:
        members = waiting.pop()
        halves = _halved(places[:, members], middles, min_count) if len(members) >= 2 * fewest else None
        if halves is None:
            found.append(_box(places[:, members]))
        else:
            waiting += [members[~halves], members[halves]]
    return found


def _middles(axis: Axis) -> Int64:
    """The rank of the middle of each bin: the measure of width."""
    counts = np.array([one[2] for one in axis.bins], np.int64)
    return np.cumsum(counts) - counts // 2


def _halved(places: Int64, middles: Sequence[Int64], min_count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Which requests are above the cut nearest the middle of the widest axis that can be cut; None if none can."""
    widths = [
        float(middle[int(row.max())] - middle[int(row.min())]) / float(middle[-1] + 1)
        for row, middle in zip(places, middles, strict=True)
    ]
    for axis in sorted(range(len(widths)), key=lambda one: -widths[one]):
        cut = _cut(places[axis], min_count) if widths[axis] > 0 else None
        if cut is not None:
            return np.asarray(places[axis] >= cut, np.bool_)
    return None


def _cut(row: Int64, min_count: int) -> int | None:
    """The bin at which the upper half begins, so that both halves hold enough and are as equal as can be."""
    counts = np.bincount(row)
    below = np.cumsum(counts)[:-1]
    smaller = np.minimum(below, len(row) - below)
    best = int(np.argmax(smaller)) if len(smaller) else 0
    return best + 1 if len(smaller) and smaller[best] >= min_count else None


def _box(places: Int64) -> Box:
    ends = [int(end) for row in places for end in (row.min(), row.max())]
    return (*ends, places.shape[1])


def weights_of(axis: Axis, first: Int64, last: Int64, counts: Int64) -> Float64:
    """Running sums of weights of an axis' bins, by which boxes spread over them give the bins' own counts.

    Iterative proportional fitting (Deming and Stephan, 1940). Sums are taken in order, so every machine agrees.
    """
    wanted = np.diff(axis.sums, prepend=0.0)
    weights = wanted.copy()
    for _ in range(_FITTING_ROUNDS):
        sums = np.append(0.0, np.cumsum(weights))
        density = counts / np.maximum(sums[last + 1] - sums[first], 1e-300)
        changes = np.zeros(len(weights) + 1)
        np.add.at(changes, first, density)
        np.subtract.at(changes, last + 1, density)
        given = weights * np.cumsum(changes[:-1])
        weights *= np.divide(wanted, given, out=np.ones_like(given), where=given > 0)
    return np.cumsum(weights)
