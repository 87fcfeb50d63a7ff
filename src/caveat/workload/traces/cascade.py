"""Arrivals of a profile: a curve of counts at a bounded number of cells, and below it one number for each scale.

Each cell's requests are split between its halves, and these between theirs, down to a tick. How unequal the halves
are at each scale was measured over the whole trace: `clumping` is the correlation between two requests' sides, 0 for
Poisson arrivals (each request falls to either side by itself), up to 1 where all fall to one side, below 0 where they
spread more evenly than chance. Splits are beta-binomial, a conservative random cascade, so the counts of the cells
hold exactly and the index of dispersion comes out at every scale between tick and cell, also at another rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import between, refuse
from caveat.workload.exact import Float64, normal_quantile
from caveat.workload.gaps import gamma_variables
from caveat.workload.loadgen_schedule import MAX_SPAN_NS
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream

TICK_NS = NS_PER_S // 512
"""About 2 ms; below it requests are spread evenly. A coarser clock of the trace takes its place."""

MOST_CELLS = 1536
_WELL_FILLED = 0.9
_MOST_LEVELS = 40
_FEWEST_PAIRS = 30
_REQUESTS_AT_ONCE = 1 << 15
_SCALED, _WINDOWS, _WITHIN, _LEVELS = range(4)
_GAMMA, _SIDES, _FREE, _ODD = range(4)
_ALL_OR_NOTHING = 0.005
"""Below this shape a beta variable is 0 or 1 but for a few in a hundred, and gamma variables vanish."""

Cell = tuple[int, int, int]
"""First window, number of windows, requests."""


class ArrivalProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When requests come. A window is tick_ns x 2^levels; silence between cells is silence.

    `clumping` goes from the halves of a window to those of two ticks. `grid` says that the tick is the recorder's
    clock: no times within it are known.
    """

    span_ns: int
    tick_ns: int
    grid: bool
    clumping: tuple[float, ...]
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        between("profile: span_ns", self.span_ns, 1, MAX_SPAN_NS)
        between("profile: tick_ns", self.tick_ns, 1, MAX_SPAN_NS)
        if len(self.clumping) > _MOST_LEVELS or not all(-1.0 <= one <= 1.0 for one in self.clumping):
            raise refuse("profile: clumping", f"{len(self.clumping)} levels", f"up to {_MOST_LEVELS}, from -1 to 1")
        end = 0
        for first, windows, count in self.cells:
            if first < end or windows < 1 or not 0 < count < 1 << 31:
                raise refuse("profile: cells", [first, windows, count], "[first window, windows, requests] in order")
            end = first + windows
        if not self.cells or end * self.window_ns > MAX_SPAN_NS:
            raise refuse("profile: cells", f"{len(self.cells):,} up to window {end:,}", "some, within three years")

    @property
    def window_ns(self) -> int:
        """Length of a window."""
        return self.tick_ns << len(self.clumping)


