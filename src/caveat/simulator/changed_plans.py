"""Plans made of another plan: faster or slower, with every length at its mean, with independent arrivals.

All keep the numbers of the requests, so that what is compared differs in nothing else (common random numbers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from caveat.errors import UsageError
from caveat.workload import NO_REQUEST, Plan, PlanBlock, Queries, queries_of

Described = bool | int | float | str | dict[str, float]


class _Of:
    """What a changed plan has from the plan behind it."""

    plan: Plan

    @property
    def concurrency(self) -> int | None:
        """That of the plan."""
        return self.plan.concurrency

    @property
    def block_tokens(self) -> int:
        """Those of the plan."""
        return self.plan.block_tokens

    @property
    def queries(self) -> Queries | None:
        """Those of the plan."""
        return queries_of(self.plan)

    def describe(self) -> Mapping[str, Described]:
        """As the plan says it: of a changed plan nobody keeps conditions."""
        return self.plan.describe()


@dataclass(frozen=True)
class Sped(_Of):
    """Arrivals `speed` times as fast. Think times stay: users are not hurried."""

    plan: Plan
    speed: float

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests, sooner or later."""
        for block in self.plan.blocks():
            yield replace(block, at_ns=np.rint(block.at_ns / self.speed).astype(np.int64))


@dataclass(frozen=True)
class OneShape(_Of):
    """Every prompt and every answer as long as their mean, and nothing shared."""

    plan: Plan

    @property
    def block_tokens(self) -> int:
        """Nothing is shared."""
        return 0

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests, all alike."""
        blocks = list(self.plan.blocks())
        count = max(1, sum(map(len, blocks)))
        prompt = max(1, round(sum(int(block.input_tokens.sum()) for block in blocks) / count))
        output = max(1, round(sum(int(block.output_tokens.sum()) for block in blocks) / count))
        none = np.empty(0, np.int64)
        for block in blocks:
            alike = {"input_tokens": np.full(len(block), prompt), "output_tokens": np.full(len(block), output)}
            yield replace(block, **alike, prefix_ends=none, prefix_blocks=none)


@dataclass(frozen=True)
class Independent(_Of):
    """The same number of requests in the same time, arriving independently: a Poisson process given its count."""

    plan: Plan
    seed: int

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests at other times. UsageError where requests wait for others: they make their own arrivals."""
        blocks = list(self.plan.blocks())
        if self.plan.concurrency is not None or any((block.after != NO_REQUEST).any() for block in blocks):
            raise UsageError("independent arrivals: found requests that wait for others")
        at_ns = np.concatenate([block.at_ns for block in blocks] or [np.empty(0, np.int64)])
        if not len(at_ns):
            return
        rng = np.random.default_rng(self.seed)
        drawn = np.sort(rng.integers(int(at_ns.min()), int(at_ns.max()), len(at_ns), endpoint=True))
        ends = np.cumsum([len(block) for block in blocks])
        for block, times in zip(blocks, np.split(drawn, ends[:-1]), strict=True):
            yield replace(block, at_ns=times)
