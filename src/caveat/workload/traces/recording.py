"""Recording: recorded requests in columns, and where they came from. The one form in which everything reads a trace.

A recording holds times, lengths, sessions and the blocks that prompts share. It has no field for text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.plan import NO_REQUEST, Int64, Plan, Whole


def _empty() -> Int64:
    return np.empty(0, dtype=np.int64)


class TraceSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a recording came from, without folders, and what was done to it since.

    `time_unit` is that of the file and `time_unit_how` who says so. `grid_ns` is the step of the recorder's clock
    where that is coarse enough to show, 0 where it is not; what happened within a step was not recorded.
    `transformations` are sentences, in the order in which they were applied. `timed` is false where the file has
    lengths and no times: all of them are then 0 and say nothing.
    """

    name: str
    format: str
    sha256: str = ""
    lines: int = 0
    time_unit: str = "ns"
    time_unit_how: str = "exact"
    grid_ns: int = 0
    timed: bool = True
    transformations: tuple[str, ...] = ()

    def words(self) -> str:
        """The source and its transformations for people."""
        return "; ".join((f"trace {self.name} ({self.format})", *self.transformations))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Requests in order of their times. Columns from `session` on are empty where not recorded.

    Columns are int64; lengths may be int32, which holds any of them in half the room.

    t_ns              arrival, from the first one
    input_tokens      length of the prompt
    output_tokens     length of the answer; 0 where none was given
    session, turn     conversation (numbered from 0, or NO_REQUEST) and place in it, from 0
    prefix_ends       end of each request's blocks in `prefix_blocks`
    prefix_blocks     ids of the prompt's blocks of `block_tokens` tokens, from its start; equal ids are equal prompts
    """

    t_ns: Int64
    input_tokens: Whole
    output_tokens: Whole
    session: Int64 = field(default_factory=_empty)
    turn: Int64 = field(default_factory=_empty)
    prefix_ends: Int64 = field(default_factory=_empty)
    prefix_blocks: Int64 = field(default_factory=_empty)
    block_tokens: int = 0
    source: TraceSource

    def __post_init__(self) -> None:
        count = len(self.t_ns)
        for name in COLUMNS:
            found = len(getattr(self, name))
            if found != count and not (found == 0 and name not in _ALWAYS):
                raise ValueError(f"{name}: found {found} entries, expected {count}")
        if len(self.prefix_ends) and self.prefix_ends[-1] != len(self.prefix_blocks):
            raise ValueError(f"prefix_ends: ends at {self.prefix_ends[-1]}, expected {len(self.prefix_blocks)}")

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def has_sessions(self) -> bool:
        """Whether conversations were recorded."""
        return len(self.session) > 0

    @property
    def has_blocks(self) -> bool:
        """Whether it was recorded what prompts share."""
        return len(self.prefix_ends) > 0

    @property
    def span_ns(self) -> int:
        """The time that the requests stand for: from the first to the last, and one gap (or clock step) more."""
        if not len(self):
            return 0
        length, grid_ns = int(self.t_ns[-1]), self.source.grid_ns
        return (round(length / grid_ns) + 1) * grid_ns if grid_ns else length + round(length / max(1, len(self) - 1))

    @property
    def span_s(self) -> float:
        """The same in seconds."""
        return self.span_ns / NS_PER_S

    def block_counts(self) -> Int64:
        """How many blocks each request has."""
        return np.diff(self.prefix_ends, prepend=0)

    def at(self, places: Int64 | slice) -> Recording:
        """Some of the requests, in the order of their places; times stay as they are."""
        columns: dict[str, Any] = {name: getattr(self, name)[places] for name in COLUMNS if len(getattr(self, name))}
        if self.has_blocks:
            columns["prefix_ends"], columns["prefix_blocks"] = _ragged_at(
                self.prefix_ends, self.prefix_blocks, np.arange(len(self))[places]
            )
        return replace(self, **columns)

    def changed(self, transformation: str, **columns: Any) -> Recording:
        """The same requests with other columns, and a sentence that says so."""
        done = (*self.source.transformations, transformation)
        return replace(self, **columns, source=msgspec.structs.replace(self.source, transformations=done))


COLUMNS = tuple(
    column.name for column in fields(Recording) if column.name not in ("prefix_blocks", "block_tokens", "source")
)
_ALWAYS = ("t_ns", "input_tokens", "output_tokens")


def joined(parts: Sequence[Recording]) -> Recording:
    """Recordings of one file, one after another; times are those of the parts, the source is the last one's."""
    ends, shift = [], 0
    for part in parts:
        ends.append(part.prefix_ends + shift)
        shift += len(part.prefix_blocks)
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    blocks = np.concatenate([part.prefix_blocks for part in parts])
    return replace(parts[-1], **(columns | {"prefix_ends": np.concatenate(ends), "prefix_blocks": blocks}))


def recording_of(plan: Plan, name: str = "plan") -> Recording:
    """What a recorder would see of an open plan whose every request leaves when it is due."""
    parts = []
    source = TraceSource(name=name, format="plan")
    for block in plan.blocks():
        parts.append(
            Recording(
                t_ns=block.at_ns,
                input_tokens=block.input_tokens,
                output_tokens=block.output_tokens,
                session=block.session,
                turn=block.turn,
                prefix_ends=block.prefix_ends if plan.block_tokens else _empty(),
                prefix_blocks=block.prefix_blocks if plan.block_tokens else _empty(),
                block_tokens=plan.block_tokens,
                source=source,
            )
        )
    return (
        joined(parts)
        if parts
        else Recording(t_ns=_empty(), input_tokens=_empty(), output_tokens=_empty(), source=source)
    )


def with_source(recording: Recording, source: TraceSource) -> Recording:
    """The same requests from another source."""
    return replace(recording, source=source)


def previous_in_session(recording: Recording) -> Int64:
    """For each request, the number of the one before it in its session, or NO_REQUEST."""
    before = np.full(len(recording), NO_REQUEST, np.int64)
    if recording.has_sessions:
        order = np.argsort(recording.session, kind="stable")
        same = recording.session[order][1:] == recording.session[order][:-1]
        follows = np.flatnonzero(same & (recording.session[order][1:] != NO_REQUEST)) + 1
        before[order[follows]] = order[follows - 1]
    return before


def concatenated(parts: Iterable[Int64]) -> Int64:
    """Arrays one after another; an empty one of none."""
    return np.concatenate([_empty(), *parts])


def _ragged_at(ends: Int64, values: Int64, places: Int64) -> tuple[Int64, Int64]:
    counts = np.diff(ends, prepend=0)[places]
    new_ends = np.cumsum(counts)
    starts = ends[places] - counts
    picks = np.arange(int(counts.sum()), dtype=np.int64) + np.repeat(starts - (new_ends - counts), counts)
    return new_ends, values[picks]
