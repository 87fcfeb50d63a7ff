"""What to do after a run: for each aspect that did not pass the next step, then where the rest of the run stands."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.caveats import sentences
from caveat.figures import SHOWN, Figure, Run

_CALIBRATE = "measured runs at such a load make a model that holds there: caveat calibrate RUN"

# An aspect, and what to do where it failed, or could not be said.
STEPS: dict[str, tuple[str, str]] = {
    "error rate": ("caveat show {id} --plot shows when they failed; ask for less, or mend the server", ""),
    "errors": ("find out why requests failed before anything else: a scenario knows no failed one", ""),
    "latency limits": (
        "--find-peak searches the highest rate that meets the limits",
        "measure longer",
    ),
    "steady state": (
        "the server does not carry this rate: ask for less, --find-peak finds the highest that it does",
        "measure longer",
    ),
    "early stopping (TTFT)": ("ask for less, or for looser limits", "measure longer: --min-queries"),
    "early stopping (TPOT)": ("ask for less, or for looser limits", "measure longer: --min-queries"),
    "early stopping": ("ask for less, or for looser limits", "measure longer: --min-queries"),
    "minimum duration": ("measure longer: --min-duration", ""),
    "minimum queries": ("measure longer: --min-queries", ""),
    "arrivals": ("another load was offered than was asked for: free this machine of other work, or --processes 2", ""),
    "client health": (
        "these times are partly the client's: free this machine, --processes 2, or measure from another one",
        "",
    ),
    "length match": ("another workload was measured: ask for lengths that this server gives", ""),
    "output length": ("answers are of another length than the rules ask: look at the model and its stop words", ""),
    "cache state": ("leave out --no-salt, or restart the server between runs", ""),
    "consistency": ("do not use this run before the sum that does not add up is explained", ""),
    "completion": ("measure again, whole: caveat measure --like {id}", ""),
    "accuracy": ("look at the answers: caveat measure URL --accuracy DATA", ""),
    "model range": (_CALIBRATE, _CALIBRATE),
    "load fraction": ("ask the model for less, or give it more: --set fleet.replicas=2", ""),
}
OF_A_MODEL = ("model range", "load fraction")
"""Aspects that say what to do after a simulated run: the others are about measuring."""


def next_steps(run: Run) -> Iterator[str]:
    """A step for each aspect that did not pass, once, then the usual ones."""
    id = run.id[:SHOWN]
    steps = {aspect: STEPS[aspect] for aspect in OF_A_MODEL} if run.provenance.origin == "simulated" else STEPS
    done: set[str] = set()
    for check in run.validity:
        failed, unknown = steps.get(check.aspect, ("", ""))
        step = {"fail": failed, "unknown": unknown}.get(check.outcome, "")
        if step and step not in done:
            done.add(step)
            yield f"{check.aspect}: {step.format(id=id)}"
    if run.primary is not None:
        names = [name for name, _ in sentences(Figure(run, run.primary))]
        yield f"caveat explain {id} has the caveats: {', '.join(names)}"
        yield f"caveat show {id} has all of it, with --plot drawn"
    if run.provenance.origin == "measured" and run.samples is not None:
        yield f"caveat measure --like {id} does the same again"
