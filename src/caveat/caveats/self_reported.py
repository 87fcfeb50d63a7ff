"""Self-reported: nobody but whoever gives the number has looked at it."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance
from caveat.figures import Figure, Run, figures_of

UNREVIEWED = ("self-reported", "unverified", None)


def _applies(figure: Figure) -> bool:
    """Figures without a known review. A modelled figure has a caveat of its own."""
    return (
        is_performance(figure)
        and figure.provenance.origin != "simulated"
        and figure.conditions.get("review") in UNREVIEWED
    )


def _sentence(figure: Figure) -> str:
    match figure.conditions.get("review"):
        case "self-reported":
            return "Reported by those who answer for the system; nobody else is known to have checked it."
        case "unverified":
            return "Unverified: no publisher's review has looked at this run."
    return "It is undisclosed whether anybody but the source has checked this figure."


def _evidence(runs: Sequence[Run]) -> Evidence:
    firsts = [figure for run in runs for figure in figures_of(run)[:1]]
    figures = [f for f in firsts if _applies(f)]
    groups = grouped(firsts, lambda f: (f.conditions.text("review"), f.provenance.origin))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={"n": len(figures), "of": len(firsts)},
        tables=(Table("Who stands behind the runs", ("review", "origin", "runs"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="self-reported",
    title="Self-reported and unverified figures",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        A number with a decimal point and a well-known name of a benchmark is as good as a published result.
        """,
    why="""
        Review asks for the log, the accuracy run, the configuration and the code, and lets competitors object. Without
        it nothing has been held against the rules: the run may be too short, the accuracy unchecked, the lengths
        others, the best of many tries. Using the benchmark's name or its harness does not make a run a reviewed one,
        however carefully it was done; your own runs are no exception.
        """,
    instead="""
        Ask for the log or for the samples. Mark the figure as unverified wherever it stands; where it stands beside a
        reviewed one, add the caution sentence that the publisher's rules ask for. Where it decides something, measure.
        """,
    right="""
        Inside your own house, where you know how it was made; and for two runs of your own under equal
        conditions.
        """,
    shown="""
        {n} of the {of} runs here have no known review.
        """,
    evidence=_evidence,
)
