"""The same requests under LoadGen's definitions: for a run of one of its scenarios in which nothing failed.

LoadGen knows no failed request, so a run with one has no figure under its definitions. Its percentile is
sorted[floor(n * p)], its times per token are whole nanoseconds, its windows begin at the first request. A stream's
result is its percentile as certified by early stopping; a query of several samples takes as long as the slowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caveat.figures import METRICS, SCENARIOS
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.early_stopping import certified, fewest_to_certify
from caveat.measure.latencies import VALUES, definition_rows
from caveat.measure.percentiles import floor_rank
from caveat.measure.rates import rate_row
from caveat.measure.rows import Absent, Item, plain_row
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window
from caveat.units import NS_PER_S

_FAILED = "LoadGen's definitions know no failed request"
_NOT_COUNTED = "the server's usage record counted no tokens for at least one request"

_OPEN = (
    ("loadgen-completed-samples-rate", "n - 1", "end of the last issued"),
    ("loadgen-completed-tokens-rate", "tokens", "end of the last issued"),
    ("loadgen-scheduled-samples-rate", "n - 1", "last due"),
)
# scenario -> (metric, what is divided, up to which moment counted from the first due)
_RATES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "offline": (
        ("loadgen-offline-samples-rate", "n", "last end"),
        ("loadgen-offline-tokens-rate", "tokens", "last end"),
    ),
    "server": _OPEN,
    "interactive": _OPEN,
    "single-stream": (
        ("loadgen-stream-samples-rate", "n - 1", "last issue"),
        ("loadgen-stream-tokens-rate", "tokens", "last issue"),
    ),
}
# scenario -> (metric, percentile) that early stopping certifies
_CERTIFIED: dict[str, tuple[tuple[str, float], ...]] = {
    "single-stream": (("loadgen-single-stream-latency.p90", 0.90),),
    "multi-stream": (("loadgen-multi-stream-latency.p99", 0.99),),
}


def loadgen_rows(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    scenario: str,
    confidence: float,
    each: int = 1,
) -> Iterator[Item]:
    """Latencies and rates of a scenario; nothing for a run that is none of LoadGen's. `each` samples are one query."""
    if scenario not in SCENARIOS:
        return
    usage = usage_of(tokens)
    if window.ok.all():
        for definition, values in _latencies(columns, window, usage, scenario, each):
            yield from definition_rows(definition, values, confidence, floor_rank, always=True)
        yield from _rates(columns, window, usage, scenario)
        yield from _certified(columns, window, scenario, each)
    else:
        yield from (Absent(key, _FAILED) for key in _keys(scenario, each))


def usage_of(tokens: Sequence[Tokens]) -> Tokens | None:
    """The counts that stand for the system's own report: the server's, where it counted for every success."""
    return next((one for one in tokens if one.source == "usage" and not one.counted.missing), None)


def _keys(scenario: str, each: int) -> Iterator[str]:
    whole = "loadgen-latency" if each == 1 else "loadgen-query-latency"
    latencies = (whole,) if scenario == "offline" else ("loadgen-ttft", "loadgen-tpot", whole)
    yield from (metric.key for metric in METRICS.values() if metric.definition in latencies)
    yield from (metric for metric, *_ in _RATES.get(scenario, ()))
    yield from (key for key, _ in _CERTIFIED.get(scenario, ()))


def _latencies(
    columns: SampleColumns, window: Window, usage: Tokens | None, scenario: str, each: int
) -> Iterator[tuple[str, Floats]]:
    if scenario != "offline":  # of which LoadGen tells no times of tokens, whatever it was told
        yield "loadgen-ttft", VALUES["caveat-ttft"](columns, window)
        yield "loadgen-tpot", loadgen_tpot_ns(columns, window, usage)
    if each == 1:
        yield "loadgen-latency", VALUES["caveat-latency"](columns, window)
    else:
        yield "loadgen-query-latency", query_latency_ns(columns, window, each)


def query_latency_ns(columns: SampleColumns, window: Window, each: int) -> Floats:
    """Issue to the end of the slowest of the `each` samples of every whole query, in order; infinite with a failure.

    Samples k * each to (k + 1) * each - 1 are query k. A query whose samples are not all measured is left out.
    """
    query = columns.numbers("request")[window.rows].astype(np.int64) // each
    latency = np.where(window.ok, window.end_ns - window.due_ns, np.inf)
    queries, place, samples = np.unique(query, return_inverse=True, return_counts=True)
    slowest = np.full(len(queries), -np.inf)
    np.maximum.at(slowest, place, latency)
    whole: Floats = slowest[samples == each]
    return whole


def _certified(columns: SampleColumns, window: Window, scenario: str, each: int) -> Iterator[Item]:
    """The result of a stream."""
    for key, share in _CERTIFIED.get(scenario, ()):
        values = query_latency_ns(columns, window, each)
        found, needed = certified(values, share), fewest_to_certify(share)
        if found is None:
            yield Absent(key, f"found {len(values):,} queries, expected {needed:,} to certify it")
        else:
            yield plain_row(key, found / NS_PER_S, len(values))


def last_issue_ns(columns: SampleColumns, window: Window) -> float:
    """When the last request left; the start where none did."""
    return float(np.nanmax(columns.numbers("sent_ns")[window.rows], initial=window.start_ns))


def loadgen_tpot_ns(columns: SampleColumns, window: Window, usage: Tokens | None) -> Floats:
    """(end - first token) / (tokens - 1) in whole nanoseconds; NaN for fewer than two tokens, or where none counted."""
    if usage is None:
        return np.full(len(window.rows), np.nan)
    first = columns.numbers("first_token_ns")[window.rows]
    return np.floor((window.end_ns - first) / np.where(usage.output >= 2, usage.output - 1, np.nan))


def _rates(columns: SampleColumns, window: Window, usage: Tokens | None, scenario: str) -> Iterator[Item]:
    n = len(window.rows)
    until = {
        "last end": window.last_end_ns,
        "end of the last issued": float(window.end_ns[-1]),
        "last due": window.last_due_ns,
        "last issue": last_issue_ns(columns, window),
    }
    for metric, what, moment in _RATES.get(scenario, ()):
        if what == "tokens" and usage is None:
            yield Absent(metric, _NOT_COUNTED)
        else:
            amounts = {"n": n, "n - 1": n - 1, "tokens": float(usage.output.sum()) if usage else 0.0}
            yield rate_row(metric, amounts[what], until[moment] - window.start_ns, n)
