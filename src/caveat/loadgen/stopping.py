"""Stopping: a closed loop that ends by its own clock. Asked for beforehand, so it is no interruption.

Feeding stops after so long and what is in flight is waited for. Those requests were sent within the time, and to leave
them out would leave out the slow ones first: they count as measured. What did not end while draining stays marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from caveat.loadgen.clock import WallClock
from caveat.loadgen.rows import DRAIN, MEASURED, PHASES
from caveat.measure import Cancel, Sink
from caveat.units import NS_PER_S

if TYPE_CHECKING:
    import pyarrow as pa


class Stop:
    """Asks to stop when somebody else does, or when the time is over."""

    def __init__(self, after_s: float | None, clock: WallClock, cancel: Cancel | None) -> None:
        self._after_ns = None if after_s is None else round(after_s * NS_PER_S)
        self._clock, self._cancel = clock, cancel
        self.by_clock = False

    def requested(self) -> bool:
        """Whether no further request is to be sent."""
        if self.interrupted():
            return True
        if self._after_ns is not None and self._clock.now_ns() >= self._after_ns:
            self.by_clock = True
        return self.by_clock

    def interrupted(self) -> bool:
        """Whether somebody asked, before or after the time was over."""
        return self._cancel is not None and self._cancel.requested()


class InTime:
    """A sink before another: after a stop by the clock, what was drained counts as measured."""

    def __init__(self, sink: Sink, stop: Stop) -> None:
        self._sink, self._stop = sink, stop

    def take(self, batch: pa.RecordBatch) -> None:
        """Rows of the schema."""
        drained = self._stop.by_clock and not self._stop.interrupted()
        self._sink.take(_measured(batch) if drained else batch)

    def close(self) -> None:
        """No more rows."""
        self._sink.close()


def _measured(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    at = batch.schema.get_field_index("phase")
    phases = batch.column(at)
    cut = pc.fill_null(pc.equal(batch.column("error_class"), "cancelled"), False)
    ended = pc.and_(pc.equal(phases, PHASES[DRAIN]), pc.invert(cut))
    counted = pc.if_else(ended, PHASES[MEASURED], phases).cast(phases.type)
    columns = [*batch.columns[:at], counted, *batch.columns[at + 1 :]]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
