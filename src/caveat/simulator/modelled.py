"""From a model file to a server that can be offered a plan: the mode of the model, or one of its draws."""

from __future__ import annotations

import msgspec

from caveat.errors import UsageError
from caveat.simulator.model_file import Model
from caveat.simulator.step_models import Draw
from caveat.simulator.target import SimulatedServer


def server_of(model: Model, *, draw: int | None = None, max_num_seqs: int | None = None) -> SimulatedServer:
    """The fleet that a model describes. `draw` counts from 0 and goes around; None is the model's own best guess.

    A draw brings its own overhead, where it has one. Raises CannotSayError where `max_num_seqs` is not one number and
    none is given. `prefix_hit` is no part of a server: it belongs to the plan.
    """
    chosen = _chosen(model, draw)
    overheads, shape = model.overheads, model.shape(draw)
    if chosen.overhead_s is not None:
        overheads = msgspec.structs.replace(overheads, intake_s=chosen.overhead_s)
    return SimulatedServer(
        chosen.step_time,
        model.scheduler.scheduler(overheads, max_num_seqs=max_num_seqs),
        replicas=model.fleet.replicas,
        routing=model.fleet.routing(),
        limit=model.fleet.limit,
        disaggregation=shape.disaggregation,
        several_models=shape.several_models,
        autoscaling=shape.autoscaling,
        failures=shape.failures,
    )


def _chosen(model: Model, draw: int | None) -> Draw:
    if draw is None:
        return Draw(model.step_time.step_time(), None)
    if draw < 0:
        raise UsageError(f"draw: found {draw}, expected a number from 0")
    draws = model.step_time.draws_of()
    return draws[draw % len(draws)]
