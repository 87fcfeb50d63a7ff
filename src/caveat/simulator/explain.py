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

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from caveat.errors import UsageError
from caveat.simulator.capacity import Interval, interval_of
from caveat.simulator.explain_question import SCALES, Question
from caveat.simulator.explain_scenarios import Offline, Served, offline_of, served_of
from caveat.simulator.full_batch import FullBatch, full_batch
from caveat.simulator.grades import Grade
from caveat.simulator.model_file import Model, Range
from caveat.simulator.modelled import server_of
from caveat.simulator.predict_draws import inputs_of
from caveat.simulator.step_models import RooflineSteps
from caveat.simulator.target import SimulatedServer

FORMAT: Literal["caveat-explained/1"] = "caveat-explained/1"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One scale with one batch limit.

    accelerators              in all replicas; None where the model does not say how many a replica has
    full_batch_tokens_per_s   C
    seats                     sequences that a replica's full batch has
    ranges                    80 % of the draws of the model, each asked the same: of C and the rates in tokens/s, and
                              of the ratios to Offline. A scenario whose limits some draw never keeps has none, and
                              without draws there are none
    """

    replicas: int
    accelerators: int | None
    max_num_seqs: int
    seats: float
    full_batch_tokens_per_s: float
    offline: Offline
    server: Served | None
    interactive: Served | None
    ranges: dict[str, Interval] = {}


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. Simulated, on the model's best guess, at scales at which nothing was validated. `draws` is how many
    of the model are behind the ranges."""

    model: str
    grade: Grade
    question: Question
    points: tuple[Point, ...]
    notes: tuple[str, ...]
    draws: int = 0
    simulated: Literal[True] = True
    format: Literal["caveat-explained/1"] = FORMAT


def explain(
    model: Model,
    question: Question | None = None,
    *,
    max_num_seqs: int | None = None,
    draws: int = 0,
    step: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Offline, Server and Interactive of a model over scale; the model's own number of replicas is not used.

    With `draws` each point is asked of so many draws of the model too, which gives its ranges; a model without draws
    says nothing of how sure it is, and its points have none.

    `max_num_seqs` is asked for where the model does not say one number and the question tries none (CannotSayError).
    UsageError for a fleet with switches.
    `step` is told (points done, of how many, with those of the draws).
    """
    if model.fleet.switches:
        raise UsageError(
            f"explain: found fleet.{model.fleet.switches[0]}, expected alike replicas: scale is what it varies",
            next=" ".join(f"--set fleet.{name}=none" for name in model.fleet.switches),
        )
    asked = question or Question()
    asked = msgspec.structs.replace(asked, scales=asked.scales or scales_of(model))
    held = len(model.step_time.draws_of())
    behind = [one.draw for one in inputs_of(model, 0.0, max_num_seqs, draws if held > 1 else 0)]
    limits = asked.batch_limits or (max_num_seqs,)
    asks = [(limit, scale) for limit in limits for scale in asked.scales]
    found: dict[tuple[int | None, int], list[Point]] = {ask: [] for ask in asks}
    done = 0
    for draw, limit in ((draw, limit) for draw in behind for limit in limits):
        server = server_of(model, draw=draw, max_num_seqs=limit)
        full = full_batch(server, asked.lengths, asked.seed)
        for scale in asked.scales:
            found[limit, scale].append(_point(server, full, asked, scale, accelerators_each(model)))
            done += 1
            if step is not None:
                step(done, len(asks) * len(behind))
    return Explanation(
        model=model.name,
        grade=model.grade,
        question=asked,
        points=tuple(_ranged(*found[ask]) for ask in asks),
        notes=(*_notes(held, len(behind) - 1), *_unused_hit(model)),
        draws=len(behind) - 1,
    )


def accelerators_each(model: Model) -> int | None:
    """How many accelerators a replica of the model has; None where it does not say."""
    return model.step_time.replica.tensor_parallel if isinstance(model.step_time, RooflineSteps) else None


def scales_of(model: Model) -> tuple[int, ...]:
    """Replicas that make 1 to 72 accelerators; of a model that does not say how many a replica has, 1 to 72 replicas.

    A scale that is no whole number of replicas is rounded down.
    """
    each = accelerators_each(model) or 1
    return tuple(sorted({max(1, scale // each) for scale in SCALES}))


def _ranged(best: Point, *others: Point) -> Point:
    """The best guess, with what 80 % of the draws say."""
    if not others:
        return best
    seen = [_values(point) for point in others]
    kept = [key for key in _values(best) if all(key in one for one in seen)]
    return msgspec.structs.replace(best, ranges={key: interval_of(one[key] for one in seen) for key in kept})


def _values(point: Point) -> dict[str, float]:
    values: dict[str, float | None] = {
        "full_batch_tokens_per_s": point.full_batch_tokens_per_s,
        "offline_tokens_per_s": point.offline.tokens_per_s,
    }
    for name, served in (("server", point.server), ("interactive", point.interactive)):
        if served is not None:
            values |= {f"{name}_tokens_per_s": served.tokens_per_s, f"{name}_ratio": served.ratio}
    return {key: value for key, value in values.items() if value is not None}


def _notes(held: int, draws: int) -> tuple[str, ...]:
    if draws:
        return (*_NOTES, f"ranges are 80 % of {draws} draws of the model, each with a search of its own")
    if held > 1:
        return (*_NOTES, "no ranges: no draws of the model were asked (--draws 8)")
    return (*_NOTES, "no ranges: the model has no draws, and does not say how sure it is")


def _unused_hit(model: Model) -> tuple[str, ...]:
    """That the file's share of cached tokens has no part in the answer."""
    if model.prefix_hit == 0:
        return ()
    hit = "a range" if isinstance(model.prefix_hit, Range) else model.prefix_hit
    return (f"the model's prefix_hit ({hit}) is not used: these prompts are computed whole",)


def explain_json(found: Explanation) -> dict[str, Any]:
    """As one object with its format."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain


_NOTES = (
    "simulated on the model's best guess; at these scales and limits nothing was validated",
    "no prompt shares a beginning with another, as in a benchmark whose samples are all different",
    "Server rates are the highest that were found; a submitter's own rate is a choice below it",
)


def _point(server: SimulatedServer, full: FullBatch, asked: Question, replicas: int, each: int | None) -> Point:
    at_full = full.tokens_per_s * replicas
    offline = offline_of(server, full, asked, replicas)
    server_found, interactive = (
        None if slo is None else served_of(server, full, asked, replicas, name, slo, offline)
        for name, slo in (("Server", asked.server), ("Interactive", asked.interactive))
    )
    return Point(
        replicas=replicas,
        accelerators=None if each is None else each * replicas,
        max_num_seqs=server.scheduler.seats(),
        seats=full.seats,
        full_batch_tokens_per_s=at_full,
        offline=offline,
        server=server_found,
        interactive=interactive,
    )
