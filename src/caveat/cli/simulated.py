"""A simulated run on the screen: the load first, then the answer as of a measured run, with grade and range."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.cli.console import emit, show, show_lines
from caveat.cli.measured import measured_json, print_answer, print_next, print_rest
from caveat.cli.measured_sweep import print_sweep
from caveat.cli.measured_tables import print_checks
from caveat.figures import SHOWN, Run
from caveat.publish import cell
from caveat.simulator import CLAIMS, Model, basis_words, model_named, shipped_models

FORMAT = "caveat-simulated/1"
MODELS_FORMAT = "caveat-models/1"


def print_simulated(run: Run, *, full: bool = False) -> None:
    """One run: its answer, or with `full` all of it. The word "simulated" and the load stand before any figure."""
    c = run.conditions
    show(cell(f"{run.id[:SHOWN]}  SIMULATED: {c.text('model')}, {c.text('arrivals')} ({c.text('loop')} loop)"))
    show_lines([load_words(run) if c.numbers("load_fraction") else load_line(run)], indent=0)
    print_answer(run)
    show_lines([interval_words(run), *coverage_words(run), model_line(run)], indent=0)
    if full:
        print_rest(run)
    else:
        print_checks(run)
    print_next(run)


def model_line(run: Run) -> str:
    """What the model was made from, and where it was held against what it had not seen."""
    c = run.conditions
    return f"model: {c.text('modelled_server')}, grade {c.text('model_grade')}; validated range: " + c.text(
        "validated_range"
    )


def load_words(run: Run) -> str:
    """All that is said of the load: the notes before the one that names the model."""
    return "; ".join(itertools.takewhile(lambda note: not note.startswith("modelled server:"), run.notes))


def interval_words(run: Run) -> str:
    """How the intervals of the table were made."""
    made = [row.spread.method.split("; ") for row in run.rows if row.spread is not None]
    simulated = sorted({"; ".join(m for m in method if not _is_moved(m)) for method in made if "80 % of" in method[0]})
    if not simulated:
        return "intervals: the scatter of one run; none of the model itself"
    moved = any(_is_moved(part) for method in made for part in method)
    return f"intervals: {simulated[0]}" + ("; some are moved out, as their coverage asked" if moved else "")


def _is_moved(part: str) -> bool:
    return part.startswith("ends moved out")


def coverage_words(run: Run) -> list[str]:
    """What was measured of such intervals, on whom, and the model's own check: as the run's notes say it."""
    return [note for note in run.notes if note.startswith("coverage: ")]


def simulated_json(runs: Sequence[Run]) -> dict[str, object]:
    """As measured runs, under a format of their own: every figure with its conditions, the load before them."""
    content = measured_json(runs)
    each = content["runs"]
    assert isinstance(each, list)
    loads = [run.conditions.numbers("load_fraction") or None for run in runs]
    return {
        "format": FORMAT,
        "runs": [{"load_fraction": load, **run} for load, run in zip(loads, each, strict=True)],
    }


def load_line(run: Run) -> str:
    """The load fraction with its range, or why there is none."""
    load = run.conditions.numbers("load_fraction")
    if load:
        return f"load fraction {load['median']:.2f} ({load['low']:.2f} to {load['high']:.2f})"
    closed = run.conditions.words("loop") == "closed"
    return f"load fraction: none, {'a closed loop takes what it gets' if closed else 'all requests come at once'}"


def print_simulated_sweep(runs: Sequence[Run]) -> None:
    """The loads in order, then the table and curve of any sweep."""
    show(cell("SIMULATED, all of these; 80 % ranges in caveat show ID"))
    show_lines([f"{run.id[:SHOWN]}  {load_line(run)}" for run in runs], indent=0)
    show(cell(""))
    print_sweep(runs)


def print_models(*, as_json: bool) -> None:
    """The shipped models, with grade and notes."""
    found = [model_named(name) for name in shipped_models()]
    if as_json:
        emit({"format": MODELS_FORMAT, "models": [_model_json(model) for model in found]})
        return
    for model in found:
        show(cell(f"{model.name}  grade {model.grade}, {basis_words(model)}"))
        show_lines([f"claims: {CLAIMS[model.grade]}", *model.provenance.note], indent=4)


def _model_json(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "grade": model.grade,
        "claims": CLAIMS[model.grade],
        "replicas": model.fleet.replicas,
        "validated": msgspec.to_builtins(model.validated),
        "provenance": msgspec.to_builtins(model.provenance),
    }
