"""A model on the screen and as JSON: what it is made of, what was identified, what may be claimed, where it may be
asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from caveat.cli.console import heading, show, show_lines
from caveat.publish import cell, plain_table
from caveat.simulator import (
    CLAIMS,
    Calibration,
    Model,
    Parameter,
    Range,
    basis_words,
    coverage_lines,
    coverages,
    fit_words,
    parameters_of,
)
from caveat.units import format_number

FORMAT = "caveat-calibrated/1"
TOLD, TOGETHER = 2.0, 0.8
"""A parameter known to within this factor either way was told by the evidence; a wider one is mostly belief. Two whose
logarithms are correlated beyond the second number were not told apart."""


def print_model(found: Calibration) -> None:
    """Grade first, then parameters with ranges, then what is not known, and the range."""
    model = found.model
    show(cell(f"{model.name}: grade {model.grade}, {basis_words(model)}"))
    show_lines([f"what may be claimed: {CLAIMS[model.grade]}"], indent=0)
    heading("what was identified")
    table = plain_table(["parameter", "value", "80 % range", "known to"], right=["value"])
    parameters = parameters_of(model)
    for one in parameters:
        table.add_row(one.name, cell(format_number(one.median)), cell(_range(one)), _known_to(one))
    if parameters:
        show(table)
    show_lines(list(_identified(found, parameters)))
    if found.fits:
        heading("the model against the runs that it was made from")
        show_lines(fit_words(found.fits))
    heading("what is not known")
    show_lines(
        [f"{name}: an answer needs it, or a range of it" for name in model.not_known] or ["nothing that is asked"]
    )
    heading("validated range")
    show_lines([*_validated(model), *(one.words for one in found.held_out)])
    heading("coverage of such intervals")
    show_lines(coverage_lines(model))
    said = {*(one.words for one in found.held_out), *fit_words(found.fits)}
    if notes := [note for note in model.provenance.note if note not in said]:
        heading("notes")
        show_lines(notes)


def _identified(found: Calibration, parameters: tuple[Parameter, ...]) -> Iterator[str]:
    if not parameters:
        yield "the model says nothing of how sure it is: its answers have no intervals of its own"
        return
    untold = found.untold or tuple(one.name for one in parameters if one.factor > TOLD)
    if untold:
        yield f"not told by the evidence, mostly belief: {', '.join(untold)}"
    together = found.together or tuple(_together(parameters))
    if together:
        yield f"known together better than alone: {', '.join(f'{one} with {other}' for one, other in together)}"


def _together(parameters: tuple[Parameter, ...]) -> Iterator[tuple[str, str]]:
    for place, one in enumerate(parameters):
        for other in parameters[place + 1 :]:
            if abs(one.correlation(other)) > TOGETHER:
                yield one.name, other.name


def _range(one: Parameter) -> str:
    return f"{format_number(one.low)} to {format_number(one.high)}"


def _known_to(one: Parameter) -> str:
    return f"a factor of {one.factor:.2f}"


def _validated(model: Model) -> Iterator[str]:
    found = msgspec.structs.asdict(model.validated)
    known = {name: value for name, value in found.items() if isinstance(value, Range)}
    if not known:
        yield "none: nothing was tried that the model had not seen, so every answer is an extrapolation"
    elif model.validated.basis:
        yield model.validated.basis
    for name, value in known.items():
        yield f"{name}: {format_number(value.low)} to {format_number(value.high)}"


def model_json(found: Calibration, *, file: Path | None) -> dict[str, Any]:
    """The model whole, with its parameters as ranges and what was held out."""
    model = found.model
    return {
        "format": FORMAT,
        "file": None if file is None else str(file),
        "name": model.name,
        "grade": model.grade,
        "basis": basis_words(model),
        "claims": CLAIMS[model.grade],
        "parameters": [
            {"name": one.name, "median": one.median, "low": one.low, "high": one.high, "factor": one.factor}
            for one in parameters_of(model)
        ],
        "not_known": list(model.not_known),
        "validated": msgspec.to_builtins(model.validated),
        "held_out": [
            {"run": one.run, "ttft_off": one.ttft_off, "token_off": one.token_off, "holds": one.holds}
            for one in found.held_out
        ],
        "fits": [
            {
                "run": one.run,
                "time": one.kind,
                "seen_p50": one.seen_p50,
                "seen_p95": one.seen_p95,
                "model_p50": one.model_p50,
                "model_p95": one.model_p95,
                "explained": one.explained,
            }
            for one in found.fits
        ],
        "untold": list(found.untold),
        "together": [list(pair) for pair in found.together],
        "coverage": [msgspec.to_builtins(one) for one in coverages() if one.grade == model.grade],
        "model": msgspec.to_builtins(model),
    }
