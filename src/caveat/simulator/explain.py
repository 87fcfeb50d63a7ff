"""Explain: Offline, Server and Interactive on one modelled system, over scale and batch limits, and where they part.

The question behind every pair of published scenarios: why is Server below Offline here and above it there? On a model
it has an answer. Let C be the rate of the fleet with every batch full. Offline falls short of C by its ramp (until the
queue is empty everywhere) and its tail (batches that only drain); Server falls short of C by the head room that its
limits ask for: waiting. Server passes Offline where ramp and tail cost more than waiting: a starved Offline, with too
few samples for each seat. Where Offline is long they cost little, waiting costs more, and Server stays below: Offline
is saturated.

The rate of Server and Interactive is the highest Poisson rate, not above C, that keeps the limits; found by bisection
in virtual time with the same random numbers at each rate, so that two rates differ in nothing but time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from caveat.errors import InputError
from caveat.measure import Slo, scenario_with, workload_of_scenario
from caveat.simulator.changed_plans import Sped
from caveat.simulator.full_batch import FullBatch, full_batch
from caveat.simulator.grades import Grade
from caveat.simulator.model_file import Model
from caveat.simulator.modelled import server_of
from caveat.simulator.outcome import Percentiles, Times, highest, times_of
from caveat.simulator.target import SimulatedServer
from caveat.units import format_seconds
from caveat.workload import Gamma, Lengths, Limits, Lognormal, Plan, Poisson, Separate, Workload

FORMAT: Literal["caveat-explained/1"] = "caveat-explained/1"

SCALES = (1, 2, 4, 8, 18, 36, 72)
_LENGTHS = Separate(input=Lognormal(mean=512, cv=1.0), output=Lognormal(mean=290, cv=0.8), output_cap=1024)
"""An example of chat: an assumption, not the lengths of any benchmark."""
_WARM, _COUNTED = 2, 6  # seatfuls before counting, and counted at least
_FEWEST, _MOST = 4000, 500_000  # requests counted
_BEGIN = 0.7  # of C: where the search begins
_LEVEL = 0.01  # nearer to each other than this is level: the search is no finer

Verdict = Literal["starved", "saturated", "level"]


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the scenarios ask.

    lengths               of prompts and answers; the default is an example of chat
    server, interactive   limits; None: not asked
    set_size              samples of the performance set: Offline sends whole sets
    min_duration_s        that Offline is to last, as LoadGen sizes it: samples for 1.1 times the rate that it would
                          have with full batches. 0: one set, however short
    served_s              how long Server and Interactive are watched at each rate, beside their warm-up
    scales                replicas of the modelled kind
    batch_limits          max_num_seqs to try at each scale; empty: the model's own
    seed                  of lengths and arrivals
    """

    lengths: Lengths = _LENGTHS
    server: Slo | None = Slo(ttft_s=2.0, tpot_s=0.2)
    interactive: Slo | None = Slo(ttft_s=0.45, tpot_s=0.04)
    set_size: int = 24_576
    min_duration_s: float = 0.0
    served_s: float = 600.0
    scales: tuple[int, ...] = SCALES
    batch_limits: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, values in (("scales", self.scales), ("batch_limits", self.batch_limits)):
            if any(not 1 <= value <= 100_000 for value in values):
                raise InputError(f"question: {name}: found {values}, expected numbers from 1 to 100,000")
        if not self.scales:
            raise InputError("question: scales: found none, expected at least one")
        if not 1 <= self.set_size <= 10_000_000:
            raise InputError(f"question: set_size: found {self.set_size}, expected a number from 1 to 10,000,000")
        for field in ("min_duration_s", "served_s"):
            if not 0 <= getattr(self, field) <= 1e6:
                raise InputError(f"question: {field}: found {getattr(self, field)}, expected seconds from 0")


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


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One scale with one batch limit.

    full_batch_tokens_per_s   C
    seats                     sequences that a replica's full batch has
    """

    replicas: int
    max_num_seqs: int
    seats: float
    full_batch_tokens_per_s: float
    offline: Offline
    server: Served | None
    interactive: Served | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. Simulated, on the model's best guess, at scales at which nothing was validated."""

    model: str
    grade: Grade
    question: Question
    points: tuple[Point, ...]
    notes: tuple[str, ...]
    simulated: Literal[True] = True
    format: Literal["caveat-explained/1"] = FORMAT


def explain(
    model: Model,
    question: Question | None = None,
    *,
    max_num_seqs: int | None = None,
    step: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Offline, Server and Interactive of a model over scale; the model's own number of replicas is not used.

    `max_num_seqs` is asked for where the model does not say one number and the question tries none (CannotSayError).
    `step` is told (points done, of how many).
    """
    asked = question or Question()
    limits = asked.batch_limits or (max_num_seqs,)
    points = []
    for limit in limits:
        server = server_of(model, max_num_seqs=limit)
        full = full_batch(server, asked.lengths, asked.seed)
        for scale in asked.scales:
            points.append(_point(server, full, asked, scale))
            if step is not None:
                step(len(points), len(limits) * len(asked.scales))
    return Explanation(model=model.name, grade=model.grade, question=asked, points=tuple(points), notes=_NOTES)


def explain_json(found: Explanation) -> dict[str, Any]:
    """As one object with its format."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain


_NOTES = (
    "simulated on the model's best guess; at these scales and limits nothing was validated",
    "no prompt shares a beginning with another, as in a benchmark whose samples are all different",
    "Server rates are the highest that were found; a submitter's own rate is a choice below it",
)


def _point(server: SimulatedServer, full: FullBatch, asked: Question, replicas: int) -> Point:
    at_full = full.tokens_per_s * replicas
    offline = _offline(server, full, asked, replicas)
    server_found, interactive = (
        None if slo is None else _served(server, full, asked, replicas, name, slo, offline)
        for name, slo in (("Server", asked.server), ("Interactive", asked.interactive))
    )
    return Point(
        replicas=replicas,
        max_num_seqs=server.scheduler.seats(),
        seats=full.seats,
        full_batch_tokens_per_s=at_full,
        offline=offline,
        server=server_found,
        interactive=interactive,
    )


def _offline(server: SimulatedServer, full: FullBatch, asked: Question, replicas: int) -> Offline:
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


def _served(
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
