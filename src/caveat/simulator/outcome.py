"""Outcome: what a plan saw on a modelled fleet, in a few numbers; and the search for the highest rate within limits.

Percentiles are those of `measure` (nearest rank); a failed request counts as never. These are answers of a model to
a question about itself, marked simulated where they are shown, and no figures of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.errors import CannotSayError
from caveat.measure import SHARES, Kept, Slo
from caveat.simulator.internals import Internals
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.units import NS_PER_S
from caveat.workload import Plan

Float64 = npt.NDArray[np.float64]

_MOST_DOUBLINGS = 12
TOLERANCE = 0.01
"""Width at which a search ends, as a share of the rate."""


class Percentiles(msgspec.Struct, frozen=True, kw_only=True):
    """Of one time, in seconds; None where the percentile request never got there, or where it is not told."""

    p50: float | None
    p95: float | None
    p99: float | None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen.

    output_tokens_per_s   of requests that succeeded, from the first arrival to the last end
    requests_per_s        the same of requests
    ttft_s, tpot_s        from due to first token, and (last - first token) / (tokens - 1) of a request
    latency_s             from due to end
    failed                requests that were refused or lost
    drain_s               from the last arrival to the last end: long where the fleet did not keep up
    busy_share, hit_share, mean_batch   of the fleet; see Internals
    """

    output_tokens_per_s: float
    requests_per_s: float
    ttft_s: Percentiles
    tpot_s: Percentiles
    latency_s: Percentiles
    failed: int
    drain_s: float
    busy_share: float | None
    hit_share: float | None
    mean_batch: float | None

    def without_waiting(self) -> Outcome:
        """Where the load is too near to what the server carries for first tokens and whole requests to be told."""
        untold = Percentiles(p50=None, p95=None, p99=None)
        return msgspec.structs.replace(self, ttft_s=untold, latency_s=untold)


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of a simulated run in seconds, in order of requests; NaN where a request never got there."""

    due_s: Float64
    first_s: Float64
    end_s: Float64
    prompt_tokens: Float64
    output_tokens: Float64
    internals: Internals

    def ttft_s(self) -> Float64:
        """Of each request, infinite where there was none."""
        return _or_never(self.first_s - self.due_s)

    def tpot_s(self) -> Float64:
        """Of each request with two tokens or more, infinite for failures."""
        several = ~(self.output_tokens < 2)  # NaN: failed
        return _or_never((self.end_s - self.first_s)[several] / (self.output_tokens[several] - 1))

    def latency_s(self) -> Float64:
        """Of each request, infinite for failures."""
        return _or_never(np.where(np.isnan(self.first_s), np.nan, self.end_s - self.due_s))

    def since(self, request: int) -> Times:
        """Without the requests before this one."""
        columns = ("due_s", "first_s", "end_s", "prompt_tokens", "output_tokens")
        return msgspec.structs.replace(self, **{name: getattr(self, name)[request:] for name in columns})

    def outcome(self) -> Outcome:
        """In a few numbers."""
        inside, served = self.internals, ~np.isnan(self.first_s)
        span_s = float(self.end_s.max() - self.due_s.min())
        return Outcome(
            output_tokens_per_s=float(self.output_tokens[served].sum()) / span_s if span_s else 0.0,
            requests_per_s=int(served.sum()) / span_s if span_s else 0.0,
            ttft_s=_percentiles(self.ttft_s()),
            tpot_s=_percentiles(self.tpot_s()),
            latency_s=_percentiles(self.latency_s()),
            failed=int((~served).sum()),
            drain_s=float(self.end_s.max() - self.due_s.max()),
            busy_share=inside.busy_share,
            hit_share=inside.hit_share,
            mean_batch=inside.mean_batch,
        )

    def keeps(self, slo: Slo) -> bool:
        """Whether the percentile of each limited time lies within its limit. Answers of one token have no TPOT."""
        share = SHARES[slo.percentile]
        limited = ((slo.ttft_s, self.ttft_s), (slo.tpot_s, self.tpot_s), (slo.latency_s, self.latency_s))
        return all(limit is None or _within(values(), share, limit) for limit, values in limited)


def times_of(server: SimulatedServer, plan: Plan) -> Times:
    """Serve a plan. CannotSayError for a plan without requests."""
    sink = Kept()
    server.offer(plan, sink, VirtualClock())
    table = sink.table().sort_by("request")
    if not table.num_rows:
        raise CannotSayError("simulation: found a plan without requests")
    assert server.internals is not None  # made by every offer

    def column(name: str) -> Float64:
        return np.asarray(table.column(name).to_numpy(zero_copy_only=False), np.float64)

    return Times(
        due_s=column("ready_ns") / NS_PER_S,
        first_s=column("first_token_ns") / NS_PER_S,
        end_s=column("end_ns") / NS_PER_S,
        prompt_tokens=column("input_tokens_wanted"),
        output_tokens=column("output_tokens_usage"),
        internals=server.internals,
    )


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The highest rate within the limits. `at_least`: nothing faster was tried, or may be tried."""

    rate_per_s: float
    at_least: bool = False


def highest(
    keeps: Callable[[float], bool],
    start: float,
    *,
    most: float = math.inf,
    tolerance: float = TOLERANCE,
    factor: float = 2.0,
) -> Peak | None:
    """The highest rate that keeps the limits, by steps of `factor` from `start` and then bisection in its logarithm.

    `keeps` is to draw the same random numbers at every rate: then what it says falls once, but for ties. None where
    even the slowest does not keep them: then load is not what breaks them.
    """
    good, bad = None, None
    rate = min(start, most)
    for _ in range(_MOST_DOUBLINGS):
        if keeps(rate):
            good = rate
            if bad is not None or rate >= most:
                break
            rate = min(factor * rate, most)
        else:
            bad = rate
            if good is not None:
                break
            rate /= factor
    if good is None:
        return None
    if bad is None:
        return Peak(rate_per_s=good, at_least=True)
    while bad / good > 1 + tolerance:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if keeps(middle) else (good, middle)
    return Peak(rate_per_s=good)


def _or_never(values: Float64) -> Float64:
    return np.where(np.isnan(values), np.inf, values)


def _percentiles(values: Float64) -> Percentiles:
    found = {name: _at(values, SHARES[name]) for name in ("p50", "p95", "p99")}
    return Percentiles(**{name: value if math.isfinite(value) else None for name, value in found.items()})


def _within(values: Float64, share: float, limit: float) -> bool:
    return not len(values) or _at(values, share) <= limit


def _at(values: Float64, share: float) -> float:
    """At the nearest rank; infinite where it is a failure, or where there is nothing to see (NaN)."""
    if not len(values):
        return math.nan
    rank = max(0, math.ceil(len(values) * share - 1e-9) - 1)
    return float(np.partition(values, rank)[rank])
