"""Plans and a sink for the tests of the generator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from caveat.loadgen import Endpoint, HttpTarget, Settings, WallClock
from caveat.measure import schema
from caveat.workload import NO_REQUEST, PlanBlock


def column(values: Sequence[int]) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


@dataclass
class Flat:
    """Equal requests, evenly spaced, in blocks of a few."""

    count: int
    gap_ns: int = 0
    concurrency: int | None = None
    block_tokens: int = 0
    per_block: int = 7

    def blocks(self) -> Iterator[PlanBlock]:
        for first in range(0, self.count, self.per_block):
            numbers = np.arange(first, min(self.count, first + self.per_block), dtype=np.int64)
            yield PlanBlock(
                at_ns=numbers * self.gap_ns,
                input_tokens=np.full(len(numbers), 12, np.int64),
                output_tokens=np.full(len(numbers), 3, np.int64),
            )

    def describe(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        return {}


@dataclass
class Chains:
    """Conversations of a few turns; each turn waits for the one before it."""

    sessions: int
    turns: int
    think_ns: int = 0
    concurrency: int | None = None
    block_tokens: int = 0

    def blocks(self) -> Iterator[PlanBlock]:
        numbers = np.arange(self.sessions * self.turns, dtype=np.int64)
        turn, session = np.divmod(numbers, self.sessions)
        yield PlanBlock(
            at_ns=np.zeros(len(numbers), np.int64),
            input_tokens=np.full(len(numbers), 12, np.int64),
            output_tokens=np.full(len(numbers), 3, np.int64),
            after=np.where(turn == 0, NO_REQUEST, numbers - self.sessions),
            think_ns=np.where(turn == 0, 0, self.think_ns),
            session=session,
            turn=turn,
        )

    def describe(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        return {}


@dataclass
class Kept:
    """A sink that keeps everything."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    closed: int = 0

    def take(self, batch: pa.RecordBatch) -> None:
        assert batch.schema.equals(schema(), check_metadata=True)
        batch.validate(full=True)
        self.batches.append(batch)

    def close(self) -> None:
        self.closed += 1

    def rows(self) -> list[dict[str, Any]]:
        """Samples by number."""
        table = pa.Table.from_batches(self.batches, schema())
        return sorted(table.to_pylist(), key=lambda row: row["request"])


QUICK = Settings(timeout_s=5.0, connect_timeout_s=2.0, idle_s=5.0, drain_s=1.0)


def offered(url: str, plan, *, settings: Settings = QUICK, cancel=None, **options) -> list[dict[str, Any]]:
    """Offer a plan to a url and give its samples; every request has one, and the sink is closed once."""
    fields = {key: options.pop(key) for key in list(options) if key in Endpoint.__struct_fields__}
    target = HttpTarget(Endpoint(**{"url": url, "model": "m", **fields}), settings=settings, **options)
    sink = Kept()
    target.offer(plan, sink, WallClock(), cancel)
    assert sink.closed == 1
    rows = sink.rows()
    if cancel is None:
        assert [row["request"] for row in rows] == list(range(sum(len(block) for block in plan.blocks())))
    return rows
