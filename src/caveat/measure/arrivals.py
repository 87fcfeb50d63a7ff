"""Whether the arrivals are those of the plan: sent against due, in number, in time and in their gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from caveat.figures import Check, Outcome, Value
from caveat.measure.client import Client, allowed_delay_s, delayed
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.concurrency import in_flight, mean_in_flight
from caveat.measure.latencies import lateness
from caveat.measure.percentiles import known_percentile
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

ASPECT = "arrivals"

_GAP_DISTANCE = 0.05  # greatest share of gaps that may lie elsewhere than planned
_GAPS_OF_ONE = 2  # gaps that one late request changes: in a short run they are a large share of all
_GAP_FLOOR_NS = 1_000_000  # a gap that moved by less than a millisecond, or by 5 % of the mean gap, has not moved
_GAP_SHARE = 0.05
_HANDED_OVER = 0.25  # share of a burst's run within which all of it must have left: the server must not wait for it
_FULL = 0.9  # share of the asked concurrency that must have been in flight on average


def arrival_checks(
    columns: SampleColumns, window: Window, conditions: Mapping[str, Value | None], client: Client | None
) -> Iterator[Check]:
    """One sentence each on number, lateness and gaps of an open loop, or on how full a closed one was."""
    yield from _totals(columns, client)
    scheduled = columns.numbers("scheduled_ns")[window.rows]
    if not np.isfinite(scheduled).any():
        yield from _closed_loop(columns, window, conditions)
        return
    late_ns = lateness(columns, window)
    yield _sent(window, late_ns)
    if window.is_burst:
        yield _handed_over(window, late_ns)
        return
    p99_ns = known_percentile(late_ns, 0.99)
    if p99_ns is not None:
        yield _on_time(late_ns, p99_ns / NS_PER_S, allowed_delay_s(columns, window))
        yield from _gaps(window.due_ns, late_ns)


def _totals(columns: SampleColumns, client: Client | None) -> Iterator[Check]:
    if client is None or client.planned is None:
        return
    outcome: Outcome = "pass" if client.planned == columns.rows else "fail"
    yield _check(outcome, f"{client.planned:,} requests were fed and {columns.rows:,} have a sample.")


def _sent(window: Window, late_ns: Floats) -> Check:
    """A request that could not be sent (no connection, say) is a failure with a class; any other was forgotten."""
    sent = np.isfinite(late_ns)
    forgotten = int((~sent & window.ok).sum())
    sentence = f"Of {len(sent):,} requests that were due {int(sent.sum()):,} were sent; {forgotten:,} were forgotten."
    return _check("fail" if forgotten else "pass", sentence)


def _handed_over(window: Window, late_ns: Floats) -> Check:
    last_s = float(np.nanmax(late_ns, initial=0.0)) / NS_PER_S
    share = last_s * NS_PER_S / window.length_ns if window.length_ns > 0 else 0.0
    sentence = (
        f"All {len(late_ns):,} requests were due at once; the last left after {format_seconds(last_s)}, {share:.1%} of "
        f"the run, {_HANDED_OVER:.0%} is allowed."
    )
    return _check("pass" if share <= _HANDED_OVER else "fail", sentence)


def _on_time(late_ns: Floats, p99_s: float, allowed_s: float) -> Check:
    outcome = delayed(late_ns, allowed_s)
    few = f"; {len(late_ns):,} requests cannot tell whether that is their rule" if outcome == "unknown" else ""
    sentence = f"p99 of sent after due is {format_seconds(p99_s)}, {format_seconds(allowed_s)} is allowed{few}."
    return _check(outcome, sentence)


def _gaps(due_ns: Floats, late_ns: Floats) -> Iterator[Check]:
    sent = np.isfinite(late_ns)
    if int(sent.sum()) < 3 or due_ns[-1] <= due_ns[0]:
        return
    planned, made = np.diff(due_ns[sent]), np.diff(np.sort((due_ns + late_ns)[sent]))
    slack = max(_GAP_FLOOR_NS, _GAP_SHARE * float(planned.mean()))
    distance, allowed = gap_distance(planned, made, slack), max(_GAP_DISTANCE, _GAPS_OF_ONE / len(planned))
    sentence = (
        f"The distributions of planned and made gaps are {distance:.3f} apart (Kolmogorov-Smirnov, up to shifts of "
        f"{format_seconds(slack / NS_PER_S)}), {allowed:.2g} is allowed; cv {_cv(planned):.2f} and {_cv(made):.2f}."
    )
    yield _check("pass" if distance <= allowed else "fail", sentence)


def gap_distance(planned: Floats, made: Floats, slack: float) -> float:
    """Kolmogorov-Smirnov distance of two samples, forgiving shifts of up to `slack`.

    The greatest share by which more of one lies below x - slack than of the other below x. Without the slack, gaps
    that are all equal by plan would be as far from their own jitter as from anything.
    """
    planned, made = np.sort(planned), np.sort(made)
    return max(_excess(planned, made, slack), _excess(made, planned, slack))


def _excess(one: Floats, other: Floats, slack: float) -> float:
    """The most by which the share of sorted `one` up to x - slack exceeds the share of sorted `other` up to x."""
    below = np.arange(1, len(one) + 1) / len(one)
    return float(np.max(below - np.searchsorted(other, one + slack, side="right") / len(other), initial=0.0))


def _cv(gaps: Floats) -> float:
    """Coefficient of variation: 0 for a constant rate, 1 for Poisson."""
    return float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else 0.0


def _closed_loop(columns: SampleColumns, window: Window, conditions: Mapping[str, Value | None]) -> Iterator[Check]:
    each = conditions.get("samples_per_query")
    if isinstance(each, int) and each > 1:
        yield _one_query_at_a_time(columns, window, each)
        return
    asked = conditions.get("concurrency")
    if not isinstance(asked, int | float) or asked <= 0 or window.steady_ns <= 0:
        yield _check("not applicable", "A closed loop has no planned times.")
        return
    held = mean_in_flight(*in_flight(columns), window.start_ns, window.last_due_ns)
    outcome: Outcome = "pass" if held >= _FULL * asked else "fail"
    yield _check(outcome, f"{held:,.1f} requests were in flight on average, {asked:,} were asked for.")


def _one_query_at_a_time(columns: SampleColumns, window: Window, each: int) -> Check:
    """Of queries of several samples: all of one are due together, and none before the last has ended whole."""
    query = columns.numbers("request")[window.rows].astype(np.int64) // each
    queries, place = np.unique(query, return_inverse=True)
    first, last = np.full(len(queries), np.inf), np.full(len(queries), -np.inf)
    latest_due = last.copy()
    np.minimum.at(first, place, window.due_ns)
    np.maximum.at(latest_due, place, window.due_ns)
    np.fmax.at(last, place, window.end_ns)
    early = int(np.count_nonzero(first[1:] < last[:-1]) + np.count_nonzero(first < latest_due))
    sentence = f"{len(queries):,} queries of {each} samples, one after the other; {early:,} began before they should."
    return _check("pass" if not early else "fail", sentence)


def _check(outcome: Outcome, sentence: str) -> Check:
    return Check(aspect=ASPECT, outcome=outcome, sentence=sentence)
