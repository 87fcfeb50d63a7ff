"""Live: what a run looks like while it goes, in constant memory. A sink that another thread may ask at any time."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from caveat.measure.buckets import Buckets
from caveat.measure.columns import Flags, Floats, SampleColumns
from caveat.measure.early_stopping import fewest_to_certify, queries_needed
from caveat.measure.scenario import Scenario
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
    more_queries: int | None = None


class Live:
    """Counts and buckets of the samples so far. `in_flight` tells how many requests are under way, None: not known.

    With a scenario, `more_queries` of a look is how many more are needed until its percentiles are certified, if none
    of them is above a limit; None where there is nothing to certify.
    """

    def __init__(self, in_flight: Callable[[], int | None] | None = None, scenario: Scenario | None = None) -> None:
        self._in_flight, self._scenario = in_flight, scenario
        self._over = dict.fromkeys(scenario.limits() if scenario else (), 0)  # requests above each limit
        self._lock = threading.Lock()
        self._ended = 0
        self._errors: Counter[str] = Counter()
        self._tokens = 0
        self._ttft, self._tpot = Buckets(), Buckets()
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_RATE_WINDOW_S + 1)  # (second, successes), ascending
        self._more_queries()  # loads what it needs now: later it would hold up the run

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
            self._count_over(columns, ok)
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
                more_queries=self._more_queries(),
            )

    def _count_over(self, columns: SampleColumns, ok: Flags) -> None:
        """Which are above a limit, as `scenario_checks` will judge them; a failure is above all of them."""
        limits = self._scenario.limits() if self._scenario and self._over else {}
        for field, limit_s in limits.items():
            self._over[field] += int(np.count_nonzero(~ok | (_LIMITED[field](columns) > round(limit_s * NS_PER_S))))

    def _more_queries(self) -> int | None:
        scenario = self._scenario
        if scenario is None or scenario.name == "offline":
            return None
        needed = [queries_needed(scenario.percentile, over) for over in self._over.values()]
        needed = needed or [fewest_to_certify(scenario.percentile)]
        return max(0, max(*needed, scenario.min_queries) - self._ended // scenario.samples_per_query)

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


def _tpot_ns(columns: SampleColumns) -> Floats:
    counts = columns.numbers("output_tokens_usage")
    streamed = columns.numbers("end_ns") - columns.numbers("first_token_ns")
    return np.floor(streamed / np.where(counts >= 2, counts - 1, np.nan))


_LIMITED: dict[str, Callable[[SampleColumns], Floats]] = {
    "ttft_s": lambda columns: columns.numbers("first_token_ns") - columns.numbers("ready_ns"),
    "tpot_s": _tpot_ns,
    "latency_s": lambda columns: columns.numbers("end_ns") - columns.numbers("ready_ns"),
}


def _percentiles(times: Buckets) -> tuple[float, ...]:
    return tuple(times.percentile(share) / NS_PER_S for share in _SHARES)
