"""What a plan asks of a server, read once: lengths, how many requests come how fast and how evenly, what is shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CannotSayError
from caveat.simulator.length_mix import Int64, LengthMix, mix_of
from caveat.units import NS_PER_S
from caveat.workload import NO_REQUEST, Plan, PlanBlock, PlanStatistics

Values = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offered:
    """What a plan asks of a server.

    rate_per_s   of all requests; of conversations that of all turns, as if none waited for another longer than it
                 takes to answer. None where completions hold back arrivals, and where all come at once
    at_once      requests that are there together because the plan says so; None where they come one by one
    arrival_cv   what the gaps between requests that wait for no other show at least; None without gaps
    reuse        share of prompt tokens in blocks that an earlier request began with; None where the plan has no blocks
    """

    requests: int
    rate_per_s: float | None
    at_once: int | None
    arrival_cv: float | None
    input_tokens: Int64
    output_tokens: Int64
    reuse: float | None

    def mix(self, prefix_hit: float) -> LengthMix:
        """Of its lengths."""
        return mix_of(self.input_tokens, self.output_tokens, prefix_hit=prefix_hit)


def offered_by(plan: Plan) -> Offered:
    """One reading of a plan. CannotSayError where it has no requests."""
    blocks = list(plan.blocks())
    inputs = _column(blocks, "input_tokens")
    if not len(inputs):
        raise CannotSayError("prediction: found a plan without requests")
    at_ns = _column(blocks, "at_ns")
    first_ns = np.sort(at_ns[np.concatenate([_first(block) for block in blocks])])
    span_s = float(at_ns.max() - first_ns[0]) / NS_PER_S
    open_loop = plan.concurrency is None and first_ns[-1] > first_ns[0]
    turns = len(inputs) / len(first_ns)
    return Offered(
        requests=len(inputs),
        rate_per_s=(len(first_ns) - 1) * turns / span_s if open_loop else None,
        at_once=None if open_loop else plan.concurrency or len(first_ns),
        arrival_cv=certain_cv(np.diff(first_ns)) if open_loop else None,
        input_tokens=inputs,
        output_tokens=_column(blocks, "output_tokens"),
        reuse=_reuse(plan) if plan.block_tokens else None,
    )


def certain_cv(values: Values) -> float:
    """Standard deviation by mean, less twice its sampling error: what so many values show at least. At least 0."""
    return max(0.0, _cv(values) * (1 - 2 / math.sqrt(max(1, len(values)))))


def possible_cv(values: Values) -> float:
    """The same, and twice its sampling error more: what the law behind so many values may have."""
    return _cv(values) * (1 + 2 / math.sqrt(max(1, len(values))))


def _first(block: PlanBlock) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which requests wait for no other."""
    return block.after == NO_REQUEST if len(block.after) else np.ones(len(block), dtype=bool)


def _column(blocks: Sequence[PlanBlock], name: str) -> Int64:
    found: Int64 = np.concatenate([getattr(block, name) for block in blocks] or [np.empty(0, np.int64)])
    return found


def _cv(values: Values) -> float:
    mean = float(np.mean(values)) if len(values) else 0.0
    return float(np.std(values)) / mean if mean > 0 else 0.0


def _reuse(plan: Plan) -> float:
    statistics = PlanStatistics(plan)
    return min(1.0, statistics.reused_blocks() * plan.block_tokens / statistics.input_tokens.total())
