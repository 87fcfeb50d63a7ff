"""Reading a trace: piece by piece in flat memory, or whole, sorted, renumbered and looked over.

One bad line never stops a file: it becomes a finding, and what can be read is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from caveat.errors import InputError, Problem
from caveat.workload.bounds import MAX_TOKENS
from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.audit import audited
from caveat.workload.traces.checks import Checks
from caveat.workload.traces.clock import Clock
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.formats import format_of
from caveat.workload.traces.gathered import LinesOf, gathered
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.own import OWN, head_line
from caveat.workload.traces.passes import in_order
from caveat.workload.traces.recording import Recording, TraceSource

_SMALL_IDS = 4
"""Ids up to so many times their number are used as they are; sparser ones are numbered anew."""


@dataclass(frozen=True, slots=True)
class TraceRead:
    """A trace in memory and what was wrong with its file."""

    recording: Recording
    problems: tuple[Problem, ...]


class TraceStream:
    """The requests of one file as recordings of a few thousand each, in the file's order; read once.

    Times count from the file's first request, so they may be negative where rows are out of order. Sessions and blocks
    are numbered as in the file (names by hash). `findings` and `source` are complete when the file has been read.
    """

    def __init__(
        self,
        path: Path,
        *,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        time_unit: str | None = None,
        block_tokens: int | None = None,
    ) -> None:
        self.findings = Findings(path.name)
        self._file = LineFile(path, self.findings)
        self._format = format_of(path, format, columns)
        self._clock = Clock(self._format.time, given=time_unit, declared=self._format.unit)
        self._head = head_line(self._file.head()) if self._format.name == OWN.name else None
        own_block_tokens = self._head.block_tokens if self._head else self._format.block_tokens
        self.block_tokens = block_tokens if block_tokens is not None else own_block_tokens
        if not 0 <= self.block_tokens <= MAX_TOKENS:
            raise InputError(
                f"block_tokens: found {self.block_tokens}, expected 1 to {MAX_TOKENS:,}", code="trace-blocks"
            )
        self._checks = Checks(self._clock, self.block_tokens, self.findings)

    def lines_of(self, places: Int64) -> Int64:
        """Lines of the file of some of the requests read so far, by their places in its order."""
        return self._checks.lines.of(places)

    def source(self) -> TraceSource:
        """What is known of the file so far."""
        return TraceSource(
            name=self._file.path.name,
            format=self._format.name,
            sha256=self._file.sha256,
            lines=self._file.lines,
            time_unit=self._clock.unit.unit,
            time_unit_how=self._clock.unit.how,
            grid_ns=self._head.grid_ns if self._head else 0,
            timed=self._format.timed,
            transformations=self._head.transformations if self._head else (),
        )

    def blocks(self) -> Iterator[Recording]:
        """The requests, piece by piece. InputError if the file cannot be read at all."""
        for raw in self._format.read(self._file, self.findings):
            rows = self._checks.kept(raw)
            if rows is not None:
                yield Recording(**rows, block_tokens=self.block_tokens, source=self.source())


def read_trace(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    block_tokens: int | None = None,
) -> TraceRead:
    """A whole trace in memory: sorted by time from 0, sessions and blocks numbered from 0, looked over.

    `columns` maps time, input, output and optionally session, turn and blocks to the file's names. InputError if the
    file cannot be read or holds no request; every other fault is among the problems.
    """
    stream = TraceStream(path, format=format, columns=columns, time_unit=time_unit, block_tokens=block_tokens)
    whole = gathered(stream.blocks())
    if whole is None:
        lines, (why, next) = stream.source().lines, stream.findings.why_nothing()
        raise InputError(
            f"{path.name}: no request can be read from {lines:,} line{'' if lines == 1 else 's'}"
            f"{f': {why}' if why else ''}",
            code="trace-empty",
            next=next or "check the file",
        )
    whole = _with_blocks_or_none(replace(whole, source=stream.source()))
    ordered, lines_of = _in_order(whole, stream.lines_of)
    return TraceRead(audited(_numbered(ordered), stream.findings, lines_of), stream.findings.problems())


def _with_blocks_or_none(recording: Recording) -> Recording:
    """Without columns for blocks where not one prompt lists any: what is shared is then unknown, not nothing."""
    if not recording.has_blocks or len(recording.prefix_blocks):
        return recording
    return replace(recording, prefix_ends=recording.prefix_blocks)


def _in_order(recording: Recording, lines_of: LinesOf) -> tuple[Recording, LinesOf]:
    """Sorted by time, from 0, and the lines of its requests. The column of times is ours and changed in place."""
    order: Int64 | None = None
    if not in_order(recording.t_ns):
        order = np.argsort(recording.t_ns, kind="stable")
        recording = recording.at(order)
    recording.t_ns[:] -= int(recording.t_ns[0])
    return recording, lines_of if order is None else lambda places: lines_of(order[places])


def _numbered(recording: Recording) -> Recording:
    """Sessions and blocks from 0 in the order in which they first appear; turns from 0 in order of time."""
    changed: dict[str, Any] = {}
    if recording.has_blocks:
        changed["prefix_blocks"] = dense(recording.prefix_blocks)
    if recording.has_sessions:
        session = np.full(len(recording), NO_REQUEST, np.int64)
        known = recording.session != NO_REQUEST
        session[known] = dense(recording.session[known], always=True)
        changed |= {"session": session, "turn": _turns(session)}
    return replace(recording, **changed)


def dense(ids: Int64, *, always: bool = False) -> Int64:
    """The same ids as small numbers: from 0 in order of first appearance, or as they are if small already."""
    if not len(ids):
        return ids
    if not always and ids.min() >= 0 and ids.max() < _SMALL_IDS * len(ids):
        return ids
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse]


def _turns(session: Int64) -> Int64:
    """Place of each request in its session, from 0; 0 for requests without one."""
    order = np.argsort(session, kind="stable")
    grouped = session[order]
    starts = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.where(grouped == NO_REQUEST, 0, place)
    return turn


def source_changed(recording: Recording, **changes: object) -> Recording:
    """The same requests with other facts about their source."""
    return replace(recording, source=msgspec.structs.replace(recording.source, **changes))