def arrivals_of(t_ns: Int64, span_ns: int, grid_ns: int, min_count: int) -> ArrivalProfile:
    """The arrivals of a trace: times in order from 0, on the grid if there is one; at least `min_count` of them."""
    tick_ns = grid_ns or TICK_NS
    ticks = t_ns // tick_ns
    levels = _levels(ticks, max(1, -(-span_ns // tick_ns)), min_count)
    return ArrivalProfile(
        span_ns=span_ns,
        tick_ns=tick_ns,
        grid=grid_ns > 0,
        clumping=tuple(_clumping(ticks >> (levels - level - 1)) for level in range(levels)),
        cells=tuple(_cells(ticks >> levels, min_count)),
    )


def _levels(ticks: Int64, ticks_in_span: int, min_count: int) -> int:
    """The finest windows that are few enough and nearly all filled; as many halvings lead from them to a tick."""
    levels = 0
    while ticks_in_span >> levels > 1:
        if ticks_in_span >> levels <= MOST_CELLS:
            counts = np.unique(ticks >> levels, return_counts=True)[1]
            if counts[counts >= min_count].sum() >= _WELL_FILLED * len(ticks):
                break
        levels += 1
    return levels


def _clumping(halves: Int64) -> float:
    """How unequally the requests of each pair of halves are split: a moment estimate of the pairwise correlation."""
    occupied, counts = np.unique(halves, return_counts=True)
    parents, first, both = np.unique(occupied >> 1, return_index=True, return_counts=True)
    total = np.add.reduceat(counts, first) if len(parents) else counts
    other = np.where(both == 2, counts[np.minimum(first + 1, len(counts) - 1)], 0)
    several = total >= 2
    difference, total = (2 * other - total)[several], total[several]
    pairs = float((total * (total - 1)).sum())
    if pairs < _FEWEST_PAIRS:
        return 0.0
    surplus = float((difference * difference).sum() - total.sum())
    if surplus >= 0:
        return round(min(1.0, surplus / pairs), 4)
    odd = int(np.count_nonzero(total % 2))
    free = (float((difference * difference).sum()) - odd) / max(1.0, float(total.sum()) - odd)
    return round(min(0.0, free - 1.0), 4)


def _cells(windows: Int64, min_count: int) -> Iterator[Cell]:
    """Windows joined until each cell holds enough; it ends with its last window that is not silent."""
    places, counts = np.unique(windows, return_counts=True)
    done: list[Cell] = []
    first, held = 0, 0
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        first, held = (first if held else place), held + count
        if held >= min_count:
            done.append((first, place - first + 1, held))
            held = 0
    if held and done:
        start, _, count = done.pop()
        done.append((start, int(places[-1]) - start + 1, count + held))
    elif held:
        done.append((first, int(places[-1]) - first + 1, held))
    yield from done


class _Shares:
    """Shares of first halves, any number at a time: symmetric beta variables x / (x + y), x and y gamma."""

    def __init__(self, clumping: float, stream: Stream) -> None:
        shape = (1.0 / clumping - 1.0) / 2.0 if clumping > 0 else 1.0
        self._coins = stream.child(0) if shape < _ALL_OR_NOTHING else None
        self._sources = [gamma_variables(max(shape, _ALL_OR_NOTHING), stream.child(one)) for one in (1, 2)]
        self._held = [np.empty(0), np.empty(0)]

    def take(self, count: int) -> Float64:
        """The next shares."""
        if self._coins is not None:
            return np.rint(self._coins.uniforms(count))
        x, y = self._gammas(0, count), self._gammas(1, count)
        total = x + y
        return np.divide(x, total, out=np.full_like(x, 0.5), where=total > 0)

    def _gammas(self, which: int, count: int) -> Float64:
        held = self._held[which]
        parts = [held]
        have = len(held)
        while have < count:
            parts.append(next(self._sources[which]))
            have += len(parts[-1])
        joined = np.concatenate(parts)
        self._held[which] = joined[count:]
        return joined[:count]


@dataclass(frozen=True, slots=True)
class _Level:
    """The randomness of one level: shares of the halves, sides of the requests, which requests are free."""

    clumping: float
    shares: _Shares
    sides: Stream
    free: Stream
    odd: Stream

    @classmethod
    def of(cls, clumping: float, stream: Stream) -> _Level:
        """The streams of one level."""
        shares = _Shares(clumping, stream.child(_GAMMA))
        return cls(clumping, shares, stream.child(_SIDES), stream.child(_FREE), stream.child(_ODD))

    def split(self, counts: Int64) -> Int64:
        """How many of each window's requests fall into its first half."""
        ends = np.cumsum(counts)
        starts = ends - counts
        sides = self.sides.uniforms(int(ends[-1]))
        if self.clumping < 0:
            return self._evened(counts, starts, sides)
        shares = np.full(len(counts), 0.5)
        several = np.flatnonzero(counts >= 2)
        if self.clumping > 0:
            shares[several] = self.shares.take(len(several))
        return np.add.reduceat((sides < np.repeat(shares, counts)).astype(np.int64), starts)

    def _evened(self, counts: Int64, starts: Int64, sides: Float64) -> Int64:
        """Some requests are free to fall to either side; the rest are dealt out in turn."""
        free = (self.free.uniforms(len(sides)) < 1.0 + self.clumping).astype(np.int64)
        rest = counts - np.add.reduceat(free, starts)
        fallen = np.add.reduceat(free * (sides < 0.5), starts)
        odd = self.odd.uniforms(len(counts)) < 0.5
        return np.asarray(fallen + rest // 2 + (rest % 2) * odd, np.int64)


class Cascade:
    """The arrivals of one replay, cell by cell; every cell draws in order, so where groups end changes nothing."""

    def __init__(self, profile: ArrivalProfile, stream: Stream, rate_scale: float, spread: bool) -> None:
        self._profile = profile
        self._rate_scale = rate_scale
        self._inside = spread or not profile.grid
        self._scaled, self._windows, self._within = (stream.child(one) for one in (_SCALED, _WINDOWS, _WITHIN))
        self._levels = [
            _Level.of(clumping, stream.child(_LEVELS).child(level)) for level, clumping in enumerate(profile.clumping)
        ]

    def times(self) -> Iterator[Int64]:
        """Times in nanoseconds, in order; each array is that of some cells."""
        for cells in self._groups():
            yield self._placed(np.concatenate([self._in_windows(cell, count) for cell, count in cells]))

    def _groups(self) -> Iterator[list[tuple[Cell, int]]]:
        group: list[tuple[Cell, int]] = []
        size = 0
        for cell, count in zip(self._profile.cells, self._counts(), strict=True):
            if count:
                group.append((cell, count))
                size += count
            if size >= _REQUESTS_AT_ONCE:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _counts(self) -> list[int]:
        """Requests of each cell: the counted ones, or at another rate chance drawn anew around what is no chance."""
        counted = np.array([count for *_, count in self._profile.cells], np.float64)
        if self._rate_scale == 1:
            return [int(count) for count in counted]
        windows = np.array([windows for _, windows, _ in self._profile.cells], np.float64)
        expected = _without_chance(counted, windows) * self._rate_scale
        chance = np.sqrt(expected) * normal_quantile(self._scaled.uniforms(len(expected)))
        return [int(count) for count in np.maximum(np.rint(expected + chance), 0.0)]

    def _in_windows(self, cell: Cell, count: int) -> Int64:
        """The window of each request of a cell; in a joined cell each falls into any of its windows."""
        first, windows, _ = cell
        if windows == 1:
            return np.full(count, first, np.int64)
        return first + np.sort(np.floor(self._windows.uniforms(count) * windows).astype(np.int64))

    def _placed(self, windows: Int64) -> Int64:
        place, counts = np.unique(windows, return_counts=True)
        for level in self._levels:
            left = level.split(counts)
            both = np.stack([left, counts - left], axis=1).ravel()
            places = np.stack([2 * place, 2 * place + 1], axis=1).ravel()
            place, counts = places[both > 0], both[both > 0]
        at_ns = np.repeat(place, counts) * self._profile.tick_ns
        if self._inside:
            within = np.floor(self._within.uniforms(len(at_ns)) * self._profile.tick_ns).astype(np.int64)
            at_ns = np.sort(at_ns + within)
        return self._before_end(at_ns)

    def _before_end(self, at_ns: Int64) -> Int64:
        """The last window may reach beyond the span: what lies there moves back by whole ticks into its known part."""
        tick_ns, span_ns = self._profile.tick_ns, self._profile.span_ns
        beyond = at_ns >= span_ns
        if not beyond.any():
            return at_ns
        start_ns = (span_ns - 1) // self._profile.window_ns * self._profile.window_ns
        room = max(1, -(-(span_ns - start_ns) // tick_ns))
        moved = start_ns + (at_ns - start_ns) % (room * tick_ns)
        return np.sort(np.minimum(np.where(beyond, moved, at_ns), span_ns - 1))


def _without_chance(counts: Float64, windows: Float64) -> Float64:
    """Requests expected in each cell, from the counted ones: what Poisson arrivals vary by chance is taken out.

    Halves of halves, from single cells up: how unequal they are at each level beyond chance says how far to believe
    the unequal ones (the mean of a beta posterior). Where cells differ by chance alone, all get the mean.
    """
    if len(counts) == 1:
        return counts
    pad = len(counts) % 2
    n, w = np.append(counts, np.zeros(pad)), np.append(windows, np.full(pad, 1e-9))
    total, width = n[0::2] + n[1::2], w[0::2] + w[1::2]
    fair = w[0::2] / width
    pairs = float((total * np.maximum(total - 1.0, 0.0) * fair * (1.0 - fair)).sum())
    surplus = float(((n[0::2] - total * fair) ** 2 - total * fair * (1.0 - fair)).sum())
    clumping = min(max(surplus / pairs, 0.0), 1.0) if pairs > 0 else 0.0
    # A share of the first half: (counted + prior) / (all + prior), the prior's weight being 1 / clumping - 1.
    prior = 1.0 / max(clumping, 1e-12) - 1.0
    share = (n[0::2] + prior * fair) / np.maximum(total + prior, 1e-12)
    believed = _without_chance(total, width)
    both = np.stack([believed * share, believed * (1.0 - share)], axis=1).ravel()
    return np.asarray(both[: len(counts)], np.float64)
