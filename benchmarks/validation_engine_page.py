"""The part of docs/validation.md about a real engine, from the kept result alone."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from benchmarks.published_page import table
from benchmarks.results import Result
from benchmarks.validation_engine_errors import AIMS, Aim, Line

FIGURES = ("ttft p50", "ttft p95", "tpot p50", "tpot p95", "e2e p50", "e2e p95")


def validation_engine(result: Result) -> Iterator[str]:
    """Markdown, paragraph by paragraph."""
    tables = result.tables
    lines = msgspec.convert(tables["rows"], list[Line])
    yield "## A model from measured runs, on a real engine (grade A)\n"
    yield (
        f"`python -m benchmarks.bench_validation_engine`: llama.cpp with {result.notes['model']} on one core, the load "
        "generator on the other. A model was calibrated on two short runs and asked for conditions that it had not "
        f"seen: runs of {tables['seconds']:g} s, {tables['repeats']} repeats, each another draw of the workload with "
        "prompts of its own. Each prediction is for the very requests that were sent. Percentiles are nearest ranks; "
        "time to first token and whole requests count from the moment a request was due.\n"
    )
    yield f"{result.machine.sentence()}.\n"
    yield from _model(tables["model"])
    yield "### Aims\n"
    aims = msgspec.convert(tables["aims"], list[Aim])
    rows = [(aim.what, aim.aimed, f"{aim.found:.1%}", "met" if aim.met else "missed") for aim in aims]
    yield table(("what", "aimed at", "found", ""), rows)
    yield "### Errors\n"
    yield (
        "|predicted / seen - 1|, median and worst over all held-out runs, and how many of the 80 % intervals hold what "
        "was seen; *wide* is the median of upper / lower end: an interval that holds everything because it is wide "
        "says little. *Linear rows* is the model that reads the same samples without simulating them.\n"
    )
    yield table(
        (
            "figure",
            "runs",
            "error, median",
            "worst",
            "inside",
            "wide",
            "linear rows: median",
            "worst",
            "inside",
            "wide",
        ),
        [_figure_cells(name, lines) for name in FIGURES],
    )
    yield "### Condition by condition\n"
    heads = ("condition", "runs", "requests", "load fraction", *FIGURES, "inside")
    yield table(heads, [_condition_cells(n, what, lines) for n, what in tables["conditions"].items()])
    yield (
        "Signed errors: the median repeat, in brackets the lowest and the highest. Requests are those of one run: with "
        "few of them a p95 is the third or fourth largest value, and differs from draw to draw by more than the model "
        "is off. Load fractions are rate / capacity of the calibrated model; a closed loop has none.\n"
    )
    yield from _read_with_care(lines)
    if "earlier" in result.notes:
        yield f"{result.notes['earlier']}\n"
    yield from _loads(tables["load of the machine, before and after"])


def _model(model: dict[str, Any]) -> Iterator[str]:
    values = ", ".join(f"{name} {value * 1e3:.3g} ms" for name, value in model["parameters"].items())
    line = f"; steps of fewer than {model['small_below']} tokens follow the small line" if model["small_below"] else ""
    yield f"The model: {values}{line}.\n"
    yield "\n".join(f"- {note}" for note in model["notes"]) + "\n"


def _figure_cells(name: str, lines: Sequence[Line]) -> Sequence[str]:
    fitted = _of(lines, "fit", figure=name)
    linear = _of(lines, "linear", figure=name)
    return (name.replace("ttft", "TTFT").replace("tpot", "TPOT").replace("e2e", "E2E"), str(len(fitted)),
            *_error_cells(fitted), *_error_cells(linear))  # fmt: skip


def _error_cells(lines: Sequence[Line]) -> tuple[str, str, str, str]:
    if not lines:
        return ("", "", "", "")
    errors = [abs(line.error) for line in lines]
    inside = sum(line.inside for line in lines)
    wide = np.median([line.predicted.high / line.predicted.low for line in lines])
    return (f"{np.median(errors):.1%}", f"{max(errors):.1%}", f"{inside} of {len(lines)}", f"{wide:.2f}")


def _condition_cells(name: str, what: str, lines: Sequence[Line]) -> Sequence[str]:
    mine = [line for line in lines if line.how == "fit" and line.condition == name]
    repeats = len({line.repeat for line in mine})
    loads = sorted({line.load for line in mine if line.load is not None})
    load = (
        "" if not loads else f"{loads[0]:.2f} to {loads[-1]:.2f}" if loads[-1] - loads[0] > 0.005 else f"{loads[0]:.2f}"
    )
    errors = [_signed([line.error for line in mine if line.figure == figure]) for figure in FIGURES]
    counts = sorted({line.requests for line in mine})
    requests = "" if not counts else f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    return (what, str(repeats), requests, load, *errors, f"{sum(line.inside for line in mine)} of {len(mine)}")


def _signed(errors: Sequence[float]) -> str:
    return f"{np.median(errors):+.0%} ({min(errors):+.0%}, {max(errors):+.0%})" if errors else ""


def _read_with_care(lines: Sequence[Line]) -> Iterator[str]:
    """What the pooled numbers hide."""
    fitted = [line for line in lines if line.how == "fit"]
    shares: dict[str, list[bool]] = {}
    for line in fitted:
        shares.setdefault(line.condition, []).append(line.inside)
    worst = min(shares, key=lambda name: sum(shares[name]) / len(shares[name]))
    rest = [inside for name, found in shares.items() if name != worst for inside in found]
    held, of = sum(shares[worst]), len(shares[worst])
    few = ", which is too few" if held < 0.8 * of else ""
    many = "is too many: they are too wide" if sum(rest) > 0.9 * len(rest) else "fits"
    yield (
        f"The pooled share hides how uneven it is. In the condition that did worst ({worst}) {held} of {of} intervals "
        f"held{few}; in the others {sum(rest)} of {len(rest)}, which of 80 % intervals {many}. "
        "All of it is one engine on one machine. The form of the step (a second line for small batches, and when it is "
        "kept) was settled on earlier runs of this same engine; the runs above were made after that. So these are the "
        "errors of a form that was made with such an engine in view.\n"
    )


def _of(lines: Sequence[Line], how: str, *, figure: str) -> list[Line]:
    return [line for line in lines if line.how == how and line.figure == figure]


def _loads(loads: dict[str, str]) -> Iterator[str]:
    most = max((float(word) for text in loads.values() for word in text.split()), default=0.0)
    yield (
        f"The engine keeps one core busy and the generator some of the other, so that a load of 1 to 1.5 is its own. "
        f"The highest load of the machine beside a run was {most:.1f}"
        + (
            ": other work took part of the engine's core, and what is off by that is in the errors.\n"
            if most > 2
            else ".\n"
        )
    )
    aimed = "; ".join(f"{what} at most {most:.0%}" for what, _, most in AIMS)
    yield f"Aims were set before the first run: {aimed}; 70 to 95 % of intervals.\n"
