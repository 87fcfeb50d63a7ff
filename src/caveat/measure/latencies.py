"""Latencies: one value a request, from its time stamps, and the rows of each definition.

A definition's statistics are read from the table of metrics; nothing here says which percentiles there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from caveat.figures import METRICS
from caveat.measure import intervals
from caveat.measure.buckets import Buckets
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.percentiles import SHARES, fewest_for, nearest_rank
from caveat.measure.rows import Absent, Item, plain_row, row_of
from caveat.measure.tokens import Tokens, successes_only
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

Values = Callable[[SampleColumns, Window], Floats]


def _from_due(name: str) -> Values:
    return lambda columns, window: successes_only(columns.numbers(name)[window.rows] - window.due_ns, window)


def _from_sent(name: str) -> Values:
    def values(columns: SampleColumns, window: Window) -> Floats:
        sent = columns.numbers("sent_ns")[window.rows]
        return successes_only(columns.numbers(name)[window.rows] - sent, window)

    return values


def _or_never(name: str) -> Values:
    def values(columns: SampleColumns, window: Window) -> Floats:
        latency = columns.numbers(name)[window.rows] - window.due_ns
        return np.where(window.ok, latency, np.inf)

    return values


def lateness(columns: SampleColumns, window: Window) -> Floats:
    """How long after it was due each measured request left, in ns; NaN where it never did."""
    return columns.numbers("sent_ns")[window.rows] - window.due_ns


# definition, nanoseconds of each measured request, NaN where it does not apply. A new latency is one line here and one
# in figures/sample_metrics.py.
VALUES: dict[str, Values] = {
    "caveat-ttft": _from_due("first_token_ns"),
    "caveat-ttft-sent": _from_sent("first_token_ns"),
    "caveat-ttft-all": _or_never("first_token_ns"),
    "caveat-latency": _from_due("end_ns"),
    "caveat-latency-sent": _from_sent("end_ns"),
    "caveat-latency-all": _or_never("end_ns"),
    "caveat-send-lateness": lateness,
}


def decode_ns(columns: SampleColumns, window: Window) -> Floats:
    """First to last token of each measured success; NaN where it had none, or all of them at one instant.

    Tokens that came in one piece have no time between them that anybody saw: theirs is unknown, not zero.
    """
    first = columns.numbers("first_token_ns")[window.rows]
    lasted = columns.numbers("last_token_ns")[window.rows] - first
    return successes_only(np.where(lasted > 0, lasted, np.nan), window)


def tpot_ns(columns: SampleColumns, window: Window, tokens: Tokens) -> Floats:
    """(last token - first token) / (tokens - 1) of each measured success with two tokens or more, else NaN."""
    after_first = np.where(tokens.output >= 2, tokens.output - 1, np.nan)
    return decode_ns(columns, window) / after_first


def normalized_ns(columns: SampleColumns, window: Window, tokens: Tokens) -> Floats:
    """Due to end / output tokens of each measured success with a token or more, else NaN."""
    return VALUES["caveat-latency"](columns, window) / np.where(tokens.output >= 1, tokens.output, np.nan)


def values_of(definition: str, columns: SampleColumns, window: Window, tokens: Sequence[Tokens]) -> Floats | None:
    """Nanoseconds of each measured request by the id of a latency; None for an id that is no latency here."""
    if definition in VALUES:
        return VALUES[definition](columns, window)
    for one in tokens:
        if definition == f"caveat-tpot-{one.source}":
            return tpot_ns(columns, window, one)
        if definition == f"caveat-normalized-latency-{one.source}":
            return normalized_ns(columns, window, one)
    return None


def latency_rows(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], confidence: float, rng: np.random.Generator
) -> Iterator[Item]:
    """The rows of every latency of the table that these samples have times (and counts) for."""
    for definition, values in VALUES.items():
        yield from definition_rows(definition, values(columns, window), confidence)
    for one in tokens:
        yield from definition_rows(f"caveat-tpot-{one.source}", tpot_ns(columns, window, one), confidence)
        yield _weighted_tpot(columns, window, one, confidence, rng)
        normalized = normalized_ns(columns, window, one)
        yield from definition_rows(f"caveat-normalized-latency-{one.source}", normalized, confidence)
    yield from _inter_chunk(columns, window, confidence)


def definition_rows(
    definition: str,
    values: Floats,
    confidence: float,
    rank: Callable[[int, float], int] = nearest_rank,
    *,
    always: bool = False,
) -> Iterator[Item]:
    """Every statistic that the table has of a definition, from nanoseconds in order of arrival.

    `always`: the definition has a percentile of any sample, be it one that says nothing of the next.
    """
    series = values[~np.isnan(values)]
    ascending = np.sort(series)
    for metric in (metric for metric in METRICS.values() if metric.definition == definition):
        if not len(series):
            yield Absent(metric.key, "no measured request has the times or counts that it needs")
        elif metric.statistic in SHARES:
            share = SHARES[metric.statistic]
            place = rank(len(series), share)
            found = intervals.quantile(series, ascending, share, confidence, place)
            if always and isinstance(found, intervals.TooFew):
                value_s = float(ascending[place]) / NS_PER_S
                yield plain_row(metric.key, value_s, len(series), notes=(f"no interval: {found.reason}",))
            elif isinstance(found, intervals.TooFew):
                yield Absent(metric.key, found.reason, _observed(ascending, place))
            else:
                yield row_of(metric.key, found, per=NS_PER_S)
        elif metric.statistic == "mean":
            yield row_of(metric.key, intervals.mean(series, confidence), per=NS_PER_S)
        else:
            extreme = ascending[0] if metric.statistic == "min" else ascending[-1]
            yield plain_row(metric.key, float(extreme) / NS_PER_S, len(series))


def _observed(ascending: Floats, place: int) -> str:
    """A percentile that has no interval, in words; empty where it is no more than the greatest value, or a failure."""
    value_s = float(ascending[place]) / NS_PER_S
    return format_seconds(value_s) if place + 1 < len(ascending) and np.isfinite(value_s) else ""


def _weighted_tpot(
    columns: SampleColumns, window: Window, tokens: Tokens, confidence: float, rng: np.random.Generator
) -> Item:
    key = f"caveat-tpot-weighted-{tokens.source}.mean"
    decode = decode_ns(columns, window)
    several = np.isfinite(decode) & (tokens.output >= 2)
    if not several.any():
        return Absent(key, "no measured request has two counted tokens and their times")
    return row_of(key, intervals.ratio(decode[several], tokens.output[several] - 1, confidence, rng), per=NS_PER_S)


def _inter_chunk(columns: SampleColumns, window: Window, confidence: float) -> Iterator[Item]:
    """Gaps are counted, not kept: a run of hours has billions. Those of one answer are alike, so n is requests."""
    gaps, requests = chunk_gaps(columns, window)
    for metric in (metric for metric in METRICS.values() if metric.definition == "caveat-inter-chunk"):
        share = SHARES.get(metric.statistic)
        if not gaps.n:
            yield Absent(metric.key, "no times of single chunks were kept")
        elif share is not None and requests < (need := fewest_for(share, confidence)):
            yield Absent(metric.key, f"found {requests:,} requests with gaps, expected {need:,}")
        else:
            exact = {"mean": gaps.mean, "min": gaps.least, "max": gaps.greatest}
            value = gaps.percentile(share) if share is not None else exact[metric.statistic]
            yield plain_row(metric.key, value / NS_PER_S, requests, notes=(f"over {gaps.n:,} gaps",))


def chunk_gaps(columns: SampleColumns, window: Window) -> tuple[Buckets, int]:
    """(gaps between the deltas of measured successes, how many requests have one)."""
    wanted = np.zeros(columns.rows, dtype=np.bool_)
    wanted[window.rows[window.ok]] = True
    gaps, requests = Buckets(), 0
    for at, lists in columns.chunks("chunk_ns"):
        if lists.null_count == len(lists):
            continue
        counts = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        times = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
        owner = np.repeat(np.arange(len(counts)), counts)
        inside = (owner[1:] == owner[:-1]) & wanted[at : at + len(counts)][owner[1:]]
        gaps.add(np.diff(times)[inside])
        requests += int(np.count_nonzero((counts >= 2) & wanted[at : at + len(counts)]))
    return gaps, requests
