"""What is checked once a trace is whole: the grid of its clock, rows that repeat, ids that are no prefixes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.plan import Int64, Whole
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.gathered import LinesOf
from caveat.workload.traces.passes import gaps_in_slices, slices
from caveat.workload.traces.recording import Recording, concatenated
from caveat.workload.traces.reuse import seen_before

_FEWEST_STEPS = 8
_COMPARED = 1 << 16
_MOST_STEPS = 1 << 18
"""Gaps looked at for the size of a step; of more, every k-th."""
_COARSE = 0.2
"""A clock is coarse if its step is at least this share of the mean gap between requests."""
_OFF_STEP = 0.01
"""How far from its step a time may lie, as a share of the step: recorders tick late now and then."""
_SHARED = 0.05
"""Requests beyond the first of each step, as a share of all: evenly spaced traffic has a step and shares none."""
_ON_STEP = 0.999
"""Share of the requests that must lie so close."""


def audited(recording: Recording, findings: Findings, lines_of: LinesOf | None = None) -> Recording:
    """The recording with the grid of its clock; everything found is reported, with lines where they are known."""
    grid_ns = recording.source.grid_ns or time_grid_ns(recording.t_ns)
    if not recording.source.timed:
        findings.add("time-none")
    elif len(recording) > 1 and recording.t_ns[-1] == 0:
        findings.add("time-zero")
    if grid_ns:
        findings.add("time-grid", found=f"a step of {grid_ns / NS_PER_S:g} s")
    if recording.source.timed:
        _report_repeats(recording, findings, lines_of)
    if recording.has_blocks:
        findings.add("blocks-not-a-prefix", count=_not_prefixes(recording))
    return replace(recording, source=msgspec.structs.replace(recording.source, grid_ns=grid_ns))


def _report_repeats(recording: Recording, findings: Findings, lines_of: LinesOf | None) -> None:
    repeats = _repeats(recording)
    if lines_of is None:
        findings.add("rows-twice", count=len(repeats))
    else:
        findings.add_lines("rows-twice", np.sort(lines_of(repeats)))


def time_grid_ns(t_ns: Int64) -> int:
    """The step of which all times are multiples, if it is coarse enough to shape the counts; else 0.

    Times are in order, from 0. A clock of whole milliseconds is not coarse at ten requests a second.
    """
    if len(t_ns) < _FEWEST_STEPS or t_ns[-1] == t_ns[0]:
        return 0
    steps = sum(int(np.count_nonzero(gaps)) for gaps in gaps_in_slices(t_ns))
    if steps + 1 > (1 - _SHARED) * len(t_ns):
        return 0
    mean_gap_ns = int(t_ns[-1]) / (len(t_ns) - 1)
    least_ns = max(1, int(_COARSE * mean_gap_ns))
    every = -(-steps // _MOST_STEPS)
    coarse = np.sort(np.concatenate([gaps[gaps >= least_ns][::every].copy() for gaps in gaps_in_slices(t_ns)]))
    if len(coarse) < _FEWEST_STEPS:
        return 0
    for share in (0.0, 0.01, 0.1, 0.5):
        step_ns = _fitted_step(t_ns, float(coarse[int(share * (len(coarse) - 1))]))
        if step_ns >= _COARSE * mean_gap_ns and _share_on_step(t_ns, step_ns) >= _ON_STEP:
            return _round_step(step_ns)
    return 0


def _share_on_step(t_ns: Int64, step_ns: float) -> float:
    near = 0
    for some in slices(len(t_ns)):
        off = np.abs(t_ns[some] - np.rint(t_ns[some] / step_ns) * step_ns)
        near += int(np.count_nonzero(off <= _OFF_STEP * step_ns))
    return near / len(t_ns)


def on_grid(t_ns: Int64, grid_ns: int) -> Int64:
    """Times moved to the nearest step, so that a late tick is not counted in the next second."""
    return np.rint(t_ns / grid_ns).astype(np.int64) * grid_ns if grid_ns else t_ns


def _fitted_step(t_ns: Int64, step_ns: float) -> float:
    """The step by least squares through 0, over more and more of the times, so that rounding never slips by one."""
    many = 64
    while True:
        products = squares = last = 0.0
        for some in slices(min(many, len(t_ns))):
            places = np.rint(t_ns[some] / step_ns)
            products, squares = products + float(places @ t_ns[some]), squares + float(places @ places)
            last = float(places[-1])
        if last > 0:
            step_ns = products / squares
        if many >= len(t_ns) or step_ns <= 0:
            return step_ns
        many *= 4


def _round_step(step_ns: float) -> int:
    """In whole milliseconds, if that is what it is."""
    ms = round(step_ns / 1e6)
    return ms * 1_000_000 if abs(step_ns - ms * 1e6) <= 2e-4 * step_ns else round(step_ns)


def _repeats(recording: Recording) -> Int64:
    """Places of requests that equal an earlier one in time, lengths, session and blocks.

    Equal rows have equal times, so some thousands of requests are compared at a time, cut where the time changes.
    """
    return concatenated(
        start + _repeats_among(recording.at(slice(start, end))) for start, end in _cut_at_times(recording.t_ns)
    )


def _cut_at_times(t_ns: Int64) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(t_ns):
        end = min(start + _COMPARED, len(t_ns))
        end = int(np.searchsorted(t_ns, t_ns[end - 1], side="right"))
        yield start, end
        start = end


def _repeats_among(recording: Recording) -> Int64:
    columns: list[Whole] = [recording.t_ns, recording.input_tokens, recording.output_tokens]
    if recording.has_sessions:
        columns.append(recording.session)
    if recording.has_blocks:
        # With ids of prefixes the last one stands for all.
        counts = recording.block_counts()
        last = np.append(recording.prefix_blocks, -1)[np.where(counts > 0, recording.prefix_ends - 1, -1)]
        columns.append(last)
    order = np.lexsort(columns[::-1])
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    return order[1:][same]


def _not_prefixes(recording: Recording) -> int:
    """Requests with a known block after a new one."""
    known = seen_before(recording)
    counts = recording.block_counts()
    request = np.repeat(np.arange(len(recording)), counts)
    follows = np.flatnonzero(known[1:] & ~known[:-1] & (request[1:] == request[:-1]))
    return len(np.unique(concatenated([request[follows]])))
