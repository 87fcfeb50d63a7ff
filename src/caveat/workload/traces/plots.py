"""What a chart of a trace draws: plain arrays of a few hundred points, however many requests the trace has."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import MS_PER_S, NS_PER_S
from caveat.workload.exact import Float64
from caveat.workload.plan import NO_REQUEST, Int64, Whole
from caveat.workload.summary import LengthCounts
from caveat.workload.traces.counts import FEWEST_BINS, counted_in_parts, dispersion_at
from caveat.workload.traces.passes import counts_of, gaps_in_slices
from caveat.workload.traces.recording import Recording, previous_in_session
from caveat.workload.traces.reuse import distances_blocks, distances_ms, previous_use, worst_so_far

Points = tuple[tuple[float, float], ...]

_CURVE_POINTS = 600
_CDF_POINTS = 120
_REUSE_POINTS = 40


class PlotData(msgspec.Struct, frozen=True, kw_only=True):
    """Arrays for drawing. A curve that cannot be known is empty.

    rate_qps        requests per second in each `rate_step_s`
    dispersion      (bin in seconds, variance / mean of the counts in such bins, bins)
    gaps_s          (gap between two requests in seconds, of three digits, share of gaps at most so long)
    input_tokens    (length, share of requests at most so long); output_tokens the same
    reuse_by_s      (seconds since last use, share of all blocks reused within them)
    reuse_by_blocks (blocks listed since last use, share of all blocks reused within them)
    turns           (turns, share of conversations with at most so many)
    between_s       (seconds from one turn's arrival to the next one's, share of them at most so long)
    """

    rate_step_s: float
    rate_qps: tuple[float, ...]
    input_tokens: Points
    output_tokens: Points
    reuse_by_s: Points
    dispersion: tuple[tuple[float, float, int], ...] = ()
    gaps_s: Points = ()
    reuse_by_blocks: Points = ()
    turns: Points = ()
    between_s: Points = ()


def plots_of(recording: Recording, t_ns: Int64) -> PlotData:
    """The arrays of a recording that holds at least one request; `t_ns` are its times on the grid of its clock."""
    step_ns = _nice_step(recording.span_ns)
    curve = _curve(t_ns, recording.span_ns, step_ns)
    by_s, by_blocks = _reuse_curves(recording) if recording.has_blocks else ((), ())
    turns, between_ns = _conversations(recording)
    return PlotData(
        rate_step_s=step_ns / NS_PER_S,
        rate_qps=tuple(curve.tolist()),
        input_tokens=cdf_points(recording.input_tokens),
        output_tokens=cdf_points(recording.output_tokens),
        reuse_by_s=by_s,
        dispersion=tuple(_dispersions(recording, t_ns)),
        gaps_s=_in_seconds(_points_of(_gap_counts(t_ns))),
        reuse_by_blocks=by_blocks,
        turns=cdf_points(turns),
        between_s=_in_seconds(cdf_points(between_ns)),
    )


def _curve(t_ns: Int64, span_ns: int, step_ns: int) -> Float64:
    """Requests per second in each step; none where no time passes."""
    parts = [np.empty(0, np.int64), *counted_in_parts(t_ns, span_ns, step_ns)]
    return np.asarray(np.concatenate(parts) / (step_ns / NS_PER_S), np.float64)


def _nice_step(span_ns: int) -> int:
    """A step of 1, 2 or 5 times a power of ten that gives at most so many points."""
    return next(step for step in _nice_steps(1) if span_ns // step <= _CURVE_POINTS)


def _nice_steps(least: int) -> Iterator[int]:
    """1, 2, 5, 10, 20, ... from `least` on."""
    power: int = 10 ** max(0, math.floor(math.log10(max(1, least))))
    while True:
        yield from (step for step in (power, 2 * power, 5 * power) if step >= least)
        power *= 10


def _dispersions(recording: Recording, t_ns: Int64) -> Iterator[tuple[float, float, int]]:
    """From the mean gap (or the step of the clock) to the longest bin of which the span holds enough.

    Shorter bins hold one request or none: their dispersion is near 1 whatever the traffic, or the recorder's.
    """
    unit_ns = recording.source.grid_ns or 1  # a bin of so many steps and a half would beat with them
    mean_gap_ns = recording.span_ns // max(1, len(recording))
    for units in _nice_steps(max(1, mean_gap_ns // unit_ns)):
        scale_ns = units * unit_ns
        if recording.span_ns // scale_ns < FEWEST_BINS:
            return
        index = dispersion_at(t_ns, recording.span_ns, scale_ns)
        if index is not None:
            yield scale_ns / NS_PER_S, index, recording.span_ns // scale_ns


def cdf_points(values: Whole) -> Points:
    """(value, share of the values at most so great), more of them where the upper tail is; empty for no values."""
    return _points_of(counts_of(values)) if len(values) else ()


def _points_of(counted: LengthCounts) -> Points:
    values, often = counted.table()
    if not len(values):
        return ()
    sums = np.cumsum(often)
    count = int(sums[-1])
    shares = 1.0 - np.geomspace(1.0, 1.0 / (count + 1), _CDF_POINTS)
    even = np.linspace(0.0, 1.0, _CDF_POINTS)
    ranks = np.minimum((np.concatenate([shares, even]) * count).astype(np.int64), count - 1)
    places = np.unique(np.searchsorted(sums, ranks, side="right"))
    return tuple(zip(values[places].astype(np.float64).tolist(), (sums[places] / count).tolist(), strict=True))


def _gap_counts(t_ns: Int64) -> LengthCounts:
    """Gaps rounded up to three digits, so that few different ones are held; the share at each is exact."""
    longest_ns = max((int(gaps.max()) for gaps in gaps_in_slices(t_ns)), default=0)
    counts = LengthCounts()
    for gaps in gaps_in_slices(t_ns):
        digits = np.floor(np.log10(np.maximum(gaps, 1))).astype(np.int64)
        unit = 10 ** np.maximum(digits - 2, 0)
        counts.add(np.minimum(-(-gaps // unit) * unit, longest_ns))
    return counts


def _in_seconds(points: Points) -> Points:
    return tuple((value / NS_PER_S, share) for value, share in points)


def _reuse_curves(recording: Recording) -> tuple[Points, Points]:
    """Shares of all listed blocks by time, and by blocks, since their last use."""
    before = previous_use(recording)
    by_ms = worst_so_far(recording, distances_ms(recording, before))
    by_blocks = worst_so_far(recording, distances_blocks(recording, before))
    seconds = np.geomspace(1.0, max(2.0, recording.span_s), _REUSE_POINTS)
    blocks = np.geomspace(1.0, max(2, len(recording.prefix_blocks)), _REUSE_POINTS)
    return _shares(by_ms, seconds, MS_PER_S), _shares(by_blocks, blocks, 1)


def _shares(distances: Int64, most: np.ndarray[tuple[int], np.dtype[np.float64]], unit: int) -> Points:
    by_rank = np.sort(distances)
    within = np.searchsorted(by_rank, (most * unit).astype(np.int64), side="right") / max(1, len(by_rank))
    return tuple(zip(most.tolist(), within.tolist(), strict=True))


def _conversations(recording: Recording) -> tuple[Int64, Int64]:
    """Turns of each conversation, and nanoseconds from each turn to the next."""
    if not recording.has_sessions:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    known = recording.session[recording.session != NO_REQUEST]
    before = previous_in_session(recording)
    later = np.flatnonzero(before != NO_REQUEST)
    turns = np.unique(known, return_counts=True)[1].astype(np.int64)
    return turns, recording.t_ns[later] - recording.t_ns[before[later]]
