"""A simulated run on the screen: the load first, then figures with intervals, grade and range, validity, caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.caveats import sentences
from caveat.cli.console import emit, heading, show, show_lines
from caveat.cli.measured import FIRST, IN_SCENARIO, headline, measured_json, print_sweep, print_validity, why_not
from caveat.figures import SHOWN, Figure, Row, Run
from caveat.publish import cell, plain_table
from caveat.simulator import CLAIMS, Model, basis_words, model_named, shipped_models
from caveat.units import format_quantity

FORMAT = "caveat-simulated/1"
MODELS_FORMAT = "caveat-models/1"


def print_simulated(run: Run) -> None:
    """One run. The word "simulated" and the load stand before any figure."""
    c = run.conditions
    show(cell(f"{run.id[:SHOWN]}  SIMULATED: {c.text('model')}, {c.text('arrivals')} ({c.text('loop')} loop)"))
    loaded = 2 if c.numbers("load_fraction") else 0
    show_lines(["; ".join(run.notes[:loaded]) or load_line(run)], indent=0)
    said = headline(run)
    if said is not None:
        show(cell(""), cell(said))
        show_lines(why_not(run))
    table = plain_table(["metric", "value", "interval", "n"], right=["value", "n"])
    for key in (*(IN_SCENARIO if said else ()), *FIRST):
        row = run.row(key)
        if row is not None and key != "caveat-send-lateness.p99":
            table.add_row(key, cell(Figure(run, key).text), cell(_interval(row)), f"{row.n:,}" if row.n else "")
    show(cell(""), table)
    show_lines([interval_words(run)])
    heading("model")
    show_lines([f"validated range: {c.text('validated_range')}", *run.notes[loaded:]])
    print_validity(run)
    if run.primary is not None:
        heading("caveats")
        show_lines([f"{name}: {text}" for name, text in sentences(Figure(run, run.primary))])
        show(cell(""), cell(f"all of it: caveat show {run.id[:SHOWN]}"))


def interval_words(run: Run) -> str:
    """How the intervals of the table were made."""
    made = {row.spread.method.partition(";")[0] for row in run.rows if row.spread is not None}
    of_model = sorted(method for method in made if "draws of the model" in method)
    return f"intervals: {of_model[0]}" if of_model else "intervals: the scatter of one run; none of the model itself"


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
    if not load:
        why = (
            "a closed loop takes what it gets" if run.conditions.words("loop") == "closed" else "requests come at once"
        )
        return f"load fraction: none, {why}"
    return f"load fraction {load['median']:.2f} ({load['low']:.2f} to {load['high']:.2f})"


def _interval(row: Row) -> str:
    if row.spread is None:
        return ""
    unit = row.definition.unit
    return f"{format_quantity(row.spread.low, unit)} to {format_quantity(row.spread.high, unit)}"


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
