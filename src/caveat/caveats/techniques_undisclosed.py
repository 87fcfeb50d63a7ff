"""Techniques undisclosed: what can change the meaning of a rate is mostly not said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, percent, rounds_of
from caveat.caveats.kinds import is_performance
from caveat.figures import TABLE, Conditions, Figure, Run

TECHNIQUES = tuple(row for row in TABLE if row.kind == "technique")
_STATES = ("on", "off", "undisclosed", "not applicable")


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and bool(_undisclosed(figure.conditions))


def _undisclosed(c: Conditions) -> list[str]:
    return [_name(row.key) for row in TECHNIQUES if c.state(row.key) == "undisclosed"]


def _name(key: str) -> str:
    return key.replace("_", " ")


def _sentence(figure: Figure) -> str:
    return f"Undisclosed, and able to change what the figure means: {', '.join(_undisclosed(figure.conditions))}."


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = published_once(runs)
    rows = []
    for row in TECHNIQUES:
        counts = Counter(f.conditions.text(row.key) for f in figures)
        rows.append((_name(row.key), *(str(counts[state]) for state in _STATES)))
    silent = sum(len(_undisclosed(f.conditions)) for f in figures)
    return Evidence(
        numbers={
            "n": len(figures),
            "techniques": len(TECHNIQUES),
            "share": percent(silent / (len(figures) * len(TECHNIQUES))) if figures else None,
            "complete": sum(not _undisclosed(f.conditions) for f in figures),
        },
        tables=(Table("What is said about each technique", ("technique", *_STATES), tuple(rows)),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="techniques-undisclosed",
    title="Techniques are undisclosed",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        Nothing is said about speculative decoding, quantised KV entries or split prefill and decode, so none was used;
        or: everybody uses them nowadays, so all were.
        """,
    why="""
        Silence is not "off". Result tables have a column for the data type of the weights and one for the framework,
        and none for the rest. Yet each of these techniques changes for which traffic the rate holds: speculation gains
        by how well the text can be guessed, prefix caching by what requests share, a quantised cache by how much
        context fits, disaggregation by the mix of prompt and answer. "Off" is known only where a rule of the
        round forbids a technique; "on" only where the submission says so.
        """,
    instead="""
        Put the question to whoever gave the number (`caveat ask`). Until there is an answer, take the figure
        as that of an unknown setting, and do not explain a difference between two figures by a technique that
        neither discloses.
        """,
    right="""
        Between reviewed results under one set of rules, where what is forbidden is off for all, with the open
        questions named.
        """,
    shown="""
        {n} published rates, {techniques} techniques each: {share} of the answers are missing, and {complete} of the
        figures have them all.
        """,
    evidence=_evidence,
)
