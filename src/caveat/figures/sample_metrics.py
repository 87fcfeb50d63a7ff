"""Definitions of what is computed from Samples, whoever made them: a measured run, a model, a foreign record.

One line a definition in `DEFINITIONS`; metrics.py makes a metric of each of its statistics. Who counted tokens is
part of the id: `-usage` by the server's usage record, `-client` by a tokenizer of the client. Chunks are not tokens.
Each id ends its clock or forms its window as its line says; two ids are never the same thing under two names.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from caveat.units import Unit

Better = Literal["higher", "lower", "neither"]

NEAREST_RANK = "nearest rank: sorted[ceil(n*p) - 1], no interpolation"
EARLY_STOPPING = "LoadGen's early stopping: sorted[n - t], t the most that may lie above with 99 % confidence"
LOG_BUCKETS = "nearest rank in logarithmic buckets 0.1 % wide"

RATE = ("rate",)
PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")
CERTIFIED = ("p90", "p99")
TIMES = ("min", "mean", *PERCENTILES, "max")

USAGE = "server usage record"
CLIENT = "client tokenizer"
SOURCES = (("usage", USAGE), ("client", CLIENT))


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """What one value is, of which `statistics` are taken. Keys are `id.statistic`; of a rate or a share, `id` alone."""

    id: str
    name: str
    statistics: tuple[str, ...] = TIMES
    unit: Unit = Unit.SECOND
    window: str
    meaning: str
    token_source: str = "none"  # noqa: S105  (nobody counted tokens)
    better: Better = "lower"
    percentile_method: str = NEAREST_RANK


_DUE = "from the moment the request was due (open loop: the scheduled arrival), waiting in the client included"
_SENT = "from the first byte sent; what was due but not yet sent has not begun to count"
_ALL = "first due to last end of the measured requests"
_STEADY = "first due to last due of the measured requests; ramp-down left out"
_OK = "requests that succeeded"
_BOUND = (
    "bound below which the percentile lies with 99 % confidence, were requests independent; all requests, one that "
    "failed never has it"
)

_LATENCIES = (
    Definition(
        id="caveat-ttft",
        name="time_to_first_token",
        window=_DUE,
        meaning=f"time to the first content, reasoning or tool-call delta that is not empty; {_OK}",
    ),
    Definition(
        id="caveat-ttft-sent",
        name="time_to_first_token",
        window=_SENT,
        meaning=f"time to the first content, reasoning or tool-call delta that is not empty; {_OK}",
    ),
    Definition(
        id="caveat-ttft-all",
        name="time_to_first_token",
        statistics=PERCENTILES,
        window=_DUE,
        meaning="time to the first delta that is not empty; all requests, one that failed never has it",
    ),
    Definition(
        id="caveat-latency",
        name="request_latency",
        window=_DUE,
        meaning=f"time to the end of the answer; {_OK}",
    ),
    Definition(
        id="caveat-latency-sent",
        name="request_latency",
        window=_SENT,
        meaning=f"time to the end of the answer; {_OK}",
    ),
    Definition(
        id="caveat-latency-all",
        name="request_latency",
        statistics=PERCENTILES,
        window=_DUE,
        meaning="time to the end of the answer; all requests, one that failed never has it",
    ),
    Definition(
        id="caveat-certified-ttft",
        name="time_to_first_token",
        statistics=CERTIFIED,
        window=_DUE,
        meaning=f"time to the first delta that is not empty: {_BOUND}",
        percentile_method=EARLY_STOPPING,
    ),
    Definition(
        id="caveat-certified-latency",
        name="request_latency",
        statistics=CERTIFIED,
        window=_DUE,
        meaning=f"time to the end of the answer: {_BOUND}",
        percentile_method=EARLY_STOPPING,
    ),
    Definition(
        id="caveat-inter-chunk",
        name="time_per_output_chunk",
        window="from the delta before",
        meaning=f"time between two deltas of one answer, each gap weighing the same; {_OK}; not a time per token",
        percentile_method=LOG_BUCKETS,
    ),
    Definition(
        id="caveat-send-lateness",
        name="send_lateness",
        window="from the moment the request was due",
        meaning="time until its first byte left: the client's own delay, all requests that were sent",
    ),
)

_RATES = (
    Definition(
        id="caveat-request-rate",
        name="request_rate",
        statistics=RATE,
        unit=Unit.REQUESTS_PER_SECOND,
        window=_ALL,
        meaning="measured requests that succeeded / window",
        better="higher",
    ),
    Definition(
        id="caveat-request-rate-steady",
        name="request_rate",
        statistics=RATE,
        unit=Unit.REQUESTS_PER_SECOND,
        window=_STEADY,
        meaning="requests that ended without error inside the window, whenever they were due / window",
        better="higher",
    ),
    Definition(
        id="caveat-offered-rate",
        name="scheduled_request_rate",
        statistics=RATE,
        unit=Unit.REQUESTS_PER_SECOND,
        window="first due to last due of the measured requests",
        meaning="(measured requests - 1) / window: what was offered, not what was served",
        better="neither",
    ),
    Definition(
        id="caveat-goodput",
        name="goodput",
        statistics=RATE,
        unit=Unit.REQUESTS_PER_SECOND,
        window=_ALL,
        meaning="measured requests that met every limit of the conditions / window; a failure is a miss",
        better="higher",
    ),
    Definition(
        id="caveat-goodput-share",
        name="slo_attainment",
        statistics=("share",),
        unit=Unit.RATIO,
        window=_ALL,
        meaning="measured requests that met every limit of the conditions / measured requests; a failure is a miss",
        better="higher",
    ),
    Definition(
        id="caveat-error-rate",
        name="error_rate",
        statistics=("share",),
        unit=Unit.RATIO,
        window=_ALL,
        meaning="measured requests that failed / measured requests",
    ),
    Definition(
        id="caveat-concurrency",
        name="concurrency",
        statistics=("mean", "max"),
        unit=Unit.REQUEST,
        window=_ALL,
        meaning="requests in flight (sent, not ended), each instant weighing the same",
        better="neither",
    ),
    Definition(
        id="caveat-concurrency-steady",
        name="concurrency",
        statistics=("mean",),
        unit=Unit.REQUEST,
        window=_STEADY,
        meaning="requests in flight (sent, not ended), each instant of the window weighing the same",
        better="neither",
    ),
    Definition(
        id="caveat-input-tokens-rate-usage",
        name="input_token_rate",
        statistics=RATE,
        unit=Unit.TOKENS_PER_SECOND,
        window=_ALL,
        meaning="prompt tokens (cached ones included) of measured requests that succeeded / window",
        token_source=USAGE,
        better="higher",
    ),
    Definition(
        id="caveat-cached-input-share-usage",
        name="cached_input_token_share",
        statistics=("share",),
        unit=Unit.RATIO,
        window=_ALL,
        meaning="prompt tokens served from a cache / prompt tokens; requests that succeeded, where both are stated",
        token_source=USAGE,
        better="neither",
    ),
    Definition(
        id="caveat-total-tokens-rate-usage",
        name="total_token_rate",
        statistics=RATE,
        unit=Unit.TOKENS_PER_SECOND,
        window=_ALL,
        meaning="prompt and output tokens of measured requests that succeeded / window",
        token_source=USAGE,
        better="higher",
    ),
)


def _by_source(suffix: str, source: str) -> tuple[Definition, ...]:
    """The definitions that need a count of output tokens, for one who counted."""
    return (
        Definition(
            id=f"caveat-tpot-{suffix}",
            name="time_per_output_token",
            window="from the first token",
            meaning=f"(last token - first token) / (tokens - 1), every request weighing the same; {_OK}, two tokens up",
            token_source=source,
        ),
        Definition(
            id=f"caveat-certified-tpot-{suffix}",
            name="time_per_output_token",
            statistics=CERTIFIED,
            window="from the first token",
            meaning=f"(last token - first token) / (tokens - 1), two tokens up: {_BOUND}",
            token_source=source,
            percentile_method=EARLY_STOPPING,
        ),
        Definition(
            id=f"caveat-tpot-weighted-{suffix}",
            name="time_per_output_token",
            statistics=("mean",),
            window="from the first token",
            meaning=f"sum of (last token - first token) / sum of (tokens - 1), every token weighing the same; {_OK}",
            token_source=source,
        ),
        Definition(
            id=f"caveat-normalized-latency-{suffix}",
            name="normalized_time_per_output_token",
            window=_DUE,
            meaning=f"time to the end of the answer / output tokens, waiting and prompt inside; {_OK}",
            token_source=source,
        ),
        Definition(
            id=f"caveat-output-tokens-rate-{suffix}",
            name="output_token_rate",
            statistics=RATE,
            unit=Unit.TOKENS_PER_SECOND,
            window=_ALL,
            meaning="output tokens of measured requests that succeeded / window",
            token_source=source,
            better="higher",
        ),
        Definition(
            id=f"caveat-output-tokens-rate-steady-{suffix}",
            name="output_token_rate",
            statistics=RATE,
            unit=Unit.TOKENS_PER_SECOND,
            window=_STEADY,
            meaning="output tokens inside the window / window; a success's tokens lie evenly from first to last",
            token_source=source,
            better="higher",
        ),
    )


DEFINITIONS: tuple[Definition, ...] = (
    *_LATENCIES,
    *_RATES,
    *(definition for suffix, source in SOURCES for definition in _by_source(suffix, source)),
)
