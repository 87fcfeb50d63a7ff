"""The scenarios of an explanation on one fleet: Offline with its ramp and tail, and the highest rate within limits."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from caveat.measure import Slo, scenario_with, workload_of_scenario
from caveat.simulator.changed_plans import Sped
from caveat.simulator.explain_question import Question
from caveat.simulator.full_batch import FullBatch
from caveat.simulator.outcome import Percentiles, Times, highest, times_of
from caveat.simulator.target import SimulatedServer
from caveat.units import format_seconds
from caveat.workload import Gamma, Limits, Plan, Poisson, Workload

_WARM, _COUNTED = 2, 6  # seatfuls before counting, and counted at least
_FEWEST, _MOST = 4000, 500_000  # requests counted
_BEGIN = 0.7  # of C: where the search begins
_LEVEL = 0.01  # nearer to each other than this is level: the search is no finer

Verdict = Literal["starved", "saturated", "level"]


class Offline(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at once. Rates in output tokens/s of the whole system; losses as shares of the full-batch rate.

    samples_per_seat   samples / (replicas x seats): how often a batch is filled
    ramp, tail         shares of C that are lost before and after the queue is empty everywhere; 1 - both is the rate
                       in shares of C. A ramp below 0: young batches read less context than settled ones
    """

    samples: int
    samples_per_seat: float
    duration_s: float
    tokens_per_s: float
    ramp: float
    tail: float


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """Server or Interactive: the highest rate that keeps its limits. `waiting` is the share of C that it leaves.

    `at_least`: it kept them at C itself, above which nothing is stable. None in `tokens_per_s`: no rate keeps them.
    `ratio` is to Offline; `verdict` says whether Offline was starved (ratio above 1) or saturated.
    """

    tokens_per_s: float | None
    requests_per_s: float | None
    at_least: bool
    waiting: float | None
    ttft_s: Percentiles | None
    tpot_s: Percentiles | None
    ratio: float | None
    verdict: Verdict | None
    why: str


def offline_of(server: SimulatedServer, full: FullBatch, asked: Question, replicas: int) -> Offline:
    """All samples at once, as many as LoadGen would send."""
    rules = scenario_with(
        "offline", min_duration_s=asked.min_duration_s, min_queries=asked.set_size, set_size=asked.set_size
    )
    rate = full.requests_per_s * replicas
    plan = workload_of_scenario(rules, asked.lengths, target_qps=rate, seed=asked.seed).plan()
    times = times_of(_scaled(server, replicas), plan)
    ramp, tail = full.lost_shares(times, replicas)
    seen = times.outcome()
    return Offline(
        samples=len(times.due_s),
        samples_per_seat=len(times.due_s) / (replicas * full.seats),
        duration_s=float(times.end_s.max()),
        tokens_per_s=seen.output_tokens_per_s,
        ramp=ramp,
        tail=tail,
    )


def served_of(
    server: SimulatedServer, full: FullBatch, asked: Question, replicas: int, name: str, slo: Slo, offline: Offline
) -> Served:
    """The highest rate that keeps the limits, at most that of full batches."""
    fleet, plan, warm, share = _stream(server, full, asked, replicas)
    seen: dict[float, Times] = {}

    def keeps(rate_per_s: float) -> bool:
        times = times_of(fleet, Sped(plan, rate_per_s * share)).since(warm)
        if not times.keeps(slo):
            return False
        seen[rate_per_s] = times
        return True

    most = full.requests_per_s * replicas
    peak = highest(keeps, _BEGIN * most, most=most)
    if peak is None:
        return _not_served(name, offline)
    ratio = full.tokens_per_s * replicas * peak.rate_per_s / most / offline.tokens_per_s
    at_peak, waiting = seen[peak.rate_per_s].outcome(), 1 - peak.rate_per_s / most
    verdict = _verdict(ratio)
    return Served(
        tokens_per_s=ratio * offline.tokens_per_s,
        requests_per_s=peak.rate_per_s,
        at_least=peak.at_least,
        waiting=waiting,
        ttft_s=at_peak.ttft_s,
        tpot_s=at_peak.tpot_s,
        ratio=ratio,
        verdict=verdict,
        why=f"{_lost(offline)}, {name} leaves {waiting:.1%} to waiting: {_SAID[verdict]}.",
    )


def _not_served(name: str, offline: Offline) -> Served:
    return Served(
        tokens_per_s=None,
        requests_per_s=None,
        at_least=False,
        waiting=None,
        ttft_s=None,
        tpot_s=None,
        ratio=None,
        verdict=None,
        why=f"{_lost(offline)}; no rate keeps the limits of {name}.",
    )


def _stream(
    server: SimulatedServer, full: FullBatch, asked: Question, replicas: int
) -> tuple[SimulatedServer, Plan, int, float]:
    """Whom to ask, with which plan of one request a second; how many requests are warm-up, and which share of the rate
    they get.

    Under round robin every replica sees each R-th arrival of a Poisson stream, which are gamma gaps of shape R, and
    lengths that do not depend on each other: one replica stands for all of them, exactly.
    """
    alone = server.routing.router == "round-robin"
    simulated = 1 if alone else replicas
    warm = math.ceil(_WARM * full.seats) * simulated
    watched = math.ceil(asked.served_s * full.requests_per_s) * simulated
    counted = min(max(_FEWEST, math.ceil(_COUNTED * full.seats) * simulated, watched), _MOST)
    one_a_second = Gamma(rate_qps=1.0, cv=1 / math.sqrt(replicas)) if alone and replicas > 1 else Poisson(rate_qps=1.0)
    workload = Workload(
        arrivals=one_a_second, lengths=asked.lengths, seed=asked.seed, limits=Limits(requests=warm + counted)
    )
    return _scaled(server, simulated), workload.plan(), warm, simulated / replicas


def _scaled(server: SimulatedServer, replicas: int) -> SimulatedServer:
    return SimulatedServer(server.step_time, server.scheduler, replicas=replicas, routing=server.routing)


def _verdict(ratio: float) -> Verdict:
    if abs(ratio - 1) <= _LEVEL:
        return "level"
    return "starved" if ratio > 1 else "saturated"


_SAID: dict[Verdict, str] = {
    "starved": "Offline is starved",
    "saturated": "Offline is saturated",
    "level": "they are level",
}


def _lost(offline: Offline) -> str:
    filled = f"{offline.samples_per_seat:.1f} samples a seat, {format_seconds(offline.duration_s)}"
    return f"Offline ({filled}) loses {offline.ramp:.1%} of full batches to its ramp and {offline.tail:.1%} to its tail"
