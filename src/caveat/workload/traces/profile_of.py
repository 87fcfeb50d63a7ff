"""From a recording to its profile: what is counted together, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from caveat.errors import CannotSayError
from caveat.units import NS_PER_S, format_seconds, seconds_from_ns
from caveat.workload.bounds import MAX_TOKENS, between
from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.audit import on_grid
from caveat.workload.traces.axis import Axis, axis_of
from caveat.workload.traces.cascade import arrivals_of
from caveat.workload.traces.cells import Box, boxes_of
from caveat.workload.traces.profile import Profile, RequestClass
from caveat.workload.traces.recording import Recording, previous_in_session
from caveat.workload.traces.reuse import reuse_of, whole_blocks
from caveat.workload.traces.trunks import NO_TRUNK, Trunk, depth_of, trunks_of

MIN_COUNT = 10
_MOST_BOXES = 1500
_NS_PER_MS = 1_000_000
_WHOLE = 1000


def profile_of(recording: Recording, *, min_count: int = MIN_COUNT, name: str = "") -> Profile:
    """The profile of a trace; nothing in it stands for fewer than `min_count` requests.

    `name` is the only free text, and is yours. CannotSayError for a trace with fewer requests than the threshold.
    """
    between("min_count", min_count, 2, MAX_TOKENS)
    if len(recording) < min_count:
        raise CannotSayError(
            f"{len(recording):,} requests: a profile stands for at least {min_count:,}",
            code="profile-too-few",
            next="record for longer",
        )
    if not recording.source.timed:
        raise CannotSayError(
            f"{recording.source.name}: lengths without times: a profile holds when requests come",
            code="profile-untimed",
            next="record the arrivals",
        )
    parts = _Parts(recording, min_count)
    t_ns = on_grid(recording.t_ns, recording.source.grid_ns)
    return Profile(
        name=name,
        requests=len(recording),
        min_count=min_count,
        block_tokens=recording.block_tokens if recording.has_blocks else 0,
        arrivals=arrivals_of(t_ns, max(1, recording.span_ns), recording.source.grid_ns, min_count),
        input=parts.axis("input", np.maximum(recording.input_tokens, 1)),
        output=parts.axis("output", np.maximum(recording.output_tokens, 1)),
        reuse=parts.axis("reuse", parts.sharing.thousandths()) if recording.has_blocks else None,
        turn=parts.axis("turn", recording.turn) if recording.has_sessions else None,
        reuse_age_ms=parts.ages(parts.sharing.source, "reuse"),
        turn_age_ms=parts.ages(parts.before, "later turns") if recording.has_sessions else None,
        taken=parts.taken(),
        trunks=parts.sharing.trunks,
        classes=parts.classes(),
        notes=tuple(parts.notes),
    )


@dataclass(frozen=True, slots=True)
class _Sharing:
    """What each prompt shares: its trunk, its own blocks beyond that, how many were known, and who last had them."""

    trunks: tuple[Trunk, ...]
    trunk: Int64
    own: Int64
    known: Int64
    source: Int64

    def thousandths(self) -> Int64:
        """Known blocks of each prompt's own; rounded up, so that one of very many does not become none."""
        return -(-_WHOLE * self.known // np.maximum(self.own, 1))


def _sharing(recording: Recording, min_count: int) -> _Sharing:
    nothing = np.full(len(recording), NO_REQUEST, np.int64)
    if not recording.has_blocks:
        return _Sharing((), nothing, np.zeros_like(nothing), np.zeros_like(nothing), nothing)
    ends, blocks = whole_blocks(recording)
    whole = np.diff(ends, prepend=0)
    trunks, trunk = trunks_of(ends, blocks, min_count)
    own = whole - depth_of(trunks, trunk)
    reuse = reuse_of(recording)
    known = np.clip(np.minimum(reuse.depth, whole) - depth_of(trunks, trunk), 0, own)
    return _Sharing(trunks, trunk, own, known, np.where(known > 0, reuse.source, NO_REQUEST))


@dataclass
class _Parts:
    """The parts of one profile as they are made; keeps each request's bin on every axis, and the notes."""

    recording: Recording
    min_count: int
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sharing = _sharing(self.recording, self.min_count)
        self.before = previous_in_session(self.recording)
        self._axes: list[Axis] = []
        self._bins: list[Int64] = []
        self._note_what_is_lost()

    def axis(self, name: str, values: Int64) -> Axis:
        """An axis of the boxes."""
        made, bins = axis_of(values, self.min_count)
        self._axes.append(made)
        self._bins.append(bins)
        return made

    def ages(self, source: Int64, what: str) -> Axis | None:
        """Times from a request's source to it, in milliseconds; None where too few have a source."""
        having = np.flatnonzero(source != NO_REQUEST)
        if len(having) < self.min_count:
            if len(having):
                self.notes.append(f"{what}: {len(having)} requests are too few to say anything of; dropped")
            return None
        t_ns = self.recording.t_ns
        return axis_of((t_ns[having] - t_ns[source[having]]) // _NS_PER_MS, self.min_count)[0]

    def taken(self) -> Axis | None:
        """How much of what they reuse requests take, in thousandths; None where too few reuse anything."""
        having = np.flatnonzero(self.sharing.source != NO_REQUEST)
        if len(having) < self.min_count:
            return None
        there = self.sharing.own[self.sharing.source[having]]
        return axis_of(np.minimum(_WHOLE * self.sharing.known[having] // np.maximum(there, 1), _WHOLE), self.min_count)[
            0
        ]

    def classes(self) -> tuple[RequestClass, ...]:
        """The boxes of each class; a class too small to stand by itself is counted with the other of its trunk."""
        fewest = max(self.min_count, len(self.recording) // _MOST_BOXES)
        later = self.recording.turn > 0 if self.recording.has_sessions else np.zeros(len(self.recording), np.bool_)
        found = []
        for trunk in range(NO_TRUNK, len(self.sharing.trunks)):
            mine = self.sharing.trunk == trunk
            groups = [(flag, np.flatnonzero(mine & (later == flag))) for flag in (False, True)]
            small = [len(members) < self.min_count for _, members in groups]
            if any(small):
                groups = [(small[0] and not small[1], np.flatnonzero(mine))]
            found += [(trunk, flag, members) for flag, members in groups if len(members) >= self.min_count]
        placed = sum(len(members) for *_, members in found)
        if placed < len(self.recording):
            self.notes.append(
                f"{len(self.recording) - placed} requests have a beginning of their own and are too few; dropped"
            )
        return tuple(
            RequestClass(trunk=trunk, later=flag, boxes=tuple(self._boxes(members, fewest)))
            for trunk, flag, members in found
        )

    def _boxes(self, members: Int64, fewest: int) -> list[Box]:
        return boxes_of([bins[members] for bins in self._bins], self._axes, self.min_count, fewest)

    def _note_what_is_lost(self) -> None:
        recording = self.recording
        grid_ns = recording.source.grid_ns
        if grid_ns:
            step = format_seconds(grid_ns / NS_PER_S)
            self.notes.append(f"the clock of the trace steps by {step}; arrivals within a step are unknown")
        empty = int(np.count_nonzero((recording.output_tokens == 0) | (recording.input_tokens == 0)))
        if empty:
            self.notes.append(f"{empty:,} requests without input or output are counted as one token")
        if not recording.has_blocks:
            self.notes.append("what prompts share was not recorded and is not replayed")
        if not recording.has_sessions:
            self.notes.append("conversations were not recorded; replayed requests do not wait for each other")
        else:
            self.notes.append("times between turns are met roughly: longer where few conversations are open at a time")
        self.notes.append(
            "lengths do not change with the time of day; what prompts share beyond trunks is matched by size and age: "
            "caches that forget or are often full find somewhat more in a replay"
        )


def _beginnings(count: int) -> str:
    return f"{count} beginning{' is' if count == 1 else 's are'}"


def _names(name: str) -> str:
    return f"no names but the one that you gave it, {name!r}" if name else "no names"


def privacy_statement(profile: Profile) -> str:
    """What can be recovered from a profile and what cannot, in sentences, from what is in it."""
    window = format_seconds(seconds_from_ns(profile.arrivals.window_ns))
    lines = [
        f"This profile stands for {profile.requests:,} requests. It holds no text, no hash of text, no dates (times "
        f"count from the first request) and {_names(profile.name)}.",
        f"Nothing in it stands for fewer than {profile.smallest():,} requests (threshold {profile.min_count:,}).",
        f"It shows: how many requests came in each window of {window} or more (windows with fewer are joined); how "
        "lengths are distributed, rounded to 16 steps an octave (4.4 %) above 16 tokens unless the threshold of "
        "requests have exactly the same length; how lengths go together.",
        "The longest prompt and answer are known to the next rounding step.",
    ]
    if profile.trunks:
        longest = max(trunk.blocks for trunk in profile.trunks)
        lines.append(
            f"It shows that {_beginnings(len(profile.trunks))} shared by at least "
            f"{min(trunk.requests for trunk in profile.trunks):,} prompts each, the longest of {longest} blocks of "
            f"{profile.block_tokens} tokens; not what they say."
        )
    if profile.reuse is not None:
        lines.append("It shows how much of prompts earlier ones had, and how old those were; not which.")
    if profile.turn is not None:
        lines.append("It shows how many turns conversations have and the time between them; no conversation.")
    lines.append(
        "It cannot be used to recover a prompt, an answer, the time or exact length of a single request, or who sent "
        "it. It is a threshold and rounding, not a formal guarantee such as differential privacy: somebody who knows "
        "all requests of a cell but one learns roughly when and how long that one was."
    )
    return "\n".join(lines)
