"""Table: the figures of one client at one load, the targets that we set ourselves, and how both are printed."""

from collections.abc import Sequence

import msgspec
import numpy as np

from benchmarks.peers.gauge import Cost
from benchmarks.peers.servers import Seen


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One client at one load. Taken over the middle 80 % of the time between first and last arrival.

    gaps_sd_ms  standard deviation of the gaps between arrivals at the server: 0 is even, 1000 / rate is Poisson
    in_flight   median of what the server had read and not answered; in_flight_most its maximum
    start_s     from launch to the first request
    cores       CPU used by the client; waited_cores: what its main threads wanted and did not get
    """

    client: str
    load: str
    failed: str | None = None
    requests: int = 0
    per_s: float = 0.0
    cpu_ms: float = 0.0
    cores: float = 0.0
    waited_cores: float = 0.0
    server_cores: float = 0.0
    gaps_sd_ms: float = 0.0
    in_flight: float = 0.0
    in_flight_most: int = 0
    start_s: float = 0.0
    memory_mb: float = 0.0
    processes: int = 0

    def limit(self) -> str:
        """What kept the rate from being higher, as far as can be seen."""
        if self.server_cores > 0.9:
            return "the server"
        if self.cores > 0.9 * max(1, self.processes):
            return "the client"
        if self.waited_cores > 0.2:
            return "CPU time given to others"
        return "client and server by turns"


def line_of(client: str, load: str, cost: Cost, seen: Seen) -> Line:
    """The figures of a run."""
    arrived_s = seen.arrived_s
    if cost.failed is not None or len(arrived_s) < 20 or len(cost.looks) < 3:
        return Line(client=client, load=load, failed=cost.failed or "too short to be measured")
    begin_s, length_s = float(arrived_s[0]), float(arrived_s[-1] - arrived_s[0])
    start_s, end_s = begin_s + 0.1 * length_s, begin_s + 0.9 * length_s
    middle = arrived_s[(arrived_s >= start_s) & (arrived_s <= end_s)]
    span_s = end_s - start_s
    usual, most = seen.in_flight()
    return Line(
        client=client,
        load=load,
        requests=len(arrived_s),
        per_s=len(middle) / span_s,
        cpu_ms=1e3 * cost.spent("cpu_s", start_s, end_s) / len(middle),
        cores=cost.spent("cpu_s", start_s, end_s) / span_s,
        waited_cores=cost.spent("waited_s", start_s, end_s) / span_s,
        server_cores=cost.spent("server_cpu_s", start_s, end_s) / span_s,
        gaps_sd_ms=1e3 * float(np.diff(middle).std()),
        in_flight=usual,
        in_flight_most=most,
        start_s=begin_s - cost.launched_s,
        memory_mb=cost.memory_mb,
        processes=cost.processes,
    )


def median_of(lines: Sequence[Line]) -> Line:
    """The line of a client at a load over its repeats: the median of each figure, of those that did not fail."""
    good = [line for line in lines if line.failed is None]
    if not good:
        return lines[0]
    numbers = {
        name: type(getattr(good[0], name))(np.median([getattr(line, name) for line in good]))
        for name in Line.__struct_fields__
        if isinstance(getattr(good[0], name), int | float)
    }
    return msgspec.structs.replace(good[0], **numbers)


HEADS = ("client", "requests/s", "CPU ms/request", "start s", "peak MB", "in flight", "gaps sd ms", "limited by")


def cells(line: Line) -> tuple[str, ...]:
    """A line as texts under HEADS."""
    if line.failed is not None:
        return (line.client, line.failed, *[""] * (len(HEADS) - 2))
    return (
        line.client,
        f"{line.per_s:,.0f}",
        f"{line.cpu_ms:.3f}",
        f"{line.start_s:.2f}",
        f"{line.memory_mb:,.0f}",
        f"{line.in_flight_most} (median {line.in_flight:.0f})",
        f"{line.gaps_sd_ms:.2f}",
        line.limit(),
    )


COMPILED = ("sglang-rust",)
"""Clients that are shown beside the others and are no measure for one that is written in Python."""


class Target(msgspec.Struct, frozen=True):
    """What was aimed at, what was found."""

    what: str
    aimed: str
    found: str
    met: bool


def targets(lines: Sequence[Line]) -> list[Target]:
    """Our targets beside the results, as far as the run has what they need."""
    by = {(line.load, line.client): line for line in lines if line.failed is None}
    found: list[Target] = []
    ours, bare = by.get(("each", "caveat")), by.get(("each", "bare"))
    others = ("caveat", "bare", *COMPILED)
    peers = [line for (load, name), line in by.items() if load == "each" and not name.startswith(others)]
    if ours and bare:
        limit = max(0.30, 1.7 * bare.cpu_ms)
        found.append(_at_most("CPU ms per request", ours.cpu_ms, limit, f"0.30 or 1.7 × bare ({bare.cpu_ms:.3f})"))
    if ours and peers:
        best = max(peers, key=lambda line: line.per_s)
        met = ours.per_s >= 2 * best.per_s or ours.server_cores > 0.9
        aimed = f"2 × the best Python peer, {best.client} ({best.per_s:,.0f}/s), or the server's limit"
        found.append(Target("requests/s", aimed, f"{ours.per_s:,.0f}/s ({ours.per_s / best.per_s:.1f} ×)", met))
    if ours:
        found.append(_at_most("start to first request, s", ours.start_s, 1.5, ""))
        found.append(_at_most("peak memory, MB", ours.memory_mb, 150, ""))
        found.append(Target("in flight", "64", f"{ours.in_flight_most}", ours.in_flight_most == 64))
    if one := by.get(("one write", "caveat")):
        found.append(Target("requests/s, one write", "8,000/s", f"{one.per_s:,.0f}/s", one.per_s >= 8_000))
    if paced := by.get(("1,000/s", "caveat")):
        met = abs(paced.per_s / 1_000 - 1) < 0.01
        found.append(Target("asked for 1,000/s", "1,000/s", f"{paced.per_s:,.1f}/s", met))
    if ours and (two := by.get(("each", "caveat-2"))):
        found.append(_at_most("further memory of a second process, MB", two.memory_mb - ours.memory_mb, 60, ""))
    return found


def _at_most(what: str, value: float, limit: float, why: str) -> Target:
    return Target(what, f"at most {limit:.3g}" + (f": {why}" if why else ""), f"{value:.3g}", value <= limit)
