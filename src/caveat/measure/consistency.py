"""Whether the numbers of a run agree with each other: one sentence each, and which metrics it speaks for.

Every check here can fail: it sets two things side by side that were found by different ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from caveat.figures import METRICS, Check, Outcome, Value
from caveat.measure import intervals
from caveat.measure.columns import SampleColumns
from caveat.measure.concurrency import mean_in_flight
from caveat.measure.latencies import decode_ns
from caveat.measure.rates import steady_edges, steady_requests, steady_tokens
from caveat.measure.rows import metric_keys
from caveat.measure.tokens import Tokens, only_capped
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

_LENGTH_SHARE, _LENGTH_TOKENS = 0.05, 50.0  # achieved lengths may differ by 5 % or by 50 tokens,
_LENGTH_MOST = 0.5  # but never by more than half: 12 tokens are not the 4 that were asked for
_COUNT_SHARE = 0.05  # usage and tokenizer may differ by as much
_LITTLE_SHARE = 0.01  # of slack beside the intervals
_LITTLE_FILL = 10  # arrivals for each request in flight, at least: fewer say nothing of a steady state
_CAP_SLACK = 1  # token beyond the cap: some servers count the end token, some do not


def consistency_checks(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    conditions: Mapping[str, Value | None],
    confidence: float,
) -> Iterator[Check]:
    """All checks that these samples allow."""
    yield _requests_once(columns)
    yield _times_in_order(columns)
    yield from _littles_law(columns, window, confidence)
    yield from _tokens_are_rate_times_duration(columns, window, tokens, confidence)
    for one in tokens:
        yield from _within_cap(columns, window, one, conditions)
        yield from _text_without_tokens(columns, window, one)
    yield from _usage_and_tokenizer(tokens)
    yield from _lengths_as_asked(columns, window, tokens, conditions)
    yield from _steady(window)


_TOKEN_METRICS = metric_keys(
    "caveat-tpot", "caveat-normalized", "caveat-output-tokens", "caveat-input-tokens", "caveat-total"
)


def _check(good: bool | None, sentence: str, metrics: tuple[str, ...] = (), aspect: str = "consistency") -> Check:
    outcome: Outcome = "unknown" if good is None else "pass" if good else "fail"
    return Check(aspect=aspect, outcome=outcome, sentence=sentence, metrics=metrics)


def _requests_once(columns: SampleColumns) -> Check:
    numbers = np.sort(columns.numbers("request"))
    doubled = int(np.count_nonzero(numbers[1:] == numbers[:-1]))
    return _check(not doubled, f"{columns.rows:,} samples, {doubled:,} of a request that has one already.")


_ORDER = ("ready_ns", "sent_ns", "first_byte_ns", "first_token_ns", "last_token_ns", "end_ns")


def _times_in_order(columns: SampleColumns) -> Check:
    """due <= sent <= first byte <= first token <= last token <= end, as far as each is known."""
    latest = columns.numbers(_ORDER[0])
    wrong = np.zeros(columns.rows, dtype=np.bool_)
    for name in _ORDER[1:]:
        times = columns.numbers(name)
        wrong |= times < latest
        latest = np.fmax(latest, times)
    count = int(wrong.sum())
    return _check(count == 0, f"The times of {count:,} of {columns.rows:,} requests run backwards.")


def _littles_law(columns: SampleColumns, window: Window, confidence: float) -> Iterator[Check]:
    """Mean number due and not ended = arrival rate x mean time from due to end, over the steady window.

    The number comes from all requests that cross the window, rate and time from those due in it. They differ by what
    was under way at the edges, and by the last request, which is due where the window ends; in a steady state the
    edges average out, in a growing queue they do not.
    """
    metrics = metric_keys("caveat-latency", "caveat-ttft", "caveat-concurrency", "caveat-request-rate")
    latency = window.end_ns - window.due_ns
    if window.steady_ns <= 0 or not np.isfinite(latency).all() or len(latency) < 2:
        yield _check(None, "Little's law cannot be tested: the window has no length or a request no end.", metrics)
        return
    due, end = columns.numbers("ready_ns"), columns.numbers("end_ns")
    known = end >= due
    held = mean_in_flight(due[known], end[known], window.start_ns, window.last_due_ns)
    typical = intervals.mean(latency, confidence)
    expected = len(latency) * typical.value / window.steady_ns
    sentence = f"{held:,.4g} requests under way on average, rate x latency is {expected:,.4g}"
    if held * _LITTLE_FILL > len(latency):
        yield _check(None, f"{sentence}; {len(latency):,} arrivals are too few for a steady state.", metrics)
        return
    edges = (latency[-1] / typical.value + 2 * held) / len(latency)
    allowed = _LITTLE_SHARE + edges + _relative_half(typical)
    good = abs(held - expected) <= allowed * expected
    yield _check(good, f"{sentence}, {allowed:.1%} apart is allowed (Little's law).", metrics)


def _relative_half(estimate: intervals.Estimate) -> float:
    if estimate.low is None or estimate.high is None or not estimate.value:
        return 0.0
    return (estimate.high - estimate.low) / 2 / abs(estimate.value)


def _tokens_are_rate_times_duration(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], confidence: float
) -> Iterator[Check]:
    """Tokens that streamed inside the steady window against requests that ended in it times their mean length.

    They differ by what streamed of requests that end beyond the window: at most one decode time's worth.
    """
    edges = steady_edges(window)
    for one in tokens if edges is not None else ():
        if edges is None or not one.counted.complete:
            continue
        seconds = window.steady_ns / NS_PER_S
        rate = intervals.mean(steady_tokens(columns, edges, one.source), confidence)
        requests = intervals.mean(steady_requests(columns, edges), confidence)
        length = float(np.nanmean(one.output))
        expected = requests.value * length
        allowed = _LITTLE_SHARE + _relative_half(rate) + _relative_half(requests) + _edge(columns, window)
        sentence = (
            f"{rate.value * seconds:,.0f} output tokens streamed in {format_seconds(seconds)}; the requests that ended "
            f"x {length:,.4g} tokens are {expected * seconds:,.0f}, {allowed:.1%} apart is allowed ({one.words})."
        )
        metrics = metric_keys(f"caveat-output-tokens-rate-steady-{one.source}", "caveat-request-rate-steady")
        yield _check(abs(rate.value - expected) <= allowed * max(expected, rate.value), sentence, metrics)


def _edge(columns: SampleColumns, window: Window) -> float:
    """Mean time from first to last token as a share of the steady window."""
    lasted = decode_ns(columns, window)
    known = lasted[np.isfinite(lasted)]
    return float(known.mean()) / window.steady_ns if len(known) else 0.0


def _within_cap(
    columns: SampleColumns, window: Window, tokens: Tokens, conditions: Mapping[str, Value | None]
) -> Iterator[Check]:
    cap = conditions.get("output_tokens_cap")
    wanted = columns.numbers("output_tokens_wanted")[window.rows]
    limit = np.where(wanted > 0, wanted, np.inf)
    if isinstance(cap, int | float):
        limit = np.minimum(limit, float(cap))
    if not np.isfinite(limit).any():
        return
    beyond = int(np.count_nonzero(tokens.output > limit + _CAP_SLACK))
    sentence = f"{beyond:,} answers are longer than their cap and one token ({tokens.words})."
    yield _check(beyond == 0, sentence, _by(tokens))


def _text_without_tokens(columns: SampleColumns, window: Window, tokens: Tokens) -> Iterator[Check]:
    """A server that counts none for an answer that had text. Said where it happens; a client may skip tool calls."""
    wrong = int(np.count_nonzero((tokens.output == 0) & (columns.numbers("chunks")[window.rows] > 0)))
    if wrong and tokens.source == "usage":
        yield _check(False, f"{wrong:,} answers had text and no token ({tokens.words}).", _by(tokens))


def _by(tokens: Tokens) -> tuple[str, ...]:
    return tuple(key for key in _TOKEN_METRICS if METRICS[key].token_source == tokens.words)


def _usage_and_tokenizer(tokens: Sequence[Tokens]) -> Iterator[Check]:
    if len(tokens) < 2:
        return
    usage, client = tokens[0].output, tokens[1].output
    both = np.isfinite(usage) & np.isfinite(client)
    if not both.any():
        return
    server, own = float(usage[both].mean()), float(client[both].mean())
    good = abs(server - own) <= _COUNT_SHARE * max(server, own)
    sentence = f"Mean output is {server:,.4g} tokens by the server and {own:,.4g} by the client's tokenizer"
    more = usage[both] - client[both]
    each = f"as many in {int((more == 0).sum()):,}, one more (an end token) in {int((more == 1).sum()):,}"
    yield _check(good, f"{sentence}, over {int(both.sum()):,} requests: {each}.", _TOKEN_METRICS)


def _lengths_as_asked(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], conditions: Mapping[str, Value | None]
) -> Iterator[Check]:
    for one in tokens[:1]:
        asked = {"input": one.input, "output": None if only_capped(conditions) else one.output}
        for name, counts in asked.items():
            wanted = columns.numbers(f"{name}_tokens_wanted")[window.rows]
            if counts is None or not (known := np.isfinite(counts) & (wanted > 0)).any():
                continue
            yield _length(name, float(counts[known].mean()), float(wanted[known].mean()), one.words)


def _length(name: str, achieved: float, asked: float, words: str) -> Check:
    good = abs(achieved - asked) <= min(max(_LENGTH_SHARE * asked, _LENGTH_TOKENS), _LENGTH_MOST * asked)
    sentence = (
        f"Mean {name} is {achieved:,.4g} tokens ({words}), {asked:,.4g} were asked for; "
        f"{_LENGTH_SHARE:.0%} or {_LENGTH_TOKENS:g} tokens apart is allowed, and no more than half of what was asked."
    )
    return _check(good, sentence, aspect="length match")


def _steady(window: Window) -> Iterator[Check]:
    if window.steady is not None:
        yield _check(window.steady, f"Warm-up: {window.warmup}.", aspect="steady state")
