"""The same requests under LoadGen's definitions: for a run of one of its scenarios in which nothing failed.

LoadGen knows no failed request, so a run with one has no figure under its definitions. Its percentile is
sorted[floor(n * p)], its times per token are whole nanoseconds, its windows begin at the first request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caveat.figures import METRICS, SCENARIOS
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.latencies import VALUES, definition_rows
from caveat.measure.percentiles import floor_rank
from caveat.measure.rates import rate_row
from caveat.measure.rows import Absent, Item
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window

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


def loadgen_rows(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], scenario: str, confidence: float
) -> Iterator[Item]:
    """Latencies and rates of a scenario; nothing for a run that is none of LoadGen's."""
    if scenario not in SCENARIOS:
        return
    usage = next((one for one in tokens if one.source == "usage" and not one.counted.missing), None)
    if window.ok.all():
        for definition, values in _latencies(columns, window, usage):
            yield from definition_rows(definition, values, confidence, floor_rank)
        yield from _rates(columns, window, usage, scenario)
    else:
        yield from (Absent(key, _FAILED) for key in _keys(scenario))


def _keys(scenario: str) -> Iterator[str]:
    latencies = ("loadgen-ttft", "loadgen-tpot", "loadgen-latency")
    yield from (metric.key for metric in METRICS.values() if metric.definition in latencies)
    yield from (metric for metric, *_ in _RATES.get(scenario, ()))


def _latencies(columns: SampleColumns, window: Window, usage: Tokens | None) -> Iterator[tuple[str, Floats]]:
    yield "loadgen-ttft", VALUES["caveat-ttft"](columns, window)
    yield "loadgen-tpot", _tpot_ns(columns, window, usage)
    yield "loadgen-latency", VALUES["caveat-latency"](columns, window)


def _tpot_ns(columns: SampleColumns, window: Window, usage: Tokens | None) -> Floats:
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
        "last issue": float(np.nanmax(columns.numbers("sent_ns")[window.rows], initial=window.start_ns)),
    }
    for metric, what, moment in _RATES.get(scenario, ()):
        if what == "tokens" and usage is None:
            yield Absent(metric, _NOT_COUNTED)
        else:
            amounts = {"n": n, "n - 1": n - 1, "tokens": float(usage.output.sum()) if usage else 0.0}
            yield rate_row(metric, amounts[what], until[moment] - window.start_ns, n)
