"""How long samples take to become figures, beside the same percentiles without any interval, and what memory they need.

Run from the root of the checkout: `python -m benchmarks.bench_summary`. Times are the best of three.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from caveat.measure import Kept, ParquetSink, Sink, Slo, WarmUp, difference, schema, summarize

REQUESTS = 1_000_000
REPEATS = 3
SHARES = [50, 90, 95, 99, 99.9]
TIMES = ("first_token_ns", "last_token_ns", "end_ns")


def main() -> None:
    table = queue(np.random.default_rng(1))
    other = queue(np.random.default_rng(2))
    everything = best_s(lambda: summarize(table, workload={}, slo=Slo(ttft_s=0.1), warmup=WarmUp(until_steady=True)))
    plain = best_s(lambda: percentiles_alone(table))
    print(f"summary: {REQUESTS:,} samples to figures, conditions and validity in {everything:.2f} s")
    print(f"summary: {everything / plain:.1f} times as long as numpy's percentiles of seven latencies ({plain:.2f} s)")
    print(f"summary: difference of two such runs in {best_s(lambda: difference(table, other, MEAN)):.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        paths = iter([Path(folder) / f"{number}.parquet" for number in range(REPEATS)])
        written = best_s(lambda: write(table, ParquetSink(next(paths))))
        size = (Path(folder) / "0.parquet").stat().st_size
        from_file = best_s(lambda: summarize(Path(folder) / "0.parquet", workload={}))
    kept = best_s(lambda: write(table, Kept()))
    print(
        f"samples: {REQUESTS / written:,.0f} a second to disk ({size / REQUESTS:.0f} bytes each), kept in {kept:.3f} s"
    )
    print(f"summary: from that file in {from_file:.2f} s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB, two tables inside")


MEAN = "caveat-latency.mean"


def queue(rng: np.random.Generator) -> pa.Table:
    """One server at 70 % with Poisson arrivals."""
    gaps, work = rng.exponential(1.0, REQUESTS), rng.exponential(0.7, REQUESTS)
    walk = np.concatenate(([0.0], np.cumsum(work[:-1] - gaps[1:])))
    due = np.cumsum(gaps * 1e7).astype(np.int64)
    end = due + ((walk - np.minimum.accumulate(walk) + work) * 1e7).astype(np.int64)
    columns: dict[str, np.ndarray | list[str]] = {
        "request": np.arange(REQUESTS),
        **dict.fromkeys(("scheduled_ns", "ready_ns", "sent_ns"), due),
        **dict.fromkeys(("first_byte_ns", "first_token_ns"), (due + end) // 2),
        **dict.fromkeys(("last_token_ns", "end_ns"), end),
        **dict.fromkeys(("input_tokens_wanted", "input_tokens_usage"), np.full(REQUESTS, 500)),
        **dict.fromkeys(("output_tokens_wanted", "output_tokens_usage"), rng.integers(1, 400, REQUESTS)),
        "phase": ["measured"] * REQUESTS,
    }
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(REQUESTS, field.type)
        for field in schema()
    ]
    return pa.table(arrays, schema=schema())


def percentiles_alone(table: pa.Table) -> None:
    due = table.column("ready_ns").to_numpy()
    for name in (*TIMES, *TIMES, "sent_ns"):
        np.percentile(table.column(name).to_numpy() - due, SHARES)


def write(table: pa.Table, sink: Sink) -> None:
    for batch in table.to_batches(max_chunksize=1000):
        sink.take(batch)
    sink.close()


def best_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        work()
        times.append(time.perf_counter() - began_s)
    return min(times)


if __name__ == "__main__":
    main()
