"""Plans from traces: a recording as it was, and a profile as a new trace of the same traffic.

Both are fixed before the run. Where conversations are known, a turn waits for the answer before it and comes no
earlier than its time; else every request comes when it is due.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from caveat.errors import InputError
from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_REQUESTS, between
from caveat.workload.exact import Float64, settled
from caveat.workload.plan import Int64, Plan, PlanBlock
from caveat.workload.streams import ARRIVALS, CHUNK, LENGTHS, PREFIXES, SESSIONS, Stream
from caveat.workload.summary import DescribedValue, PlanStatistics
from caveat.workload.traces.axis import Axis
from caveat.workload.traces.cascade import Cascade
from caveat.workload.traces.cells import weights_of
from caveat.workload.traces.copying import Copying, Entry, Wanted
from caveat.workload.traces.profile import Profile
from caveat.workload.traces.recording import Recording, previous_in_session
from caveat.workload.traces.reuse import whole_blocks
from caveat.workload.traces.trunks import NO_TRUNK

_MOST_STRATA = 1 << 16
_NS_PER_MS = 1_000_000
_PLACE, _ORDER, _WITHIN = range(3)

WithinStep = Literal["kept", "spread"]
"""Requests whose clock stepped: all at the step, as recorded, or spread evenly within it."""


@dataclass(frozen=True)
class RecordingPlan:
    """A recording played back: its own times, lengths, conversations and shared blocks (whole ones only)."""

    recording: Recording

    @property
    def concurrency(self) -> int | None:
        """Arrivals are open."""
        return None

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where sharing was not recorded."""
        return self.recording.block_tokens if self.recording.has_blocks else 0

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        before = previous_in_session(self.recording)
        for start in range(0, len(self.recording), CHUNK):
            part = self.recording.at(slice(start, start + CHUNK))
            ends, ids = whole_blocks(part)
            after = before[start : start + CHUNK] if part.has_sessions else np.empty(0, np.int64)
            yield PlanBlock(
                at_ns=part.t_ns,
                input_tokens=np.maximum(part.input_tokens, 1),
                output_tokens=np.maximum(part.output_tokens, 1),
                after=after,
                think_ns=np.zeros_like(after),
                session=part.session,
                turn=part.turn,
                prefix_ends=ends,
                prefix_blocks=ids,
            )

    def describe(self) -> dict[str, DescribedValue]:
        """The plan as values of conditions."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, DescribedValue]:
        arrivals = f"trace of {len(self.recording):,} arrivals"
        return _described(self, self.recording.source.words(), arrivals, sessions=self.recording.has_sessions)


def plan_of_recording(recording: Recording) -> RecordingPlan:
    """The plan that repeats a recording. InputError if there is nothing in it."""
    if not len(recording):
        raise InputError("the trace holds no request", code="trace-empty", next="take less away from it")
    return RecordingPlan(recording)


def plan_of(
    profile: Profile,
    seed: int = 0,
    *,
    rate_scale: float = 1.0,
    speed: float = 1.0,
    within_step: WithinStep = "kept",
    duration_s: float | None = None,
    requests: int | None = None,
) -> ProfilePlan:
    """A plan of a profile's traffic; the same profile, seed and settings give the same plan on every machine.

    `rate_scale` multiplies the requests and keeps the time and its bursts; `speed` divides all times. A plan ends
    with the profile's span, or earlier by `duration_s` (of the plan) or `requests`. A shorter plan is the beginning
    of a longer one.
    """
    between("rate_scale", rate_scale, 1e-6, 1e6)
    between("speed", speed, 1e-3, 1e6)
    between("requests", profile.requests * rate_scale, 0.5, MAX_REQUESTS)
    if duration_s is not None:
        between("duration_s", duration_s, 1e-9, profile.arrivals.span_ns / speed / NS_PER_S + 1e-6)
    if requests is not None:
        between("requests", requests, 1, MAX_REQUESTS)
    Stream(seed)
    return ProfilePlan(profile, seed, rate_scale, speed, within_step, duration_s, requests)


@dataclass(frozen=True)
class ProfilePlan:
    """A profile played: drawn anew each time it is read. Memory: the requests that can still be continued."""

    profile: Profile
    seed: int
    rate_scale: float
    speed: float
    within_step: WithinStep
    duration_s: float | None
    requests: int | None

    @property
    def concurrency(self) -> int | None:
        """Arrivals are open."""
        return None

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where sharing is unknown."""
        return self.profile.block_tokens

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        left = self.requests if self.requests is not None else MAX_REQUESTS
        end_ns = round(self.duration_s * NS_PER_S) if self.duration_s is not None else None
        draws = _Draws(self.profile, Stream(self.seed))
        for at_ns in self._times():
            due = len(at_ns) if end_ns is None else int(np.searchsorted(at_ns, end_ns))
            due = min(due, left)
            for start in range(0, due, CHUNK):
                yield draws.block(at_ns[start : min(start + CHUNK, due)])
            left -= due
            if due < len(at_ns) or not left:
                return

    def _times(self) -> Iterator[Int64]:
        stream = Stream(self.seed).child(ARRIVALS)
        cascade = Cascade(self.profile.arrivals, stream, self.rate_scale, self.within_step == "spread")
        for at_ns in cascade.times():
            yield at_ns if self.speed == 1 else np.rint(at_ns / self.speed).astype(np.int64)

    def describe(self) -> dict[str, DescribedValue]:
        """The plan as values of conditions."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, DescribedValue]:
        return _described(self, self.words(), "profile", sessions=self.profile.turn is not None)

    def words(self) -> str:
        """The profile and what was changed, for people."""
        changes = [f"requests x {self.rate_scale:g}"] if self.rate_scale != 1 else []
        changes += [f"{self.speed:g} times as fast"] if self.speed != 1 else []
        if self.profile.arrivals.grid and self.within_step == "spread":
            changes.append(f"spread within steps of {self.profile.arrivals.tick_ns / NS_PER_S:g} s")
        return "; ".join([self.profile.words(), *changes])


def _described(plan: Plan, dataset: str, arrivals: str, *, sessions: bool) -> dict[str, DescribedValue]:
    statistics = PlanStatistics(plan)
    values: dict[str, DescribedValue] = {
        "dataset": dataset,
        "scenario": "trace",
        "arrivals": arrivals,
        "loop": "semi-open" if sessions else "open",
        "latency_clock": "scheduled arrival",
        "queries": statistics.requests,
        "sessions": "as recorded" if sessions else "not recorded: every query stands alone",
        "prefix_reuse": "as recorded" if plan.block_tokens else "not recorded: none across queries",
    }
    if statistics.requests:
        values["input_tokens_requested"] = statistics.input_tokens.statistics()
        values["output_tokens_requested"] = statistics.output_tokens.statistics()
        share = statistics.reused_blocks() * plan.block_tokens / statistics.input_tokens.total()
        values["prefix_reuse_share"] = share
    if statistics.last_ns:
        values["scheduled_qps"] = statistics.requests * NS_PER_S / statistics.last_ns
    return values


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


class _Draws:
    """Lengths, turns and sources of the requests of one plan, in order."""

    def __init__(self, profile: Profile, stream: Stream) -> None:
        self._profile = profile
        self._which = _Strata(profile.requests, stream.child(LENGTHS))
        self._ages = stream.child(SESSIONS)
        self._rounding = stream.child(PREFIXES)
        boxes = [(one.trunk, box) for one in profile.classes for box in one.boxes]
        self._boxes = np.array([box for _, box in boxes], np.int64)
        self._trunk = np.array([trunk for trunk, _ in boxes], np.int64)
        self._sums = np.cumsum(self._boxes[:, -1])
        self._axes = [
            _BoxedAxis.of(axis, self._boxes[:, 2 * place], self._boxes[:, 2 * place + 1], self._boxes[:, -1])
            for place, axis in enumerate(profile.axes())
        ]
        self._places = _EvenPlaces(len(boxes), len(self._axes), stream.child(LENGTHS).child(_WITHIN))
        self._owed: list[int] = []
        self._trunk_blocks, trunk_ids = _trunk_ids(profile)
        self._copying = Copying(
            sessions=profile.turn is not None,
            blocks=profile.block_tokens > 0,
            first_id=trunk_ids,
            horizon_ns=_horizon_ns(profile),
        )

    def block(self, at_ns: Int64) -> PlanBlock:
        """The next requests, whose times are known."""
        if self._profile.turn is None and not self._profile.block_tokens:
            input_tokens, output_tokens, *_ = self._drawn(len(at_ns))
            return PlanBlock(at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens)
        wanted = list(self._wanted(at_ns))
        made = [self._copying.place(one) for one in wanted]
        return self._columns(at_ns, wanted, made)

    def _drawn(self, count: int) -> tuple[Int64, Int64, Int64, Int64, Int64]:
        """Input, output, reuse, turn and trunk of the next requests."""
        chosen = np.searchsorted(self._sums, self._which.take(count) * float(self._sums[-1]), side="right")
        u = self._places.take(chosen)
        values = [axis.values(chosen, u[place]) for place, axis in enumerate(self._axes)]
        nothing = np.zeros(count, np.int64)
        reuse = values[2] if self._profile.reuse is not None else nothing
        turn = values[-1] if self._profile.turn is not None else nothing
        return np.maximum(values[0], 1), np.maximum(values[1], 1), reuse, turn, self._trunk[chosen]

    def _wanted(self, at_ns: Int64) -> Iterator[Wanted]:
        input_tokens, output_tokens, reuse, turn, trunk = self._drawn(len(at_ns))
        trunk_blocks = np.array([len(self._trunk_blocks[one]) for one in trunk.tolist()], np.int64)
        own = np.maximum(input_tokens // max(1, self._profile.block_tokens) - trunk_blocks, 0)
        share = own * np.minimum(reuse, 1000) / 1000.0
        reused = np.minimum(np.floor(share + self._rounding.uniforms(len(at_ns))).astype(np.int64), own)
        for_reuse, for_turn, taken = self._ages_and_taken(len(at_ns))
        source = np.maximum(reused * 1000 // np.maximum(taken, 1), reused)
        columns = (at_ns, input_tokens, output_tokens, trunk, own, reused, source, turn, for_reuse, for_turn)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            wanted = Wanted(*row)
            yield replace(wanted, reuse_age_ns=self._feasible(wanted)) if wanted.reused else wanted

    def _feasible(self, wanted: Wanted) -> int:
        """An age that the plan has reached; ages beyond its start are kept for later, in place of shorter ones."""
        age_ns, passed_ns = wanted.reuse_age_ns, wanted.at_ns
        if age_ns > passed_ns:
            heappush(self._owed, age_ns)
            return age_ns % (passed_ns + 1)
        if self._owed and age_ns < self._owed[0] <= passed_ns:
            return heappop(self._owed)
        return age_ns

    def _ages_and_taken(self, count: int) -> list[Int64]:
        """Ages of sources and of turns before, in nanoseconds; and thousandths that are taken of a source."""
        profile = self._profile
        axes = ((profile.reuse_age_ms, _NS_PER_MS), (profile.turn_age_ms, _NS_PER_MS), (profile.taken, 1))
        u = self._ages.table(count, len(axes))
        return [
            axis.drawn(row) * unit if axis is not None else np.zeros(count, np.int64)
            for (axis, unit), row in zip(axes, u, strict=True)
        ]

    def _columns(self, at_ns: Int64, wanted: list[Wanted], made: list[Entry]) -> PlanBlock:
        columns: dict[str, Int64] = {
            "input_tokens": np.array([one.input_tokens for one in wanted], np.int64),
            "output_tokens": np.array([one.output_tokens for one in wanted], np.int64),
        }
        if self._profile.turn is not None:
            columns["after"] = np.array([one.size for one in made], np.int64)
            columns["think_ns"] = np.zeros(len(made), np.int64)
            columns["session"] = np.array([one.session for one in made], np.int64)
            columns["turn"] = np.array([one.turn for one in made], np.int64)
        if self._profile.block_tokens:
            most = columns["input_tokens"] // self._profile.block_tokens
            trunk = [self._trunk_blocks[one.trunk][:room] for one, room in zip(wanted, most.tolist(), strict=True)]
            parts = [part for one, start in zip(made, trunk, strict=True) for part in (start, one.blocks)]
            counts = [len(start) + len(one.blocks) for one, start in zip(made, trunk, strict=True)]
            columns["prefix_ends"] = np.cumsum(np.array(counts, np.int64))
            columns["prefix_blocks"] = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return PlanBlock(at_ns=at_ns, **columns)


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


class _EvenPlaces:
    """Places within boxes: visits to one box fill it evenly on all axes together, from a random start.

    A Kronecker sequence with the powers of the generalised golden ratio (Roberts, 2018).
    """

    def __init__(self, boxes: int, axes: int, stream: Stream) -> None:
        root = 1.0
        for _ in range(60):
            root = float((1.0 + root) ** (1.0 / (axes + 1)))
        ratio = settled(root)
        self._steps = np.array([ratio ** -(axis + 1) % 1.0 for axis in range(axes)])
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


class _Strata:
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
