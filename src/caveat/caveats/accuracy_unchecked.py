"""Accuracy unchecked: nobody has looked whether the answers behind a speed were right."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance
from caveat.figures import Figure, Run, figures_of

ASPECT = "accuracy"


def _applies(figure: Figure) -> bool:
    """Measured speeds without a verdict on accuracy. One that missed its target has that verdict as its validity."""
    return _is_measured(figure) and _verdict(figure) == "unchecked"


def _is_measured(figure: Figure) -> bool:
    """By a client of ours: the logs of the official LoadGen that ran here are imported, and are ours as well."""
    own = figure.provenance.origin == "measured" or figure.run.subject.startswith("measured/")
    return is_performance(figure) and own


def _verdict(figure: Figure) -> str:
    outcomes = {check.outcome for check in figure.validity if check.aspect == ASPECT}
    return "missed" if "fail" in outcomes else "reached" if outcomes == {"pass"} else "unchecked"


def _sentence(figure: Figure) -> str:
    reached = figure.conditions.numbers("accuracy")
    if reached:
        scores = ", ".join(f"{name} {value:.4g} %" for name, value in reached.items())
        return f"Accuracy unchecked: it was measured ({scores}), but nothing says that this is enough."
    return (
        "Accuracy unchecked: nobody has tested whether the server's answers were as good as the model's; a stack that "
        "answers worse may be faster."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for run in runs for f in figures_of(run)[:1] if _is_measured(f)]
    groups = grouped(figures, lambda f: (f.conditions.text("model"), _verdict(f)))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={
            "n": len(figures),
            "unchecked": sum(_verdict(f) == "unchecked" for f in figures),
            "missed": sum(_verdict(f) == "missed" for f in figures),
        },
        tables=(Table("Accuracy of measured runs", ("model", "accuracy", "runs"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="accuracy-unchecked",
    title="Accuracy unchecked",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The server answered every request, so this is how fast the model is on this machine.
        """,
    why="""
        A load test reads lengths and times, not words. Weights in fewer bits, a cache in fewer bits, a wrong chat
        template, a broken kernel, a draft model that is believed too readily, answers that are cut short: each can
        make a server faster and its answers worse, and no latency shows it. Prompts of made-up words cannot show it
        either, since they have no right answer. The suites therefore count a speed only with an accuracy run of the
        same system beside it.
        """,
    instead="""
        Run the same endpoint, model and decoding over a data set with references, ask for the score that the model
        has elsewhere, and point the timed run to it. Look at the mean output length as well: a stack that stops early
        is fast and not wrong in any single word.
        """,
    right="""
        For comparing settings of one stack that cannot change its answers, such as the number of requests in flight;
        and for capacity of a service whose answers are checked elsewhere.
        """,
    shown="""
        {n} runs here were measured with a client of ours: {unchecked} have no accuracy run that decides anything,
        {missed} missed what was demanded.
        """,
    evidence=_evidence,
)
