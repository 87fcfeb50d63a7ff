"""Which key of LoadGen's detail log is which metric, in one place for logs and published tables alike.

Left out on purpose: `result_token_throughput` (tokens per nanosecond) and `result_overlatency_query_count` (counts
every query in token mode). Formulas: mlcommons/inference loadgen/results.cc @ b66003e.
"""

from __future__ import annotations

from caveat.units import seconds_from_ns

_RATES: dict[str, str] = {
    "result_tokens_per_second": "loadgen-offline-tokens-rate",
    "result_samples_per_second": "loadgen-offline-samples-rate",
    "result_inferred_tokens_per_second": "loadgen-offline-tokens-rate-inferred",
    "result_completed_tokens_per_second": "loadgen-completed-tokens-rate",
    "result_completed_samples_per_sec": "loadgen-completed-samples-rate",
    "result_scheduled_samples_per_sec": "loadgen-scheduled-samples-rate",
    "result_inferred_completed_tokens_per_second": "loadgen-completed-tokens-rate-inferred",
}

# Streams only. With token latencies on, `early_stopping_latency_ss` holds a time to first token: see `is_stream_key`.
_STREAMS: dict[str, str] = {
    "result_qps_with_loadgen_overhead": "loadgen-stream-samples-rate",
    "result_token_throughput_with_loadgen_overhead": "loadgen-stream-tokens-rate",
    "early_stopping_latency_ss": "loadgen-single-stream-latency.p90",
}

_PERCENTILES: dict[str, str] = {
    "50.00": "p50",
    "90.00": "p90",
    "95.00": "p95",
    "97.00": "p97",
    "99.00": "p99",
    "99.90": "p99.9",
}

_LATENCIES: dict[str, str] = {
    **{f"result_{end}_latency_ns": f"loadgen-latency.{end}" for end in ("min", "mean", "max")},
    **{f"result_{p}_percentile_latency_ns": f"loadgen-latency.{key}" for p, key in _PERCENTILES.items()},
    **{f"result_first_token_{end}_latency_ns": f"loadgen-ttft.{end}" for end in ("min", "mean", "max")},
    **{f"result_first_token_{p}_percentile_latency_ns": f"loadgen-ttft.{key}" for p, key in _PERCENTILES.items()},
    **{f"result_time_to_output_token_{end}": f"loadgen-tpot.{end}" for end in ("min", "mean", "max")},
    **{f"result_time_per_output_token_{p}_percentile_ns": f"loadgen-tpot.{key}" for p, key in _PERCENTILES.items()},
}

LOADGEN_METRICS: dict[str, str] = {**_RATES, **_STREAMS, **_LATENCIES}
"""LoadGen key to metric key. Keys of one scenario may stand in the log of another: ask for the scenario's own."""

NANOSECONDS: frozenset[str] = frozenset((*_LATENCIES, "early_stopping_latency_ss"))
"""Keys whose values are nanoseconds; all others are per second."""


def is_stream_key(key: str) -> bool:
    """Whether the key means what its metric says only in the stream scenarios.

    `early_stopping_latency_ss` moreover only with token latencies off: with them on, the estimate that is written
    last, the one of the time to first token, overwrites it.
    """
    return key in _STREAMS


def stored_value(key: str, value: float) -> float:
    """The logged value of a key in the unit of its metric: nanoseconds become seconds, rates stay."""
    return seconds_from_ns(value) if key in NANOSECONDS else float(value)
