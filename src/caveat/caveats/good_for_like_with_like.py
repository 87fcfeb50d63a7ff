"""Good for like with like: where reviewed results may stand side by side."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_good, is_reviewed
from caveat.figures import Figure, Run

_CONTEST = ("round", "benchmark", "scenario")


def _applies(figure: Figure) -> bool:
    """The published figure of a reviewed closed result that nothing speaks against."""
    return (
        figure.is_primary and is_reviewed(figure) and is_good(figure) and figure.conditions.get("division") == "closed"
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _applies(f)]
    groups = grouped(figures, lambda f: (*(f.conditions.text(key) for key in _CONTEST), f.metric.key))
    contests = {key: group for key, group in groups.items() if len(_submitters(group)) > 1}
    by_scenario = grouped(contests.items(), lambda item: (item[0][0], item[0][2]))
    rows = tuple(
        (
            *key,
            str(len(items)),
            str(sum(len(group) for _, group in items)),
            str(max(len(_submitters(group)) for _, group in items)),
        )
        for key, items in sorted(by_scenario.items())
    )
    return Evidence(
        numbers={"n": sum(len(group) for group in contests.values()), "contests": len(contests), "of": len(figures)},
        tables=(
            Table(
                "Results that may stand side by side, benchmark by benchmark",
                ("round", "scenario", "benchmarks", "results", "most submitters in one"),
                rows,
            ),
        ),
        counted=rounds_of(f for group in contests.values() for f in group),
    )


def _submitters(group: Sequence[Figure]) -> set[str]:
    return {f.conditions.text("submitter") for f in group}


CAVEAT = Caveat(
    id="good-for-like-with-like",
    title="Good for: comparing like with like",
    direction="good for",
    applies=_applies,
    sentence=(
        "Good for comparing like with like: reviewed results of the same benchmark, scenario, division and round "
        "may stand side by side."
    ),
    concluded="""
        With so many caveats, nothing may be compared with anything.
        """,
    why="""
        Reviewed results of one benchmark, scenario, division and round share the prompts, the caps, the accuracy, the
        limits, the harness, the clock and the rules on what may be cached. Few measurements in this field share as
        much. What is left to differ is mostly what one wants to compare: hardware, scale, engine and care.
        """,
    instead="""
        Let `caveat compare` go through the rules and keep what it says. State differences in availability, number of
        accelerators and precision; keep runs with and without power measurement apart; call nothing a difference that
        lies within the shape slack.
        """,
    right="""
        For which system does better on this shape under these limits, and by about how much.
        """,
    shown="""
        {n} of {of} reviewed closed figures here have a figure of another submitter beside them, in {contests} contests.
        """,
    evidence=_evidence,
)
