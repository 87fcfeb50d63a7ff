"""Records of a search for the peak: what is asked, what a probe saw, and what was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from caveat.errors import UsageError
from caveat.measure.columns import Flags

Purpose = Literal["bracket", "estimate", "confirm"]
Ending = Literal["narrow enough", "budget spent", "client-limited", "ceiling reached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakGoal:
    """What is sought: the highest rate at which at most `share` of the requests are over a limit.

    share         0.01: p99 within its limit, or goodput of at least 99 %
    confidence    of the interval; `width` is how wide it may be, as a share of the estimate
    start_qps     a first guess; `ceiling_qps` the most that this client can send, None where it is not known
    most_queries  and most_s: the search ends there, whatever it knows; confirming is not counted
    full_queries  and full_s: length of a run that certifies a rate, whichever is longer
    seed          of the probes, which take seeds of their own from it

    Raises UsageError naming the field.
    """

    start_qps: float
    share: float = 0.01
    confidence: float = 0.90
    width: float = 0.06
    ceiling_qps: float | None = None
    most_queries: int | None = None
    most_s: float | None = None
    full_queries: int = 24_576
    full_s: float = 600.0
    confirm: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        _between("start_qps", self.start_qps, 0, math.inf)
        _between("share", self.share, 0, 0.2)
        _between("confidence", self.confidence, 0.5, 1)
        _between("width", self.width, 0.045, 1)  # below, start-up and bend of the curve are as large
        for name in ("ceiling_qps", "most_queries", "most_s", "full_queries", "full_s"):
            value = getattr(self, name)
            if value is not None:
                _between(name, value, 0, math.inf)

    def full_length(self, rate_qps: float) -> int:
        """Queries of a full-length run at a rate."""
        return max(self.full_queries, math.ceil(self.full_s * rate_qps))


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise UsageError(f"peak: {name}: found {value!r}, expected more than {low:g} and less than {high:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How far the search is: the interval so far, None before there is one, and about how much is still to come."""

    low_qps: float | None = None
    high_qps: float | None = None
    queries: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakAsk:
    """The next probe: `queries` requests at `rate_qps`, with that seed.

    A probe in which more than `most_over` went over is hopeless: it may stop there, and saves its time. None: it may
    not, its length was fixed beforehand.
    """

    number: int
    purpose: Purpose
    rate_qps: float
    queries: int
    seed: int
    most_over: int | None = None
    outlook: Outlook = Outlook()

    @property
    def seconds(self) -> float:
        """How long the arrivals take, on average."""
        return self.queries / self.rate_qps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeakProbe:
    """What a probe saw.

    over            one flag a request in order of arrival: above any limit, or failed
    span_s          first to last arrival as they were due
    latency_s       of a typical request, whole
    wait_s          by how much a request may wait longer than a quiet one before it is over; 0 where waiting is not
                    what the limit is about, or not known
    client_limited  the client was the bottleneck: what it saw is not the server's
    run             the name under which it was kept
    """

    over: Flags
    span_s: float
    latency_s: float
    wait_s: float = 0.0
    failures: int = 0
    client_limited: bool = False
    run: str = ""

    def __post_init__(self) -> None:
        if not len(self.over):
            raise UsageError("peak: a probe: found no request, expected at least one")
        for name in ("span_s", "latency_s", "wait_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"peak: a probe: {name}: found {getattr(self, name)}, expected seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRow:
    """A probe as it is kept in the answer. `certified`: its over count passes early stopping at 99 % confidence."""

    number: int
    purpose: Purpose
    rate_qps: float
    queries: int
    over: int
    failures: int
    seconds: float
    seed: int
    certified: bool
    client_limited: bool
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The answer: the highest rate, the interval in which it lies, and apart from it the highest certified rate.

    `high_qps` and `rate_qps` are None where no rate was found too fast: then the peak is at least `low_qps`.
    `certified` is the full-length probe that passed early stopping, None where none did or none was made.
    `queries` and `seconds` are the search's, `confirm_queries` and `confirm_s` the confirmation's.
    """

    goal: PeakGoal
    rate_qps: float | None
    low_qps: float
    high_qps: float | None
    ending: Ending
    certified: ProbeRow | None
    probes: tuple[ProbeRow, ...]
    queries: int
    seconds: float
    confirm_queries: int
    confirm_s: float
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> float | None:
        """Width of the interval as a share of the estimate."""
        if self.rate_qps is None or self.high_qps is None:
            return None
        return (self.high_qps - self.low_qps) / self.rate_qps
