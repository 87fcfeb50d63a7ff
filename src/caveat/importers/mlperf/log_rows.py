"""The rows of a LoadGen log: every rate and latency in its metric's unit, and the mean output length they imply."""

from __future__ import annotations

from caveat.facts import result_key
from caveat.figures import Row, Spread
from caveat.importers.mlperf.joined_log import SERVER_RATES, TWO_DECIMALS, JoinedLog
from caveat.importers.mlperf.loadgen_log import SUMMARY
from caveat.importers.mlperf.result_metrics import LOADGEN_METRICS, is_stream_key, stored_value
from caveat.units import seconds_from_ms

STREAMS = ("single-stream", "multi-stream")
OPEN_LOOP = ("server", "interactive")
TOKENS_PER_SAMPLE = "tokens-per-sample.mean"

# token rate, sample rate of the same window, whether the sample rate counts one sample less
_TOKENS_BY_SAMPLES: tuple[tuple[str, str, bool], ...] = (
    ("result_tokens_per_second", "result_samples_per_second", False),
    ("result_completed_tokens_per_second", "result_completed_samples_per_sec", True),
    ("result_token_throughput_with_loadgen_overhead", "result_qps_with_loadgen_overhead", True),
)

# Where no table says which key was published: the first that the log has.
_FALLBACK = (
    "result_completed_tokens_per_second",
    "result_tokens_per_second",
    "result_inferred_completed_tokens_per_second",
    "result_inferred_tokens_per_second",
    "result_completed_samples_per_sec",
    "result_samples_per_second",
)
_FALLBACK_STREAMS = ("early_stopping_latency_ss", "result_90.00_percentile_latency_ns")


def rows_of(joined: JoinedLog, scenario: str) -> tuple[Row, ...]:
    """Every row of the run; `source` is the index of the log that said it."""
    samples = joined.samples
    rows = [
        Row(
            metric=metric,
            value=stored_value(key, value),
            n=samples,
            source=joined.source_of(key),
            source_key=key,
        )
        for key, metric in LOADGEN_METRICS.items()
        if (value := joined.log.number(key)) is not None and _means_it(key, scenario, joined.token_mode)
    ]
    length = tokens_per_sample(joined, scenario)
    return (*rows, length) if length else tuple(rows)


def primary_key(joined: JoinedLog, benchmark_id: str | None, round_name: str | None, scenario: str) -> str | None:
    """The LoadGen key of the published result; None where the log does not have it."""
    official = result_key(round_name, benchmark_id, scenario) if benchmark_id and round_name else None
    if official is not None:
        told = official in joined.log.values and _means_it(official, scenario, joined.token_mode)
        return official if told else None
    candidates = _FALLBACK_STREAMS if scenario in STREAMS else _FALLBACK
    return next(
        (key for key in candidates if key in joined.log.values and _means_it(key, scenario, joined.token_mode)), None
    )


def _means_it(key: str, scenario: str, token_mode: bool) -> bool:
    """Whether the key means in this scenario what its metric says."""
    if key == "early_stopping_latency_ss":  # token mode overwrites it with a time to first token
        return scenario == "single-stream" and not token_mode
    return not is_stream_key(key) or scenario in STREAMS


def tokens_per_sample(joined: JoinedLog, scenario: str) -> Row | None:
    """Mean output tokens of a sample: token rate / sample rate, with LoadGen's n - 1 taken back.

    Server and stream sample rates count n - 1 samples. Where the log does not tell n, at least the demanded
    duration's worth of samples was issued, and leaving the factor out is noted.
    """
    for tokens_key, samples_key, one_less in _TOKENS_BY_SAMPLES:
        tokens, samples = joined.log.number(tokens_key), joined.log.number(samples_key)
        if tokens is None or samples is None or not _means_it(tokens_key, scenario, joined.token_mode):
            continue
        n = joined.samples
        factor = (n - 1) / n if one_less and n else 1.0
        return Row(
            metric=TOKENS_PER_SAMPLE,
            value=tokens / samples * factor,
            n=n,
            spread=_rounding(joined, tokens, samples, factor) if samples_key in SERVER_RATES else None,
            source=joined.source_of(tokens_key),
            source_key=f"{tokens_key} / {samples_key}",
            notes=(_without_n(joined),) if one_less and not n else (),
        )
    return None


def _without_n(joined: JoinedLog) -> str:
    rate, least_ms = (
        joined.log.number("result_scheduled_samples_per_sec"),
        joined.log.count("effective_min_duration_ms"),
    )
    least = rate * seconds_from_ms(least_ms) if rate and least_ms else 0
    size = f", at most 1 in {least:,.0f}" if least > 1 else ""
    return f"the number of samples is not in this log: LoadGen's factor (n - 1) / n is left out{size}"


def _rounding(joined: JoinedLog, tokens: float, samples: float, factor: float) -> Spread | None:
    """What two decimals of a small rate leave open, where only the summary has it."""
    if joined.logs[0].kind != SUMMARY or len(joined.logs) > 1 or samples > 5_000 * TWO_DECIMALS:
        return None
    return Spread(
        low=(tokens - TWO_DECIMALS) / (samples + TWO_DECIMALS) * factor,
        high=(tokens + TWO_DECIMALS) / max(samples - TWO_DECIMALS, TWO_DECIMALS) * factor,
        method="rounding of both rates to two decimals",
    )
