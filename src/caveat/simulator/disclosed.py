"""What a model discloses of the system that it stands for, and what it is made from, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caveat.figures import Value
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.grades import BASIS, Coverage, coverage_of, coverages, statement
from caveat.simulator.model_file import Model
from caveat.simulator.step_models import RooflineSteps, StepModel


def basis_words(model: Model) -> str:
    """What the model is made from. Stated step times and simulated samples are nobody's measurement, whatever the
    grade."""
    if model.provenance.origin == "stated":
        return "step times stated by whoever wrote the model"
    if model.provenance.origin == "simulated":
        return "SIMULATED: from samples that another model made, which say nothing of any endpoint"
    return f"from {BASIS[model.grade]}"


def coverage_for(model: Model, metric: str) -> tuple[Coverage, ...]:
    """What was measured of intervals like the model's. None for stated steps and for a model that has one possibility
    alone: nobody held out anything of such."""
    if model.provenance.origin in ("stated", "simulated") or len(model.step_time.draws_of()) < 2:
        return ()
    return coverage_of(model.grade, metric)


def coverage_words(model: Model, metrics: Sequence[str]) -> Iterator[str]:
    """What stands beside intervals: of which metrics which shares were measured, on whom; and the model's own check."""
    said: dict[str, list[str]] = {}
    for metric in metrics:
        measured = coverage_for(model, metric)
        words = statement(model.grade, metric) if measured else f"grade {model.grade}: {_unmeasured(model)}"
        said.setdefault(words, []).append(metric)
    yield from (f"coverage: {', '.join(names)}: {words}" for words, names in said.items())
    if model.grade == "A":
        own = model.validated.basis or "none: the file names no run that was held against it unseen"
        yield f"coverage: this model's own check: {own}"


def coverage_lines(model: Model) -> list[str]:
    """What was measured of intervals of the model's grade, entry by entry; of grade A, on whom."""
    if model.provenance.origin in ("stated", "simulated"):
        return ["never measured: nobody held out anything of stated or simulated steps"]
    found = [f"{one.figure}: {one.words}" for one in coverages() if one.grade == model.grade and one.of_a_metric]
    if not found:
        return ["never measured"]
    if model.grade != "A":
        return found
    return ["on the benchmark's engine, which is not this one; of this model only its own held-out runs speak", *found]


def _unmeasured(model: Model) -> str:
    if len(model.step_time.draws_of()) < 2:
        return "not validated: the model has one set of steps, and no interval of its own"
    return "not validated: the coverage of such intervals was never measured"


def hardware_of(model: Model) -> dict[str, Value | None]:
    """Conditions of model and system: those of a roofline, else the model's name alone; and of the fleet's switches.

    Of a fleet whose size changes the accelerators are not one number, and of several models nothing is said that is
    true of one of them only.
    """
    if model.fleet.several_models is not None:
        return _several(model, (model.step_time, *model.fleet.several_models.others))
    if not isinstance(model.step_time, RooflineSteps):
        return {"model": model.name, **({"parallelism": fleet_words(model.fleet)} if model.fleet.switches else {})}
    replica, fleet = model.step_time.replica, model.fleet
    return {
        "model": replica.shape.id,
        "parameters_b": replica.shape.parameters_billion,
        "weight_precision": replica.precision,
        "kv_cache_precision": replica.kv_precision,
        "accelerator": replica.hardware.family,
        "accelerator_stated": replica.hardware.name,
        "accelerators": None if fleet.scales else replica.tensor_parallel * fleet.replicas,
        "parallelism": fleet_words(fleet, f"replicas of {replica.tensor_parallel} accelerators")
        if fleet.switches
        else f"{fleet.replicas} replicas of {replica.tensor_parallel} accelerators",
    }


def _several(model: Model, steps: tuple[StepModel, ...]) -> dict[str, Value | None]:
    """Of several models: their names, where each has a shape."""
    shapes = [step.replica.shape.id for step in steps if isinstance(step, RooflineSteps)]
    name = " + ".join(shapes) if len(shapes) == len(steps) else model.name
    return {"model": name, "parallelism": fleet_words(model.fleet)}


def fleet_words(fleet: FleetTable, replicas: str = "replicas") -> str:
    """The replicas and what the switches make of them."""
    return "; ".join([f"{fleet.replicas} {replicas} behind {fleet.router}", *_switched(fleet)])


def _switched(fleet: FleetTable) -> Iterator[str]:
    split, several, scaled, failing = fleet.disaggregation, fleet.several_models, fleet.autoscaling, fleet.failures
    if split is not None:
        yield f"{split.prefill_replicas} compute prompts, {fleet.replicas - split.prefill_replicas} answer"
        yield f"{split.links} x {split.link_bytes_per_s / 1e9:g} GB/s between them"
    if several is not None:
        shares = "/".join(f"{share:g}" for share in several.shares)
        held = (
            f"{several.swap_s:g} s to swap"
            if several.replicas is None
            else "on " + "/".join(map(str, several.replicas))
        )
        yield f"{1 + len(several.others)} models with shares {shares}, {held}"
    if scaled is not None:
        yield (
            f"from {scaled.min_replicas}{' in each pool' if fleet.pools > 1 else ''} as requests come, one for "
            f"{scaled.target_outstanding:g} of them, ready after {scaled.provisioning_s:g} s"
        )
    if failing is not None and failing.mean_between_s is not None:
        yield f"each fails about every {failing.mean_between_s:g} s and is back after about {failing.mean_repair_s:g} s"
    if failing is not None and failing.outages:
        yield f"planned outages: {len(failing.outages)}"
