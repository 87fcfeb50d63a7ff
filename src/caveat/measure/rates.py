"""Rates: requests and tokens per second, each over the window that its definition names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from caveat.measure import intervals
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.concurrency import accumulated, in_flight, mean_in_flight, most_in_flight
from caveat.measure.rows import Absent, Item, plain_row, row_of
from caveat.measure.tokens import SOURCES, Tokens, counted_of, no_negatives
from caveat.measure.windows import Window
from caveat.units import NS_PER_S

_MOST_BINS = 2048
_FEWEST_BINS = 40
_REQUESTS_A_BIN = 4


def rate_rows(columns: SampleColumns, window: Window, tokens: Sequence[Tokens], confidence: float) -> Iterator[Item]:
    """Every rate of the run but goodput, and concurrency."""
    yield _request_rate(window)
    yield _offered(window)
    yield row_of("caveat-error-rate", intervals.share(~window.ok, confidence))
    for one in tokens:
        yield _token_rate(f"caveat-output-tokens-rate-{one.source}", one.output, one, window)
        if one.input is not None:
            yield _token_rate(f"caveat-input-tokens-rate-{one.source}", one.input, one, window)
            yield _token_rate(f"caveat-total-tokens-rate-{one.source}", one.input + one.output, one, window)
    if not tokens:
        reason = "neither the server nor a tokenizer counted tokens, and chunks are not tokens"
        yield from (Absent(f"caveat-output-tokens-rate-{source}", reason) for source, *_ in SOURCES)
    yield from _steady_rows(columns, window, tokens, confidence)
    yield from _concurrency_rows(columns, window)


def _per_second(amount: float, length_ns: float) -> float | None:
    """An amount over a stretch of time; None over a stretch without length."""
    return amount * NS_PER_S / length_ns if length_ns > 0 else None


def rate_row(metric: str, amount: float, length_ns: float, n: int, notes: tuple[str, ...] = ()) -> Item:
    """An amount over a window, or that the window has no length."""
    value = _per_second(amount, length_ns)
    return Absent(metric, "the window has no length") if value is None else plain_row(metric, value, n, notes=notes)


def _request_rate(window: Window) -> Item:
    successes = int(window.ok.sum())
    return rate_row("caveat-request-rate", successes, window.length_ns, successes)


def _offered(window: Window) -> Item:
    return rate_row("caveat-offered-rate", len(window.rows) - 1, window.steady_ns, len(window.rows))


def _token_rate(metric: str, counts: Floats, tokens: Tokens, window: Window) -> Item:
    counted = counted_of(counts, window, tokens.words)
    if not counted.complete:
        return Absent(metric, counted.reason)
    n = counted.successes - counted.missing
    return rate_row(metric, float(np.nansum(counts)), window.length_ns, n, counted.notes)


def steady_edges(window: Window) -> Floats | None:
    """Edges of equal bins of the steady window; None where it is too short for an interval to make sense."""
    bins = min(_MOST_BINS, len(window.rows) // _REQUESTS_A_BIN)
    if bins < _FEWEST_BINS or window.steady_ns <= 0:
        return None
    return np.linspace(window.start_ns, window.last_due_ns, bins + 1)


def steady_requests(columns: SampleColumns, edges_ns: Floats) -> Floats:
    """Requests that ended without error per second, in each bin, whatever their phase."""
    ended = columns.numbers("end_ns")[~columns.present("error_class")]
    counts, _ = np.histogram(ended[np.isfinite(ended)], edges_ns)
    return counts * NS_PER_S / np.diff(edges_ns)


def steady_tokens(columns: SampleColumns, edges_ns: Floats, source: str) -> Floats:
    """Output tokens per second in each bin; the tokens of a success lie evenly from its first to its last.

    An answer that came as a whole (not streamed) counts at its end.
    """
    counts = no_negatives(columns.numbers(next(output for name, output, *_ in SOURCES if name == source)))
    end = columns.numbers("end_ns")
    first, last = columns.numbers("first_token_ns"), columns.numbers("last_token_ns")
    streamed = np.isfinite(first) & np.isfinite(last)
    first, last = np.where(streamed, first, end), np.where(streamed, last, end)
    known = np.isfinite(counts) & np.isfinite(first) & ~columns.present("error_class")
    amounts = accumulated(edges_ns, first[known], last[known], counts[known])
    return np.diff(amounts) * NS_PER_S / np.diff(edges_ns)


def _steady_rows(columns: SampleColumns, window: Window, tokens: Sequence[Tokens], confidence: float) -> Iterator[Item]:
    edges, n = steady_edges(window), len(window.rows)
    keys = ("caveat-request-rate-steady", *(f"caveat-output-tokens-rate-steady-{one.source}" for one in tokens))
    if edges is None:
        fewest = _FEWEST_BINS * _REQUESTS_A_BIN
        reason = f"found {n:,} requests due over {window.steady_ns / NS_PER_S:.3g} s, expected {fewest} and a length"
        yield from (Absent(key, reason) for key in keys)
        return
    yield _binned(keys[0], steady_requests(columns, edges), n, confidence)
    for key, one in zip(keys[1:], tokens, strict=True):
        if one.counted.complete:
            yield _binned(key, steady_tokens(columns, edges, one.source), n, confidence, one.counted.notes)
        else:
            yield Absent(key, one.counted.reason)


def _binned(metric: str, bins: Floats, n: int, confidence: float, notes: tuple[str, ...] = ()) -> Item:
    """The mean over the bins: its effective sample size is one of bins, the row's n counts requests."""
    found = replace(intervals.mean(bins, confidence), n=n)
    return row_of(metric, found, notes=(*notes, f"over {len(bins):,} equal stretches of time"))


def _concurrency_rows(columns: SampleColumns, window: Window) -> Iterator[Item]:
    starts, ends = in_flight(columns)
    n = len(starts)
    yield plain_row("caveat-concurrency.max", most_in_flight(starts, ends), n)
    for metric, until in (
        ("caveat-concurrency.mean", window.last_end_ns),
        ("caveat-concurrency-steady.mean", window.last_due_ns),
    ):
        if until > window.start_ns:
            yield plain_row(metric, mean_in_flight(starts, ends, window.start_ns, until), n)
        else:
            yield Absent(metric, "the window has no length")
