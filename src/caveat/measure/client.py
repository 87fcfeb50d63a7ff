"""The client's own health: what a generator says about itself, and whether its delays are inside the figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caveat.figures import Check, Outcome
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.latencies import VALUES, lateness
from caveat.measure.percentiles import known_percentile
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

_DELAY_FLOOR_S = 0.005  # a delay below this is noise of any timer
_DELAY_SHARE = 0.05  # of the median TTFT: a larger one would be read as the server's
_BUSY = 0.9  # share of one core above which the loop has no time left for stamps
_NEAR_CEILING = 0.8  # share of the calibrated rate from which latencies grow by the client alone
ASPECT = "client health"


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
    left = _delay("requests left", "after they were due", _p99_s(lateness(columns, window)), allowed)
    said = [
        *(() if window.is_burst else left),  # of a burst see arrivals.py
        *_delay("first tokens waited", "for the client's loop to read them", _stall_s(columns, window), allowed),
        *(_said(client, window, allowed) if client else ()),
    ]
    if client is None and not any(check.outcome == "fail" for check in said):
        said.append(_check("unknown", "The client's processor share, loop lag and ceiling were not recorded."))
    yield from said


def _stall_s(columns: SampleColumns, window: Window) -> float | None:
    return _p99_s(columns.numbers("stall_ns")[window.rows])


def _p99_s(values_ns: Floats) -> float | None:
    p99 = known_percentile(values_ns, 0.99)
    return None if p99 is None else p99 / NS_PER_S


def _delay(what: str, how: str, p99_s: float | None, allowed_s: float) -> Iterator[Check]:
    if p99_s is None:
        yield _check("unknown", f"It was not recorded how long {what} {how}.")
        return
    late = p99_s > allowed_s
    sentence = f"99 % of {what} at most {format_seconds(p99_s)} {how}; {format_seconds(allowed_s)} is allowed."
    yield _check("fail" if late else "pass", sentence)


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


def _check(outcome: Outcome, sentence: str) -> Check:
    return Check(aspect=ASPECT, outcome=outcome, sentence=sentence)
