"""Preview: the system could not be bought when the result was published."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, percent, rounds_of
from caveat.caveats.kinds import form, hardware, is_performance
from caveat.facts import round_index
from caveat.figures import Figure, Run
from caveat.units import format_number

# mlcommons/policies submission_rules.adoc: what an available system may fall short of its preview result.
TOLERANCE = 0.02

NOT_ON_SALE = ("preview", "rdi")


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and figure.conditions.get("availability") in NOT_ON_SALE


def _sentence(figure: Figure) -> str:
    if figure.conditions.get("availability") == "preview":
        return "A preview: the system could not be bought when this was published, and what is sold may differ."
    return "A system for research, development or internal use: nothing says that it can ever be bought."


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = published_once(runs)
    before = [f for f in figures if _applies(f)]
    followed = [(f, later) for f in before if (later := _successor(f, figures)) is not None]
    groups = grouped(before, lambda f: (f.conditions.text("round"), f.conditions.text("availability")))
    return Evidence(
        numbers={
            "n": len(before),
            "of": len(figures),
            "followed": len(followed),
            "short": sum(_ratio(*pair) < 1 - TOLERANCE for pair in followed),
        },
        tables=(
            Table(
                "Figures of systems that were not on sale",
                ("round", "availability", "figures"),
                tuple((*key, str(len(group))) for key, group in sorted(groups.items())),
            ),
            Table(
                "The same submitter's next available result on equal hardware / preview result",
                ("preview", "available", "hardware", "benchmark", "scenario", "ratio"),
                tuple(_row(*pair) for pair in followed),
            ),
        ),
        counted=rounds_of(before),
    )


def _successor(figure: Figure, figures: Sequence[Figure]) -> Figure | None:
    """The best result of the next round in which like hardware of that submitter was available."""
    first = _round(figure)
    if figure.conditions.get("availability") != "preview" or first is None:
        return None
    later = [
        (number, f)
        for f in figures
        if f.conditions.get("availability") == "available"
        and _contest(f) == _contest(figure)
        and (number := _round(f)) is not None
        and number > first
    ]
    return min(later, key=lambda item: (item[0], -item[1].row.value))[1] if later else None


def _round(figure: Figure) -> int | None:
    return round_index(figure.conditions.words("round") or "")


def _contest(figure: Figure) -> tuple[object, ...]:
    keys = ("division", "submitter", "accelerators", "benchmark", "scenario")
    return (figure.metric.key, form(figure.conditions), *(figure.conditions.get(key) for key in keys))


def _ratio(preview: Figure, available: Figure) -> float:
    return available.row.value / preview.row.value


def _row(preview: Figure, available: Figure) -> tuple[str, ...]:
    c = preview.conditions
    return (
        c.text("round"),
        available.conditions.text("round"),
        hardware(c),
        c.text("benchmark"),
        c.text("scenario"),
        format_number(_ratio(preview, available)),
    )


CAVEAT = Caveat(
    id="preview",
    title="Preview systems",
    applies=_applies,
    sentence=_sentence,
    given={"tolerance": percent(TOLERANCE)},
    concluded="""
        The system is in the table, so it can be ordered with this performance.
        """,
    why="""
        A preview result is of hardware or software that is not yet on sale. It has to be met later by the system that
        is sold, within {tolerance}, or is marked invalid afterwards; so the status of a preview can change after you
        have read it. Results for research, development or internal use make no promise of sale at all.
        """,
    instead="""
        Look for the available result of the same system in a later round before you decide, and say "preview"
        wherever you show the figure.
        """,
    right="""
        For what is coming, with that word beside it; and against other previews.
        """,
    shown="""
        {n} of the {of} published rates here are of systems that were not on sale. {followed} of the previews are
        followed by an available result of the same submitter on equal hardware; {short} of these fall short by more
        than {tolerance}.
        """,
    evidence=_evidence,
)
