"""The protocol can be carried out: a small modelled target in virtual time, an open plan, a list as sink."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from caveat.measure import COLUMNS, FORMAT, Cancel, Clock, Sink, Target, schema
from caveat.workload import NO_REQUEST, Plan, PlanBlock

SERVICE_NS = 1_000
THINK_NS = 250


@dataclass
class Evenly:
    """Requests every `gap_ns`; every second one waits for the one before it."""

    count: int
    gap_ns: int
    concurrency: int | None = None
    block_tokens: int = 0

    def blocks(self) -> Iterator[PlanBlock]:
        numbers = np.arange(self.count, dtype=np.int64)
        after = np.where(numbers % 2 == 1, numbers - 1, NO_REQUEST)
        yield PlanBlock(
            at_ns=numbers * self.gap_ns,
            input_tokens=np.full(self.count, 10, dtype=np.int64),
            output_tokens=np.full(self.count, 3, dtype=np.int64),
            after=after,
            think_ns=np.where(after == NO_REQUEST, 0, THINK_NS),
        )

    def describe(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        return {"arrivals": "constant", "loop": "open"}


class VirtualClock:
    """Moves when the model says so."""

    def __init__(self) -> None:
        self.at_ns = 0

    def now_ns(self) -> int:
        return self.at_ns


class FixedServer:
    """Every request takes the same time, in virtual time, however many run."""

    def offer(self, plan: Plan, sink: Sink, clock: Clock, cancel: Cancel | None = None) -> None:
        ends: dict[int, int] = {}
        for block in plan.blocks():
            for number in range(len(block)):
                waits_for = int(block.after[number])
                ready = int(block.at_ns[number])
                if waits_for != NO_REQUEST:
                    ready = max(ready, ends[waits_for] + int(block.think_ns[number]))
                ends[number] = ready + SERVICE_NS
                row: dict[str, object] = dict.fromkeys(name for name, *_ in COLUMNS)
                row |= {"request": number, "scheduled_ns": int(block.at_ns[number]), "ready_ns": ready}
                row |= {"sent_ns": ready, "end_ns": ends[number], "phase": "measured"}
                row |= {"input_tokens_wanted": 10, "output_tokens_wanted": 3}
                sink.take(pa.RecordBatch.from_pylist([row], schema=schema()))
        sink.close()


@dataclass
class Kept:
    """A sink that keeps everything."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    closed: int = 0

    def take(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)

    def close(self) -> None:
        self.closed += 1


def test_a_target_gives_one_sample_for_every_planned_request():
    """Nothing is lost, and the sink is closed once."""
    target: Target = FixedServer()
    sink = Kept()
    target.offer(Evenly(count=6, gap_ns=100), sink, VirtualClock())
    table = pa.Table.from_batches(sink.batches)
    assert table.column("request").to_pylist() == list(range(6))
    assert sink.closed == 1


def test_latency_of_a_dependent_request_counts_from_when_it_became_ready():
    """It is ready when the request before it has ended and the user has thought."""
    sink = Kept()
    FixedServer().offer(Evenly(count=2, gap_ns=100), sink, VirtualClock())
    first, second = pa.Table.from_batches(sink.batches).to_pylist()
    assert first["ready_ns"] == first["scheduled_ns"] == 0
    assert second["ready_ns"] == first["end_ns"] + THINK_NS > second["scheduled_ns"]


def test_the_schema_carries_its_format_and_a_meaning_for_every_column():
    """A samples file explains itself."""
    arrow = schema()
    assert arrow.metadata == {b"format": FORMAT.encode()}
    assert [item.name for item in arrow] == [name for name, *_ in COLUMNS]
    assert all(item.metadata[b"meaning"] for item in arrow)


def test_times_are_whole_nanoseconds_and_may_be_missing():
    """A time that did not happen is null, never zero; only what every request has is required."""
    times = [item for item in schema() if item.name.endswith("_ns") and item.name != "chunk_ns"]
    assert {item.type for item in times} == {pa.int64()}
    assert [item.name for item in times if not item.nullable] == ["ready_ns"]


@pytest.mark.parametrize(
    ("column", "values"),
    [("input_tokens", [1]), ("after", [0]), ("prefix_ends", [1, 2, 3]), ("at_ns", [1.0, 2.0])],
)
def test_a_plan_block_with_columns_that_do_not_fit_is_refused(column, values):
    """The message names the column."""
    good = {name: np.zeros(2, dtype=np.int64) for name in ("at_ns", "input_tokens", "output_tokens")}
    with pytest.raises(ValueError, match=column if column != "at_ns" else "expected int64"):
        PlanBlock(**{**good, column: np.asarray(values)})
