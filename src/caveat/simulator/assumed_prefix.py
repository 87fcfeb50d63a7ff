"""A share of every prompt that is taken to be found in a prefix cache, for plans that share no beginnings themselves.

The model's `prefix_hit` is about prompts, so it is brought in as prompts: each begins with the same text, in blocks,
for that share of its length. Its blocks are held once, as those of a common system prompt are. The first request of
each replica computes them, and a share is rounded down to whole blocks: what came of it is counted by the replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from caveat.simulator.length_mix import checked_share
from caveat.workload import Plan, PlanBlock, Queries, queries_of

Described = bool | int | float | str | dict[str, float]


@dataclass(frozen=True)
class AssumedPrefix:
    """A plan whose prompts begin alike for `share` of their length, in blocks of `block_tokens` tokens."""

    plan: Plan
    share: float
    block_tokens: int

    @property
    def concurrency(self) -> int | None:
        """That of the plan."""
        return self.plan.concurrency

    @property
    def queries(self) -> Queries | None:
        """Those of the plan."""
        return queries_of(self.plan)

    def blocks(self) -> Iterator[PlanBlock]:
        """The plan's requests, each with the first blocks of one chain."""
        for block in self.plan.blocks():
            counts = (block.input_tokens * self.share).astype(np.int64) // self.block_tokens
            ends = np.cumsum(counts)
            starts = np.repeat(ends - counts, counts)
            yield replace(block, prefix_ends=ends, prefix_blocks=np.arange(ends[-1], dtype=np.int64) - starts)

    def describe(self) -> Mapping[str, Described]:
        """As the plan says it: what is assumed of a cache is no part of the workload."""
        return self.plan.describe()


def with_assumed_prefix(plan: Plan, share: float, block_tokens: int) -> Plan:
    """The plan with the share assumed; the plan itself where it has shared beginnings of its own, or the share is 0.

    InputError for a share outside 0 to 1.
    """
    if plan.block_tokens or not checked_share(share):
        return plan
    return AssumedPrefix(plan, share, block_tokens)
