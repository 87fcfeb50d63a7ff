"""Small sinks: to several at once, counting, keeping in memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from caveat.measure.samples import schema
from caveat.measure.target import Sink

if TYPE_CHECKING:
    import pyarrow as pa


class Tee:
    """Hands every batch to several sinks, in their order. At close all are closed, whatever one of them raises."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    def take(self, batch: pa.RecordBatch) -> None:
        """The batch goes to each."""
        for sink in self._sinks:
            sink.take(batch)

    def close(self) -> None:
        """Close all; the first error is raised when the last is closed."""
        first: Exception | None = None
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as error:  # raised below
                first = first or error
        if first is not None:
            raise first


class Counting:
    """Counts requests, and failures by class."""

    def __init__(self) -> None:
        self.requests = 0
        self.failures: Counter[str] = Counter()
        self.closed = False

    def take(self, batch: pa.RecordBatch) -> None:
        """Count the rows."""
        self.requests += batch.num_rows
        self.failures.update(word for word in batch.column("error_class").to_pylist() if word is not None)

    def close(self) -> None:
        """Remember that the end was reached."""
        self.closed = True


class Kept:
    """Keeps everything in memory, for short runs and for models."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch) -> None:
        """Keep the rows."""
        self._batches.append(batch)

    def close(self) -> None:
        """Nothing to do: the table is there at any time."""

    def table(self) -> pa.Table:
        """All rows so far."""
        import pyarrow as pa

        return pa.Table.from_batches(self._batches, schema())
