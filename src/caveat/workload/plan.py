"""Plan: the requests that are going to be made, in columns.

A plan says when each request is due (`at_ns`), or after which other request and how much thinking it becomes due
(`after`, `think_ns`). It is fixed before the run and never depends on completions, except through `after`.
Columns, not objects: a plan of ten million requests is a few arrays, read block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Whole = npt.NDArray[np.int64] | npt.NDArray[np.int32]
"""Whole numbers of either width: lengths of long recordings take half the room."""

NO_REQUEST = -1  # in `after` and `session`: not dependent, no session


def _empty() -> Int64:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBlock:
    """A run of consecutive requests. All columns but the prefix have one entry a request.

    at_ns             scheduled time from the start of the plan; for a dependent request the earliest time
    after             number of the request that must end first, or NO_REQUEST
    think_ns          time between that end and this request becoming due
    input_tokens      wanted length of the prompt
    output_tokens     wanted length of the answer
    session, turn     the conversation a request belongs to (or NO_REQUEST) and its place in it
    sample            which sample of a set a request asks: equal samples mean equal prompts
    prefix_ends       end of each request's shared-prefix blocks in `prefix_blocks`
    prefix_blocks     ids of shared prompt blocks, concatenated; equal ids mean equal text
    """

    at_ns: Int64
    input_tokens: Int64
    output_tokens: Int64
    after: Int64 = field(default_factory=_empty)
    think_ns: Int64 = field(default_factory=_empty)
    session: Int64 = field(default_factory=_empty)
    turn: Int64 = field(default_factory=_empty)
    sample: Int64 = field(default_factory=_empty)
    prefix_ends: Int64 = field(default_factory=_empty)
    prefix_blocks: Int64 = field(default_factory=_empty)

    def __post_init__(self) -> None:
        count = len(self.at_ns)
        for column in fields(self):
            values = getattr(self, column.name)
            if values.dtype != np.int64:
                raise ValueError(f"{column.name}: found {values.dtype}, expected int64")
            if column.name in ("at_ns", "input_tokens", "output_tokens") and len(values) != count:
                raise ValueError(f"{column.name}: found {len(values)} entries, expected {count}")
            if column.name != "prefix_blocks" and len(values) not in (0, count):
                raise ValueError(f"{column.name}: found {len(values)} entries, expected none or {count}")

    def __len__(self) -> int:
        return len(self.at_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """A closed loop in whole queries: `samples` requests begin together, the next ones when the slowest has ended.

    It ends by itself before a query, once `least` requests were made, the last query began `duration_ns` or more after
    the first, and the number of requests is a multiple of `step`; at the latest with the plan.
    """

    samples: int
    least: int
    duration_ns: int
    step: int

    def enough(self, made: int, lasted_ns: int) -> bool:
        """Whether no further query begins after so many requests, the last of which began so long after the first."""
        return made >= self.least and lasted_ns >= self.duration_ns and made % self.step == 0


class Plan(Protocol):
    """What a Target is offered. The same plan gives the same blocks on every machine.

    `concurrency` is the number of requests kept in flight by a closed loop, None for an open one; a closed
    loop ignores `at_ns`. `block_tokens` is the size of one prefix block. A plan may also have `queries`: see
    `queries_of`.
    """

    @property
    def concurrency(self) -> int | None:
        """Requests kept in flight, or None where arrivals are open."""
        ...

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where nothing is shared."""
        ...

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        ...

    def describe(self) -> Mapping[str, bool | int | float | str | dict[str, float]]:
        """The plan as values of conditions: scenario, arrivals, loop, lengths, rate."""
        ...


def queries_of(plan: Plan) -> Queries | None:
    """How a closed loop is made of whole queries; None for a plan that says nothing of them, as most."""
    found = getattr(plan, "queries", None)
    return found if isinstance(found, Queries) else None
