"""What every metric means: not a word but a definition.

At least five things are called TPOT. A metric here is (name, definition id, token source, window, statistic,
percentile method); each has its own key, and two figures may be compared only if their keys are equal.
Names follow OpenTelemetry's GenAI conventions where it has one, else the word of the field.
The table is `METRICS`; to add a metric, add a line to `_RATES`, `_LATENCIES`, sample_metrics.py or
accuracy_metrics.py.
"""

from __future__ import annotations

import msgspec

from caveat.figures.accuracy_metrics import ACCURACY_DEFINITIONS
from caveat.figures.sample_metrics import DEFINITIONS, PERCENTILES, Better
from caveat.units import Unit

LOADGEN = "mlcommons/inference loadgen/results.cc @ b66003e"
FLOOR_RANK = "sorted[floor(n*p)], no interpolation"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of one metric. Frozen; `key` is unique and stable for ever.

    `definition` names the formula, `statistic` what is taken of it (`rate`, `mean`, `p99`, `max`), `window` the
    stretch of time over which a rate is formed or from which a latency counts, `token_source` who counted.
    """

    key: str
    name: str
    definition: str
    statistic: str
    unit: Unit
    meaning: str
    window: str
    token_source: str = "none"  # noqa: S105  (nobody counted tokens)
    percentile_method: str = "none"
    better: Better = "higher"
    source: str = LOADGEN


def _rate(key: str, name: str, unit: Unit, window: str, meaning: str, *, tokens: str = "none") -> Metric:
    return Metric(
        key=key,
        name=name,
        definition=key,
        statistic="rate",
        unit=unit,
        window=window,
        meaning=meaning,
        token_source=tokens,
    )


_OFFLINE_WINDOW = "test start to the completion of the slowest sample (the tail is inside)"
_SERVER_WINDOW = "test start to the completion of the last issued query"
_STREAM_WINDOW = "test start to the issue of the last query"
_SUT = "reported by the system under test, not checked by the harness"

_RATES: tuple[Metric, ...] = (
    _rate(
        "loadgen-offline-tokens-rate",
        "output_token_rate",
        Unit.TOKENS_PER_SECOND,
        _OFFLINE_WINDOW,
        "output tokens of all samples / longest sample latency; every sample is offered at once",
        tokens=_SUT,
    ),
    _rate(
        "loadgen-offline-samples-rate",
        "request_rate",
        Unit.SAMPLES_PER_SECOND,
        _OFFLINE_WINDOW,
        "samples / longest sample latency; every sample is offered at once",
    ),
    _rate(
        "loadgen-completed-tokens-rate",
        "output_token_rate",
        Unit.TOKENS_PER_SECOND,
        _SERVER_WINDOW,
        "output tokens of all samples / time to the completion of the last issued query, at the rate asked for",
        tokens=_SUT,
    ),
    _rate(
        "loadgen-completed-samples-rate",
        "request_rate",
        Unit.SAMPLES_PER_SECOND,
        _SERVER_WINDOW,
        "(samples - 1) / time to the completion of the last issued query, at the rate asked for",
    ),
    _rate(
        "loadgen-scheduled-samples-rate",
        "scheduled_request_rate",
        Unit.SAMPLES_PER_SECOND,
        "test start to the scheduled time of the last issued query",
        "(samples - 1) / scheduled time of the last query: what was offered, not what was served",
    ),
    _rate(
        "loadgen-offline-tokens-rate-inferred",
        "output_token_rate",
        Unit.TOKENS_PER_SECOND,
        _OFFLINE_WINDOW,
        "69 x samples/s: tokens were not counted but assumed (GPT-J only)",
        tokens="assumed: 69 tokens a sample",
    ),
    _rate(
        "loadgen-completed-tokens-rate-inferred",
        "output_token_rate",
        Unit.TOKENS_PER_SECOND,
        _SERVER_WINDOW,
        "69 x completed samples/s: tokens were not counted but assumed (GPT-J only)",
        tokens="assumed: 69 tokens a sample",
    ),
    _rate(
        "loadgen-stream-samples-rate",
        "request_rate",
        Unit.SAMPLES_PER_SECOND,
        _STREAM_WINDOW,
        "(queries - 1) / issue time of the last query, one query in flight",
    ),
    _rate(
        "loadgen-stream-tokens-rate",
        "output_token_rate",
        Unit.TOKENS_PER_SECOND,
        _STREAM_WINDOW,
        "output tokens / issue time of the last query, one query in flight",
        tokens=_SUT,
    ),
    _rate(
        "loadgen-offline-tasks-rate",
        "request_rate",
        Unit.TASKS_PER_SECOND,
        _OFFLINE_WINDOW,
        "tasks / longest task latency; every task is offered at once",
    ),
)

_STATISTICS = ("min", "mean", "p50", "p90", "p95", "p97", "p99", "p99.9", "max")

# definition id, name, window (where the clock starts), meaning of one value, who counted tokens
_LATENCIES: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "loadgen-ttft",
        "time_to_first_token",
        "from the scheduled arrival (open loop) or the issue (streams)",
        "time until the system under test reports the first token",
        _SUT,
    ),
    (
        "loadgen-tpot",
        "time_per_output_token",
        "from the first token",
        "(sample latency - TTFT) / (tokens - 1) in whole nanoseconds, one value per sample, each weighing the same",
        _SUT,
    ),
    (
        "loadgen-latency",
        "request_latency",
        "from the scheduled arrival (open loop), the issue (streams) or the test start (burst)",
        "time until the whole response is there",
        "none",
    ),
    (
        "loadgen-query-latency",
        "query_latency",
        "from the issue of the query",
        "time until the slowest sample of a query of several is there",
        "none",
    ),
)


def _latencies() -> tuple[Metric, ...]:
    return tuple(
        Metric(
            key=f"{definition}.{statistic}",
            name=name,
            definition=definition,
            statistic=statistic,
            unit=Unit.SECOND,
            window=window,
            meaning=f"{statistic} over samples: {meaning}",
            token_source=tokens,
            percentile_method=FLOOR_RANK if statistic.startswith("p") else "none",
            better="lower",
        )
        for definition, name, window, meaning, tokens in _LATENCIES
        for statistic in _STATISTICS
    )


_OTHERS: tuple[Metric, ...] = (
    Metric(
        key="loadgen-single-stream-latency.p90",
        name="request_latency",
        definition="loadgen-single-stream-latency",
        statistic="p90",
        unit=Unit.SECOND,
        window="from the issue of each query, one in flight",
        meaning="90th percentile latency, estimated by LoadGen's early stopping",
        percentile_method="early-stopping estimate at 99 % confidence",
        better="lower",
        source="mlcommons/inference loadgen/early_stopping.cc @ b66003e",
    ),
    Metric(
        key="loadgen-multi-stream-latency.p99",
        name="query_latency",
        definition="loadgen-multi-stream-latency",
        statistic="p99",
        unit=Unit.SECOND,
        window="from the issue of each query of several samples, one in flight",
        meaning="99th percentile of the time until a query's slowest sample is there, by LoadGen's early stopping",
        percentile_method="early-stopping estimate at 99 % confidence",
        better="lower",
        source="mlcommons/inference loadgen/early_stopping.cc @ b66003e",
    ),
    Metric(
        key="tokens-per-sample.mean",
        name="output_tokens",
        definition="tokens-per-sample",
        statistic="mean",
        unit=Unit.TOKENS_PER_SAMPLE,
        window="whole run",
        meaning="output tokens / samples of the performance run, from the two published rates",
        token_source=_SUT,
        better="neither",
        source="derived: token rate / sample rate, with LoadGen's n - 1 taken back",
    ),
    Metric(
        key="undisclosed-tokens-rate",
        name="token_rate",
        definition="undisclosed",
        statistic="rate",
        unit=Unit.TOKENS_PER_SECOND,
        window="undisclosed",
        meaning="tokens/s as stated, with neither formula, window nor who counted which tokens",
        token_source="undisclosed",  # noqa: S106
        source="the statement itself",
    ),
)


def _of_samples() -> tuple[Metric, ...]:
    """What is computed from Samples: a line in sample_metrics.py is one metric a statistic."""
    return tuple(
        Metric(
            key=one.id if statistic in ("rate", "share") else f"{one.id}.{statistic}",
            name=one.name,
            definition=one.id,
            statistic=statistic,
            unit=one.unit,
            window=one.window,
            meaning=one.meaning if statistic in ("rate", "share") else f"{statistic}: {one.meaning}",
            token_source=one.token_source,
            percentile_method=one.percentile_method if statistic in PERCENTILES else "none",
            better=one.better,
            source="caveat measure",
        )
        for one in (*DEFINITIONS, *ACCURACY_DEFINITIONS)
        for statistic in one.statistics
    )


METRICS: dict[str, Metric] = {m.key: m for m in (*_RATES, *_latencies(), *_OTHERS, *_of_samples())}


def metric(key: str) -> Metric:
    """The metric of that key. KeyError if there is none: keys come from code, not from users."""
    return METRICS[key]
