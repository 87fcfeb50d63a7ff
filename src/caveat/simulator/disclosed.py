"""What a model discloses of the system that it stands for, and what it is made from, in words."""

from __future__ import annotations

from caveat.figures import Value
from caveat.simulator.grades import BASIS
from caveat.simulator.model_file import Model
from caveat.simulator.step_models import RooflineSteps


def basis_words(model: Model) -> str:
    """What the model is made from. Stated step times are nobody's measurement, whatever the grade."""
    if model.provenance.origin == "stated":
        return "step times stated by whoever wrote the model"
    return f"from {BASIS[model.grade]}"


def hardware_of(model: Model) -> dict[str, Value | None]:
    """Conditions of model and system: those of a roofline, else the model's name alone."""
    if not isinstance(model.step_time, RooflineSteps):
        return {"model": model.name}
    replica, replicas = model.step_time.replica, model.fleet.replicas
    return {
        "model": replica.shape.id,
        "parameters_b": replica.shape.parameters_billion,
        "weight_precision": replica.precision,
        "kv_cache_precision": replica.kv_precision,
        "accelerator": replica.hardware.family,
        "accelerator_stated": replica.hardware.name,
        "accelerators": replica.tensor_parallel * replicas,
        "parallelism": f"{replicas} replicas of {replica.tensor_parallel} accelerators",
    }
