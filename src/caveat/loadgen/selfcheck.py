"""The client looks at itself: what was noted while it ran, and what the machine had no more of.

The verdict is `measure`'s, which sees the samples as well: a run in which the client was the limit is not valid.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from caveat.loadgen.spread import Spread
from caveat.loadgen.tally import Tally
from caveat.units import NS_PER_S, format_seconds


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What the generator noted about itself, over all its processes. Times in seconds; None is not known.

    late_*           a request was due -> it was taken up
    loop_lag_*       a heartbeat of the event loop was due -> it ran
    stall_*          upper bound of what the loop added to times of first tokens
    cpu_share_*      of one CPU, of the busiest process: over the run, and the 95th percentile of its seconds
    cpu_wait_share   time in which the busiest process could run and was given no CPU, over the run
    cpu_s            all processes together
    """

    processes: int
    requests: int
    failed: int
    client_limit_errors: int
    late_p50_s: float | None
    late_p99_s: float | None
    late_max_s: float
    loop_lag_p99_s: float | None
    loop_lag_max_s: float
    stall_p50_s: float | None
    stall_p99_s: float | None
    cpu_share: float
    cpu_share_p95: float
    cpu_wait_share: float | None
    cpu_s: float
    in_flight_most: int
    connections: int
    connections_ahead: int
    file_descriptors: int
    file_descriptor_limit: int

    def reuse_share(self) -> float | None:
        """Share of requests that went over a connection which stood already."""
        made = self.connections - self.connections_ahead
        return None if not self.requests else max(0.0, 1.0 - made / self.requests)

    def sentence(self) -> str:
        """For the record: what the client used."""
        reuse = self.reuse_share()
        over = "" if reuse is None else f", {reuse:.0%} of requests over one that stood"
        processes = "1 process" if self.processes == 1 else f"{self.processes:,} processes"
        return (
            f"client: {processes}, {format_seconds(self.cpu_s)} of processor time, at most {self.in_flight_most:,} "
            f"in flight, {self.connections:,} connections made{over}"
        )


# what is looked at, from which value on the client was the limit, how the value is said
_Value = Callable[[ClientHealth], float | None]
_Limit = tuple[str, _Value, float, Callable[[float], str]]
RAN_OUT: tuple[_Limit, ...] = (
    ("a process waited for a CPU", lambda h: h.cpu_wait_share, 0.20, "{:.0%}".format),
    (
        "requests failed for want of descriptors or ports",
        lambda h: h.client_limit_errors / h.requests if h.requests else None,
        1e-9,
        "{:.2%}".format,
    ),
    (
        "file descriptors were used up",
        lambda h: h.file_descriptors / h.file_descriptor_limit if h.file_descriptor_limit else None,
        0.98,
        "{:.0%}".format,
    ),
)
"""What no sample shows: the machine had no more to give. Delays and the load of the processor are judged with them."""


def limit_sentences(health: ClientHealth) -> tuple[str, ...]:
    """What ran out on this machine, one sentence each: processor time, descriptors, ports. Empty where nothing did."""
    return tuple(
        f"Client-limited: {what} {words(value)}{f', {words(limit)} or more is too much' if limit > 1e-6 else ''}."
        for what, read, limit, words in RAN_OUT
        if (value := read(health)) is not None and value >= limit
    )


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True):
    """One process's tally, as it travels. Spreads go as buckets with their largest value."""

    sent: int
    failed: int
    client_limits: int
    in_flight_most: int
    connections: int
    connections_ahead: int
    cpu_s: float
    wall_s: float
    waited_s: float | None
    busy: list[float]
    late: tuple[dict[int, int], int]
    lag: tuple[dict[int, int], int]
    stalled: tuple[dict[int, int], int]
    file_descriptor_limit: int


def process_report(tally: Tally, lag: Spread, connections: int) -> ProcessReport:
    """What one process noted, when its run is over."""
    import resource

    return ProcessReport(
        sent=tally.sent,
        failed=tally.failed,
        client_limits=tally.client_limits,
        in_flight_most=tally.in_flight_most,
        connections=connections,
        connections_ahead=tally.ahead,
        cpu_s=tally.cpu_s(),
        wall_s=tally.wall_s(),
        waited_s=tally.waited_s(),
        busy=tally.busy,
        late=(tally.late.counts(), tally.late.largest_ns),
        lag=(lag.counts(), lag.largest_ns),
        stalled=(tally.stalled.counts(), tally.stalled.largest_ns),
        file_descriptor_limit=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    )


def health_of(reports: list[ProcessReport]) -> ClientHealth:
    """All processes together; what limits one of them limits the run, so shares are those of the worst."""
    late, lag, stalled = (_merged([getattr(r, name) for r in reports]) for name in ("late", "lag", "stalled"))
    waits = [r.waited_s / r.wall_s for r in reports if r.waited_s is not None and r.wall_s > 0]
    most_used = max(reports, key=lambda r: r.in_flight_most / max(1, r.file_descriptor_limit))
    return ClientHealth(
        processes=len(reports),
        requests=sum(r.sent for r in reports),
        failed=sum(r.failed for r in reports),
        client_limit_errors=sum(r.client_limits for r in reports),
        late_p50_s=_quantile_s(late, 0.50),
        late_p99_s=_quantile_s(late, 0.99),
        late_max_s=late.largest_ns / NS_PER_S,
        loop_lag_p99_s=_quantile_s(lag, 0.99),
        loop_lag_max_s=lag.largest_ns / NS_PER_S,
        stall_p50_s=_quantile_s(stalled, 0.50),
        stall_p99_s=_quantile_s(stalled, 0.99),
        cpu_share=max(r.cpu_s / r.wall_s if r.wall_s > 0 else 0.0 for r in reports),
        cpu_share_p95=max(_high(r.busy or [r.cpu_s / max(r.wall_s, 1e-9)]) for r in reports),
        cpu_wait_share=max(waits, default=None),
        cpu_s=sum(r.cpu_s for r in reports),
        in_flight_most=sum(r.in_flight_most for r in reports),
        connections=sum(r.connections for r in reports),
        connections_ahead=sum(r.connections_ahead for r in reports),
        file_descriptors=most_used.in_flight_most,
        file_descriptor_limit=most_used.file_descriptor_limit,
    )


def _merged(parts: list[tuple[dict[int, int], int]]) -> Spread:
    spread = Spread()
    for counts, largest_ns in parts:
        spread.merge(counts.items(), largest_ns)
    return spread


def _quantile_s(spread: Spread, share: float) -> float | None:
    ns = spread.quantile(share)
    return None if ns is None else ns / NS_PER_S


def _high(shares: list[float]) -> float:
    """The 95th percentile, by nearest rank."""
    ordered = sorted(shares)
    return ordered[max(0, -(-95 * len(ordered) // 100) - 1)]
