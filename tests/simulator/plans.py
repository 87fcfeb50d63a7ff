"""Plans, models and offers for the tests of the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from caveat.measure import Kept
from caveat.simulator.internals import Internals
from caveat.simulator.step_time import Piece, StepTime
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import PlanBlock, Queries

Int64 = npt.NDArray[np.int64]
MS = 1_000_000
S = 1_000_000_000


@dataclass(frozen=True)
class Columns:
    """A plan of given columns, in blocks of so many requests."""

    at_ns: Sequence[int] | Int64
    input_tokens: Sequence[int] | Int64
    output_tokens: Sequence[int] | Int64
    after: Sequence[int] = ()
    think_ns: Sequence[int] = ()
    prefixes: Sequence[Sequence[int]] = ()
    concurrency: int | None = None
    block_tokens: int = 0
    block_requests: int = 1 << 16
    queries: Queries | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    def blocks(self) -> Iterator[PlanBlock]:
        for begin in range(0, len(self.at_ns), self.block_requests):
            part = slice(begin, begin + self.block_requests)
            ids = self.prefixes[part]
            yield PlanBlock(
                at_ns=_ints(self.at_ns[part]),
                input_tokens=_ints(self.input_tokens[part]),
                output_tokens=_ints(self.output_tokens[part]),
                after=_ints(self.after[part]),
                think_ns=_ints(self.think_ns[part]),
                prefix_ends=_ints(np.cumsum([len(one) for one in ids])),
                prefix_blocks=_ints([key for one in ids for key in one]),
            )

    def describe(self) -> Mapping[str, str]:
        return self.said


def _ints(values: Sequence[int] | Int64) -> Int64:
    return np.asarray(values, dtype=np.int64)


def poisson(rng: np.random.Generator, rate_per_s: float, count: int) -> Int64:
    """Arrival times."""
    return np.cumsum(rng.exponential(S / rate_per_s, count)).astype(np.int64)


def affine(step_ms: float = 0.0, token_ms: float = 0.0, sequence_ms: float = 0.0, context_ms: float = 0.0) -> StepTime:
    """One piece, in milliseconds."""
    piece = Piece(
        step_s=step_ms / 1e3,
        prompt_token_s=token_ms / 1e3,
        sequence_s=sequence_ms / 1e3,
        context_token_s=context_ms / 1e3,
    )
    return StepTime(pieces=(piece,))


@dataclass(frozen=True)
class Served:
    """Samples in order of their numbers."""

    table: pa.Table
    internals: Internals

    def s(self, name: str) -> npt.NDArray[np.float64]:
        """A column of instants in seconds, NaN for null."""
        return np.asarray(self.table[name].to_numpy(zero_copy_only=False)) / S

    def ints(self, name: str) -> Int64:
        return np.asarray(self.table[name].to_numpy(), dtype=np.int64)

    def e2e_s(self) -> npt.NDArray[np.float64]:
        return self.s("end_ns") - self.s("ready_ns")

    def ttft_s(self) -> npt.NDArray[np.float64]:
        return self.s("first_token_ns") - self.s("ready_ns")


def serve(server: SimulatedServer, plan: Columns) -> Served:
    """Offer a plan."""
    sink = Kept()
    server.offer(plan, sink, VirtualClock())
    assert server.internals is not None
    return Served(sink.table().sort_by("request"), server.internals)
