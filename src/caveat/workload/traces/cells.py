"""Cells: how the quantities of a request go together, as boxes of bins that each hold enough requests.

A space of several axes is halved again and again along the axis on which a box is widest, until a half would hold
too few. What a box holds is spread over its bins by weights for which each quantity by itself keeps its counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from caveat.workload.exact import Float64
from caveat.workload.plan import Int64
from caveat.workload.traces.axis import Axis

_FITTING_ROUNDS = 40
_FIRST_CUTS = (0.5, 0.9, 0.99)

Flags = npt.NDArray[np.bool_]
Box = tuple[int, ...]
"""First and last bin on each axis in turn, and the number of requests."""


def by_rank(axis: Axis) -> Float64:
    """The place of each bin by the requests below its middle: for boxes that are filled by the axes' own counts."""
    return np.asarray(axis.sums - 0.5 * np.diff(axis.sums, prepend=0.0), np.float64)


def by_logarithm(axis: Axis) -> Float64:
    """The place of each bin by the logarithm of its end: for boxes that are filled evenly."""
    return np.log1p(axis.ends[1].astype(np.float64))


def boxes_of(
    bins: Sequence[Int64],
    axes: Sequence[Axis],
    min_count: int,
    fewest: int,
    places_on: Callable[[Axis], Float64] = by_rank,
) -> list[Box]:
    """Boxes of requests given by their bins on each axis; none below `min_count`, few below `fewest`.

    How wide a box is on an axis is measured by `places_on`.

    There are at least `min_count` requests. Cuts at the median, the 90th and the 99th percentile of each axis come
    first, so that these are replayed well. Order is that of the cuts, the same for the same requests.
    """
    places = np.stack(bins)
    middles = [places_on(axis) for axis in axes]
    first_cuts = [(axis, cut) for axis, one in enumerate(axes) for cut in _percentile_cuts(one)]
    waiting = [np.arange(places.shape[1])]
    found = []
    while waiting:
        members = waiting.pop()
        mine = places[:, members]
        above = _cut_at(mine, first_cuts, min_count)
        if above is None and len(members) >= 2 * fewest:
            above = _halved(mine, middles, min_count)
        if above is None:
            found.append(_box(mine))
        else:
            waiting += [members[~above], members[above]]
    return found


def _percentile_cuts(axis: Axis) -> list[int]:
    """The bins nearest to the percentiles, from which the upper part begins."""
    below = np.append(0.0, axis.sums[:-1])
    return [int(np.argmin(np.abs(below - share * axis.sums[-1]))) for share in _FIRST_CUTS]


def _cut_at(places: Int64, cuts: Sequence[tuple[int, int]], min_count: int) -> Flags | None:
    """Which requests are above the first of the cuts that leaves enough on both sides; None if none does."""
    for axis, cut in cuts:
        above = np.asarray(places[axis] >= cut, np.bool_)
        if min_count <= np.count_nonzero(above) <= len(above) - min_count:
            return above
    return None


def _halved(places: Int64, middles: Sequence[Float64], min_count: int) -> Flags | None:
    """Which requests are above the cut nearest the middle of the widest axis that can be cut; None if none can."""
    widths = [
        float(middle[int(row.max())] - middle[int(row.min())]) / float(middle[-1] - middle[0] + 1e-9)
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
