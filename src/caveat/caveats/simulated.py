"""Simulated: the figure comes from a model of a server, not from a server."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.figures import Figure, Run, figures_of


def _applies(figure: Figure) -> bool:
    return figure.provenance.origin == "simulated" or figure.conditions.get("review") == "simulated"


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for run in runs for f in figures_of(run)[:1] if _applies(f)]
    groups = grouped(figures, lambda f: (f.conditions.text("model"), f.conditions.text("scenario")))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={"n": len(figures), "of": len(runs)},
        tables=(Table("Simulated runs", ("model", "scenario", "runs"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="simulated",
    title="Simulated figures",
    applies=_applies,
    sentence=(
        "Simulated: a model of a server made this figure, and it holds no further than the range "
        "in which the model was validated."
    ),
    concluded="""
        The simulation was calibrated on the real system, so its figures are the system's.
        """,
    why="""
        A model knows the effects that were put into it. Inside the range of its calibration it can be right to within
        an interval that was measured; outside it, it is a guess that looks like data. What it has no switch
        for (a slow disk, a noisy neighbour, a scheduler's bug) cannot occur in it.
        """,
    instead="""
        Read the interval with the value, and the range of validation with both. Measure the point on which a decision
        hangs. Do not set a simulated figure beside a published one as if they were of one kind.
        """,
    right="""
        For what would happen if: orders of magnitude, which of two settings is the better, where to measure next.
        """,
    shown="""
        {n} of the {of} runs here are simulated.
        """,
    evidence=_evidence,
)
