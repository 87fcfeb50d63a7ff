"""What prompts share: which blocks an earlier request had, how deep the known beginning goes, and how long ago.

A block counts as reusable only if every block before it is: that is what a prefix cache can do. The cache of these
counts forgets nothing; limits on time or size are applied to the distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.recording import Recording

_DISTANCE_BITS = 38
_NEVER = (1 << _DISTANCE_BITS) - 1


@dataclass(frozen=True, slots=True)
class Reuse:
    """Per request: leading blocks that were known, and who last had the deepest of them (or NO_REQUEST)."""

    depth: Int64
    source: Int64


def previous_use(recording: Recording) -> Int64:
    """For each listed block, the place in the list of the same block's last use before, or NO_REQUEST."""
    blocks = recording.prefix_blocks
    order = np.argsort(blocks, kind="stable")
    same = blocks[order][1:] == blocks[order][:-1]
    before = np.full(len(blocks), NO_REQUEST, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def requests_of_blocks(recording: Recording) -> Int64:
    """For each listed block, the request that lists it."""
    return np.repeat(np.arange(len(recording)), recording.block_counts())


def seen_before(recording: Recording) -> npt.NDArray[np.bool_]:
    """For each listed block, whether an earlier request has it."""
    return _earlier(previous_use(recording), requests_of_blocks(recording))


def _earlier(before: Int64, request: Int64) -> npt.NDArray[np.bool_]:
    """Whether the use before is of another request: a request does not reuse its own blocks."""
    return np.asarray((before >= 0) & (request[np.maximum(before, 0)] < request), np.bool_)


def leading(flags: npt.NDArray[np.bool_], ends: Int64) -> Int64:
    """How many entries of each group are true before the first that is not; groups end where `ends` says."""
    counts = np.diff(ends, prepend=0)
    starts = ends - counts
    misses = np.flatnonzero(~flags)
    next_miss = np.searchsorted(misses, starts)
    first_miss = np.append(misses, len(flags))[next_miss]
    return np.minimum(first_miss - starts, counts)


def reuse_of(recording: Recording, before: Int64 | None = None) -> Reuse:
    """Depth and source of each request's reuse; `before` is previous_use() if it is known already."""
    before = previous_use(recording) if before is None else before
    request = requests_of_blocks(recording)
    depth = leading(_earlier(before, request), recording.prefix_ends)
    starts = recording.prefix_ends - recording.block_counts()
    deepest = np.where(depth > 0, starts + depth - 1, 0)
    source = np.where(depth > 0, request[np.maximum(before[deepest], 0)] if len(before) else 0, NO_REQUEST)
    return Reuse(depth=depth, source=source)


def worst_so_far(recording: Recording, distance: Int64) -> Int64:
    """For each listed block, the greatest distance of it and the blocks before it in its prompt; _NEVER where unknown.

    A block can be reused only with all before it, so it counts by the worst of them. Distances are below 2^38.
    """
    request = requests_of_blocks(recording)
    tagged = (request << _DISTANCE_BITS) | np.where(distance < 0, _NEVER, np.minimum(distance, _NEVER))
    return np.maximum.accumulate(tagged) & _NEVER


def distances_ms(recording: Recording, before: Int64) -> Int64:
    """Milliseconds, begun ones counted, since each listed block's last use by an earlier request; -1 without one."""
    request = requests_of_blocks(recording)
    known = _earlier(before, request)
    passed_ns = recording.t_ns[request] - recording.t_ns[request[np.maximum(before, 0)]]
    return np.where(known, -(-passed_ns // 1_000_000), -1)


def distances_blocks(recording: Recording, before: Int64) -> Int64:
    """Blocks listed since each block's last use: at least as many as a least-recently-used cache must hold."""
    request = requests_of_blocks(recording)
    known = _earlier(before, request)
    return np.where(known, np.arange(len(before)) - before, -1)


def whole_blocks(recording: Recording) -> tuple[Int64, Int64]:
    """Ends and ids of the blocks of each prompt that it fills; a last, shorter one cannot be shared."""
    if not recording.has_blocks:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    counts = recording.block_counts()
    whole = np.minimum(counts, recording.input_tokens // recording.block_tokens)
    place = np.arange(len(recording.prefix_blocks)) - np.repeat(recording.prefix_ends - counts, counts)
    return np.cumsum(whole), recording.prefix_blocks[place < np.repeat(whole, counts)]
