"""The client's own health: what a generator says about itself, and whether its delays are inside the figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from caveat.figures import Check, Outcome
from caveat.measure import intervals
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.latencies import VALUES, decode_ns, lateness
from caveat.measure.percentiles import fewest_for, known_percentile
from caveat.measure.rows import metric_keys
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

_DELAY_FLOOR_S = 0.005  # a delay below this is noise of any timer
_DELAY_SHARE = 0.05  # of the median TTFT: a larger one would be read as the server's
_BUSY = 0.9  # share of one core above which the loop has no time left for stamps
_NEAR_CEILING = 0.8  # share of the calibrated rate from which latencies grow by the client alone
_MAY_WAIT = 0.01  # of the requests may be delayed by more: the bound is on p99
_ENOUGH = fewest_for(1 - _MAY_WAIT, 0.95)  # requests from which a p99 is one; of fewer the share says what it can
ASPECT = "client health"

_TTFT = metric_keys("caveat-ttft", "caveat-certified-ttft", "loadgen-ttft", "caveat-goodput")
_TPOT = metric_keys("caveat-tpot", "caveat-certified-tpot", "loadgen-tpot", "caveat-inter-chunk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What the generator knows about itself; None where it did not look.

    planned         requests that the plan fed before it ended or was cancelled
    cpu_share       of the busiest process, as a share of one core
    loop_lag_s      99th percentile of how late the event loop woke up
    ceiling_per_s   requests a second that this machine sent to the loopback endpoint
    limits          sentences about descriptors, ports or memory that ran out
    virtual         a modelled server in virtual time: there is no client that could be late
    """

    planned: int | None = None
    cpu_share: float | None = None
    loop_lag_s: float | None = None
    ceiling_per_s: float | None = None
    limits: tuple[str, ...] = ()
    virtual: bool = False


def allowed_delay_s(columns: SampleColumns, window: Window) -> float:
    """The longest delay of the client's own that does not count: 5 ms, or 5 % of the median TTFT (or latency)."""
    for definition in ("caveat-ttft", "caveat-latency"):
        typical = known_percentile(VALUES[definition](columns, window), 0.5)
        if typical is not None:
            return max(_DELAY_FLOOR_S, _DELAY_SHARE * typical / NS_PER_S)
    return _DELAY_FLOOR_S


def client_checks(columns: SampleColumns, window: Window, client: Client | None) -> Iterator[Check]:
    """One sentence for each thing by which a client shows that it was, or was not, the bottleneck."""
    if client is not None and client.virtual:
        yield Check(aspect=ASPECT, outcome="not applicable", sentence="Virtual time has no client that could be late.")
        return
    allowed = allowed_delay_s(columns, window)
    left = _delays("requests left", "after they were due", lateness(columns, window), allowed)
    said = [
        *(() if window.is_burst else left),  # of a burst see arrivals.py
        *_stalls(columns, window, allowed),
        *(_said(client, window, allowed) if client else ()),
    ]
    if client is None and not any(check.outcome == "fail" for check in said):
        said.append(_check("unknown", "The client's processor share, loop lag and ceiling were not recorded."))
    yield from said


def _stalls(columns: SampleColumns, window: Window, allowed_s: float) -> Iterator[Check]:
    """What the client's loop added to times of first tokens. It reaches TTFT, and TPOT where tokens came as quickly.

    A first token stamped late makes the time to the last one too short by as much; the end has a stamp of its own.
    """
    stall_ns = columns.numbers("stall_ns")[window.rows]
    share_of_decode = stall_ns / decode_ns(columns, window)
    known = share_of_decode[np.isfinite(share_of_decode)]
    spared = len(known) > 0 and float(np.mean(known > _DELAY_SHARE)) <= _MAY_WAIT
    metrics = _TTFT if spared else (*_TTFT, *_TPOT)
    yield from _delays("first tokens waited", "for the client's loop to read them", stall_ns, allowed_s, metrics)


def delayed(values_ns: Floats, allowed_s: float) -> Outcome:
    """Whether 99 in 100 of these delays keep a bound, as far as so many tell. One of 64 is no p99.

    Enough values: by their p99. Fewer: by the share beyond the bound, which fails where even the lower end of its
    interval is more than the 1 % that may.
    """
    known = values_ns[np.isfinite(values_ns)]
    p99 = known_percentile(known, 1 - _MAY_WAIT)
    if p99 is None:
        return "unknown"
    if p99 <= allowed_s * NS_PER_S:
        return "pass"
    low = intervals.share(known > allowed_s * NS_PER_S, 0.95).low
    return "fail" if len(known) >= _ENOUGH or (low is not None and low > _MAY_WAIT) else "unknown"


def _delays(what: str, how: str, values_ns: Floats, allowed_s: float, metrics: tuple[str, ...] = ()) -> Iterator[Check]:
    """A delay of each request against its bound."""
    known = values_ns[np.isfinite(values_ns)]
    outcome, p99 = delayed(known, allowed_s), known_percentile(known, 1 - _MAY_WAIT)
    if p99 is None or len(known) >= _ENOUGH or outcome == "pass":
        yield from _delay(what, how, None if p99 is None else p99 / NS_PER_S, allowed_s, metrics)
        return
    late = int(np.count_nonzero(known > allowed_s * NS_PER_S))
    most = format_seconds(float(known.max()) / NS_PER_S)
    whom = "" if not metrics else " This reaches TTFT." if metrics == _TTFT else " This reaches TTFT and TPOT."
    told = "1% may" if outcome == "fail" else f"1% may, and {len(known):,} requests cannot tell"
    sentence = (
        f"{late:,} of {len(known):,} {what} more than {format_seconds(allowed_s)} {how}, at most {most}; {told}.{whom}"
    )
    yield _check(outcome, sentence, metrics)


def _delay(
    what: str, how: str, p99_s: float | None, allowed_s: float, metrics: tuple[str, ...] = ()
) -> Iterator[Check]:
    if p99_s is None:
        yield _check("unknown", f"It was not recorded how long {what} {how}.", metrics)
        return
    late = p99_s > allowed_s
    sentence = f"99 % of {what} at most {format_seconds(p99_s)} {how}; {format_seconds(allowed_s)} is allowed."
    yield _check("fail" if late else "pass", sentence, metrics)


def _said(client: Client, window: Window, allowed_s: float) -> Iterator[Check]:
    for sentence in client.limits:
        yield _check("fail", sentence)
    if client.cpu_share is not None:
        outcome: Outcome = "fail" if client.cpu_share > _BUSY else "pass"
        yield _check(outcome, f"The busiest process used {client.cpu_share:.0%} of one core, {_BUSY:.0%} is too much.")
    if client.loop_lag_s is not None:
        yield from _delay("wake-ups of the loop came", "late", client.loop_lag_s, allowed_s)
    if client.ceiling_per_s is not None and window.length_ns > 0:
        rate = len(window.rows) * NS_PER_S / window.length_ns
        share = rate / client.ceiling_per_s
        sentence = f"{rate:,.4g} requests/s are {share:.0%} of the {client.ceiling_per_s:,.4g} this client can send."
        yield _check("fail" if share > _NEAR_CEILING else "pass", sentence)


def _check(outcome: Outcome, sentence: str, metrics: tuple[str, ...] = ()) -> Check:
    return Check(aspect=ASPECT, outcome=outcome, sentence=sentence, metrics=metrics)
