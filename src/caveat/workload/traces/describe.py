"""A trace described: how fast, how bursty, how long, what is shared, who comes back. Plain numbers, plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from caveat.units import MS_PER_S, NS_PER_S
from caveat.workload.plan import NO_REQUEST, Int64, Whole
from caveat.workload.traces.audit import on_grid
from caveat.workload.traces.counts import RateAtScale, gap_cv, rate_at_scale
from caveat.workload.traces.passes import counts_of, rank_correlation
from caveat.workload.traces.plots import PlotData, plots_of
from caveat.workload.traces.recording import Recording, TraceSource, previous_in_session
from caveat.workload.traces.reuse import distances_blocks, distances_ms, previous_use, reuse_of, worst_so_far

FORMAT: Literal["caveat-trace/1"] = "caveat-trace/1"
"""Version 1: the first."""

SCALES_S = (1.0, 10.0, 60.0, 600.0)
WITHIN_S = (10, 60, 600, 3600)
WITHIN_BLOCKS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


class PrefixReuse(msgspec.Struct, frozen=True, kw_only=True):
    """What a prefix cache could save. Shares are of all blocks listed, by leading known blocks.

    share            with a cache that forgets nothing
    share_of_tokens  the same as tokens, of all input tokens
    within_s         if a block is forgotten so many seconds after its last use
    within_blocks    if it is forgotten after so many further blocks; a cache of that size does at least as well
    reusing          share of the requests that reuse anything
    """

    block_tokens: int
    blocks: int
    different_blocks: int
    share: float
    share_of_tokens: float
    within_s: dict[str, float]
    within_blocks: dict[str, float]
    reusing: float


class SessionStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations. `between_s` is from one turn's arrival to the next one's: answers' ends are not recorded."""

    sessions: int
    turns: dict[str, float]
    between_s: dict[str, float]
    share_of_requests: float
    growing: float | None


class TraceDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a trace. What was not recorded is None, never zero.

    `correlation` is Spearman's, of input and output length. Lengths are statistics by name, in tokens.
    """

    format: Literal["caveat-trace/1"] = FORMAT
    source: TraceSource
    requests: int
    span_s: float
    mean_qps: float | None
    gap_cv: float | None
    rates: tuple[RateAtScale, ...]
    input_tokens: dict[str, float]
    output_tokens: dict[str, float]
    correlation: float | None
    without_output: int
    prefixes: PrefixReuse | None
    sessions: SessionStatistics | None
    plots: PlotData
    notes: tuple[str, ...]


def describe_trace(recording: Recording, *, scales_s: Sequence[float] = SCALES_S) -> TraceDescription:
    """The description of a recording that holds at least one request.

    Where the clock has a grid, times are first moved to its nearest step.
    """
    t_ns = on_grid(recording.t_ns, recording.source.grid_ns)
    span_ns = recording.span_ns
    rates = (rate_at_scale(t_ns, span_ns, scale_s) for scale_s in scales_s)
    return TraceDescription(
        source=recording.source,
        requests=len(recording),
        span_s=recording.span_s,
        mean_qps=len(recording) / recording.span_s if span_ns else None,
        gap_cv=gap_cv(t_ns),
        rates=tuple(rate for rate in rates if rate is not None),
        input_tokens=length_statistics(recording.input_tokens),
        output_tokens=length_statistics(recording.output_tokens),
        correlation=rank_correlation(recording.input_tokens, recording.output_tokens),
        without_output=int(len(recording) - np.count_nonzero(recording.output_tokens)),
        prefixes=prefix_reuse(recording) if recording.has_blocks else None,
        sessions=session_statistics(recording) if recording.has_sessions else None,
        plots=plots_of(recording, t_ns),
        notes=tuple(_notes(recording, scales_s)),
    )


def length_statistics(tokens: Whole) -> dict[str, float]:
    """Mean, percentiles by rank, maximum and number; exact."""
    return counts_of(tokens).statistics()


def prefix_reuse(recording: Recording) -> PrefixReuse:
    """What prompts share; the recording has blocks."""
    before = previous_use(recording)
    depth = reuse_of(recording, before).depth
    blocks = max(1, len(recording.prefix_blocks))
    by_ms = worst_so_far(recording, distances_ms(recording, before))
    by_blocks = worst_so_far(recording, distances_blocks(recording, before))
    return PrefixReuse(
        block_tokens=recording.block_tokens,
        blocks=len(recording.prefix_blocks),
        different_blocks=int(np.count_nonzero(before < 0)),
        share=int(depth.sum()) / blocks,
        share_of_tokens=_reused_tokens(recording, depth) / max(1, int(recording.input_tokens.sum())),
        within_s={str(s): _share_within(by_ms, s * MS_PER_S) for s in WITHIN_S},
        within_blocks={str(most): _share_within(by_blocks, most) for most in WITHIN_BLOCKS},
        reusing=float(np.mean(depth > 0)),
    )


def _share_within(distance: Int64, most: int) -> float:
    return int(np.count_nonzero(distance <= most)) / max(1, len(distance))


def _reused_tokens(recording: Recording, depth: Int64) -> int:
    """Tokens in known leading blocks; the last block of a prompt may be shorter than the others."""
    return int(np.minimum(depth * recording.block_tokens, recording.input_tokens).sum())


def session_statistics(recording: Recording) -> SessionStatistics | None:
    """Conversations of a recording that has them; None if no request belongs to one."""
    known = recording.session != NO_REQUEST
    if not known.any():
        return None
    before = previous_in_session(recording)
    later = np.flatnonzero(before != NO_REQUEST)
    between_s = (recording.t_ns[later] - recording.t_ns[before[later]]) / NS_PER_S
    said = recording.input_tokens[before[later]] + recording.output_tokens[before[later]]
    return SessionStatistics(
        sessions=int(recording.session[known].max()) + 1,
        turns=length_statistics(np.unique(recording.session[known], return_counts=True)[1].astype(np.int64)),
        between_s=_quantiles(between_s),
        share_of_requests=float(np.mean(known)),
        growing=float(np.mean(recording.input_tokens[later] >= said)) if len(later) else None,
    )


def _quantiles(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, float]:
    if not len(values):
        return {}
    by_rank = np.sort(values)
    found = {f"p{share}": float(by_rank[-(-len(values) * share // 100) - 1]) for share in (50, 90, 99)}
    return {"mean": float(values.mean()), **found, "n": float(len(values))}


def _notes(recording: Recording, scales_s: Sequence[float]) -> list[str]:
    unit = f"times are in {recording.source.time_unit}: {recording.source.time_unit_how}"
    notes = [unit if recording.source.timed else "the file has no times: rates and gaps are unknown"]
    grid_s = recording.source.grid_ns / NS_PER_S
    if grid_s:
        below = [f"{scale_s:g} s" for scale_s in scales_s if scale_s < grid_s]
        what = f": rates at {', '.join(below)} are the recorder's, not the traffic's" if below else ""
        notes.append(f"the clock of the trace steps by {grid_s:g} s{what}")
    if not recording.has_blocks and recording.block_tokens:
        notes.append(f"no prompt lists a block of {recording.block_tokens} tokens, so reuse is unknown, not zero")
    elif not recording.has_blocks:
        notes.append("prefix blocks were not recorded: reuse is unknown")
    if not recording.has_sessions:
        notes.append("sessions were not recorded: turns and think times are unknown")
    return notes
