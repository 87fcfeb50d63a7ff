"""What a replay draws for each request: a box of the profile, lengths within it, ages and turns. All from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.exact import Float64
from caveat.workload.plan import Int64, PlanBlock
from caveat.workload.streams import LENGTHS, PREFIXES, SESSIONS, Stream
from caveat.workload.traces.axis import Axis
from caveat.workload.traces.cells import weights_of
from caveat.workload.traces.copying import Copying, Made, Wanted
from caveat.workload.traces.even import EvenPlaces, Strata
from caveat.workload.traces.profile import Profile
from caveat.workload.traces.trunks import NO_TRUNK

_NS_PER_MS = 1_000_000
_WHICH, _WITHIN = range(2)


@dataclass(frozen=True, slots=True)
class _BoxedAxis:
    """One axis, and the range of bins on it of every box."""

    axis: Axis
    first: Int64
    last: Int64
    weights: Float64

    @classmethod
    def of(cls, axis: Axis, first: Int64, last: Int64, counts: Int64) -> _BoxedAxis:
        """With the weights by which the boxes give the axis' own counts."""
        return cls(axis, first, last, weights_of(axis, first, last, counts))

    def values(self, boxes: Int64, u: Float64) -> Int64:
        """One value from each of some boxes."""
        return self.axis.values(self.first[boxes], self.last[boxes], self.weights, u)


class Draws:
    """Lengths, turns and sources of the requests of one plan, in order."""

    def __init__(self, profile: Profile, stream: Stream) -> None:
        self._profile = profile
        boxes = [(one.trunk, box) for one in profile.classes for box in one.boxes]
        table = np.array([box for _, box in boxes], np.int64)
        self._trunk = np.array([trunk for trunk, _ in boxes], np.int64)
        self._sums = np.cumsum(table[:, -1])
        self._axes = [
            _BoxedAxis.of(axis, table[:, 2 * place], table[:, 2 * place + 1], table[:, -1])
            for place, axis in enumerate(profile.axes())
        ]
        lengths = stream.child(LENGTHS)
        self._which = Strata(profile.requests, lengths.child(_WHICH))
        self._places = EvenPlaces(len(boxes), len(self._axes), lengths.child(_WITHIN))
        self._ages, self._rounding = stream.child(SESSIONS), stream.child(PREFIXES)
        trunk_blocks, first_id = _trunk_ids(profile)
        self._copying = Copying(
            sessions=profile.turn is not None,
            block_tokens=profile.block_tokens,
            trunk_blocks=trunk_blocks,
            first_id=first_id,
            horizon_ns=_horizon_ns(profile),
        )

    def block(self, at_ns: Int64) -> PlanBlock:
        """The next requests, whose times are known."""
        input_tokens, output_tokens, reuse, turn, trunk = self._drawn(len(at_ns))
        if self._profile.turn is None and not self._profile.block_tokens:
            return PlanBlock(at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens)
        rounding = self._rounding.uniforms(len(at_ns))
        reuse_age_ns, turn_age_ns, taken = self._ages_and_taken(len(at_ns))
        columns = (at_ns, input_tokens, output_tokens, trunk, reuse, rounding, taken, turn, reuse_age_ns, turn_age_ns)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        made = [self._copying.place(Wanted(*row)) for row in rows]
        return self._block_of(at_ns, input_tokens, output_tokens, made)

    def _drawn(self, count: int) -> tuple[Int64, Int64, Int64, Int64, Int64]:
        """Input, output, reuse, turn and trunk of the next requests."""
        chosen = np.searchsorted(self._sums, self._which.take(count) * float(self._sums[-1]), side="right")
        u = self._places.take(chosen)
        values = [axis.values(chosen, u[place]) for place, axis in enumerate(self._axes)]
        nothing = np.zeros(count, np.int64)
        reuse = values[2] if self._profile.reuse is not None else nothing
        turn = values[-1] if self._profile.turn is not None else nothing
        return np.maximum(values[0], 1), np.maximum(values[1], 1), reuse, turn, self._trunk[chosen]

    def _ages_and_taken(self, count: int) -> Iterator[Int64]:
        """Ages of sources and of turns before, in nanoseconds; and thousandths that are taken of a source."""
        profile = self._profile
        axes = ((profile.reuse_age_ms, _NS_PER_MS), (profile.turn_age_ms, _NS_PER_MS), (profile.taken, 1))
        for (axis, unit), u in zip(axes, self._ages.table(count, len(axes)), strict=True):
            yield axis.drawn(u) * unit if axis is not None else np.zeros(count, np.int64)

    def _block_of(self, at_ns: Int64, input_tokens: Int64, output_tokens: Int64, made: list[Made]) -> PlanBlock:
        columns: dict[str, Int64] = {}
        if self._profile.turn is not None:
            columns["after"] = np.array([one.after for one in made], np.int64)
            columns["think_ns"] = np.zeros(len(made), np.int64)
            columns["session"] = np.array([one.session for one in made], np.int64)
            columns["turn"] = np.array([one.turn for one in made], np.int64)
        if self._profile.block_tokens:
            columns["prefix_ends"] = np.cumsum(np.array([len(one.blocks) for one in made], np.int64))
            columns["prefix_blocks"] = np.concatenate([np.empty(0, np.int64), *(one.blocks for one in made)])
        return PlanBlock(at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens, **columns)


def _trunk_ids(profile: Profile) -> tuple[dict[int, Int64], int]:
    """Block ids of each trunk: its parent's and then its own; and the first id that is free."""
    blocks: dict[int, Int64] = {NO_TRUNK: np.empty(0, np.int64)}
    free = 0
    for place, trunk in enumerate(profile.trunks):
        start = blocks[trunk.parent]
        more = trunk.blocks - len(start)
        blocks[place] = np.concatenate([start, np.arange(free, free + more, dtype=np.int64)])
        free += more
    return blocks, free


def _horizon_ns(profile: Profile) -> int:
    """How long a request can be continued: the greatest age that the profile knows."""
    axes = [axis for axis in (profile.reuse_age_ms, profile.turn_age_ms) if axis is not None]
    return max((axis.bins[-1][1] for axis in axes), default=0) * _NS_PER_MS * 5 // 4 + NS_PER_S
