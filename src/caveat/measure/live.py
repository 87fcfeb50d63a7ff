"""Live: what a run looks like while it goes, in constant memory. A sink that another thread may ask at any time."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from caveat.measure.buckets import Buckets
from caveat.measure.columns import SampleColumns
from caveat.units import NS_PER_S

if TYPE_CHECKING:
    import pyarrow as pa

_RATE_WINDOW_S = 10
_SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveView:
    """One look. `in_flight` is None where nobody says it. Percentiles are (p50, p90, p99) in seconds,
    NaN before the first value, right to 0.05 % of themselves; nothing to be quoted, since they have no interval.

    `rate_per_s` is of requests that ended without error in the last ten seconds that are over.
    """

    ended: int
    failed: int
    errors: dict[str, int]
    in_flight: int | None
    rate_per_s: float
    output_tokens: int
    ttft_s: tuple[float, ...]
    tpot_s: tuple[float, ...]


class Live:
    """Counts and buckets of the samples so far. `in_flight` tells how many requests are under way, None: not known."""

    def __init__(self, in_flight: Callable[[], int | None] | None = None) -> None:
        self._in_flight = in_flight
        self._lock = threading.Lock()
        self._ended = 0
        self._errors: Counter[str] = Counter()
        self._tokens = 0
        self._ttft, self._tpot = Buckets(), Buckets()
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_RATE_WINDOW_S + 1)  # (second, successes), ascending

    def take(self, batch: pa.RecordBatch) -> None:
        """Count the rows; nothing of them is kept."""
        import pyarrow as pa

        columns = SampleColumns([pa.Table.from_batches([batch])])
        ok = ~columns.present("error_class")
        first, last = columns.numbers("first_token_ns"), columns.numbers("last_token_ns")
        counts = columns.numbers("output_tokens_usage")
        ends = columns.numbers("end_ns")[ok]
        seconds, successes = np.unique(ends[np.isfinite(ends)] // NS_PER_S, return_counts=True)
        with self._lock:
            self._ended += columns.rows
            self._errors.update(word for word in batch.column("error_class").to_pylist() if word is not None)
            self._tokens += int(np.nansum(counts[ok]))
            self._ttft.add((first - columns.numbers("ready_ns"))[ok])
            lasted = np.where(last > first, last - first, np.nan)
            self._tpot.add((lasted / np.where(counts >= 2, counts - 1, np.nan))[ok])
            for second, count in zip(seconds, successes, strict=True):
                self._count(int(second), int(count))

    def close(self) -> None:
        """Nothing to do: the last look stays."""

    def view(self, now_ns: int) -> LiveView:
        """A look at a moment of the plan's clock."""
        with self._lock:
            return LiveView(
                ended=self._ended,
                failed=sum(self._errors.values()),
                errors=dict(self._errors),
                in_flight=self._in_flight() if self._in_flight else None,
                rate_per_s=self._rate(now_ns),
                output_tokens=self._tokens,
                ttft_s=_percentiles(self._ttft),
                tpot_s=_percentiles(self._tpot),
            )

    def _count(self, second: int, successes: int) -> None:
        """Add to a second's count. A straggler of a second gone by counts to the latest: the view is of now."""
        if self._seconds and self._seconds[-1][0] >= second:
            latest, count = self._seconds[-1]
            self._seconds[-1] = (latest, count + successes)
        else:
            self._seconds.append((second, successes))

    def _rate(self, now_ns: int) -> float:
        now = now_ns // NS_PER_S
        over = min(now, _RATE_WINDOW_S)
        return sum(count for second, count in self._seconds if now - over <= second < now) / over if over else 0.0


def _percentiles(times: Buckets) -> tuple[float, ...]:
    return tuple(times.percentile(share) / NS_PER_S for share in _SHARES)
