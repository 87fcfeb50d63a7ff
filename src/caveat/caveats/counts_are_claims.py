"""Counts are claims: how many accelerators a system has is said in several places, not always alike."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance, published
from caveat.figures import Conditions, Figure, Run

COUNTS = ("accelerators", "accelerators_per_node", "nodes")


def contested(conditions: Conditions) -> tuple[str, ...]:
    """The counts on which the sources disagree."""
    conflicts = conditions.conflicts()
    return tuple(key for key in COUNTS if key in conflicts)


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and bool(contested(figure.conditions))


def _sentence(figure: Figure) -> str:
    c = figure.conditions
    said = "; ".join(f"{key.replace('_', ' ')}: {_values(c, key)}" for key in contested(c))
    return f"Sources disagree on the size of the system ({said}): no value per accelerator follows from it."


def _values(c: Conditions, key: str) -> str:
    return " or ".join(dict.fromkeys(str(claim.value) for claim in c.claims[key]))


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for run in runs if (f := published(run)) is not None]
    conflicting = [f for f in figures if contested(f.conditions)]
    systems = grouped(
        conflicting, lambda f: tuple(f.conditions.text(key) for key in ("round", "submitter", "platform"))
    )
    rows = tuple(
        (*system, key.replace("_", " "), _statements(group[0].conditions, key), str(len(group)))
        for system, group in sorted(systems.items())
        for key in contested(group[0].conditions)
    )
    return Evidence(
        numbers={"n": len(conflicting), "systems": len(systems), "of": len(figures)},
        tables=(Table("Contested counts", ("round", "submitter", "platform", "count", "claims", "figures"), rows),),
        counted=rounds_of(conflicting),
    )


def _statements(c: Conditions, key: str) -> str:
    """Each value with those who say it."""
    by_value = grouped(c.claims[key], lambda claim: str(claim.value))
    return "; ".join(f"{value} by {', '.join(claim.source for claim in said)}" for value, said in by_value.items())


CAVEAT = Caveat(
    id="counts-are-claims",
    title="Counts are claims with sources",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The table has a column for the number of accelerators, so the number is known.
        """,
    why="""
        The count stands in the accelerator's text, in the name of the system, in a column for the whole and in the
        product of nodes and accelerators per node. They are typed by hand. Where they disagree, one accelerator may
        have been left idle, or a field may have been rounded to whole nodes: the files do not say which.
        """,
    instead="""
        Keep both numbers and their sources. Use the rate as that of the system as described, form nothing per
        accelerator, and ask the submitter.
        """,
    right="""
        The rate itself is not in doubt: it was measured on whatever was there.
        """,
    shown="""
        {n} of {of} published rates here, of {systems} systems, have a contested count.
        """,
    evidence=_evidence,
)
