"""Rule: both systems were entered in one category, edge or datacenter."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "system-type"


def system_type(left: Figure, right: Figure) -> Iterator[Finding]:
    """Edge and datacenter results are published apart, and the difference is stated.

    ## What it asks

    The system types of both figures have a category in common. A system entered in both goes with either.

    ## Why

    The categories have their own lists of benchmarks, scenarios and power rules, and their own tables of
    compatible rounds. Data set and harness of one benchmark are the same in both, so a comparison inside one
    round says something, if the categories stand beside it.

    ## What to do instead

    State both categories, or take both figures from one.

    ## Undisclosed

    A caveat.

    ## Source

    MLCommons, inference rules: suites and system categories; results messaging guidelines: state differences.
    """
    answer = relation(left, right, "system_type")
    if answer == "undisclosed":
        why = "Edge and datacenter results are published apart."
    elif answer == "different" and not (_types(left) & _types(right)):
        why = "Edge and datacenter results are published apart, and the difference must be stated."
    else:
        return
    yield objection(
        RULE,
        "comparable-with-caveats",
        left,
        right,
        "system_type",
        why=why,
        remedy="state both system types, or take both figures from one",
    )


def _types(figure: Figure) -> set[str]:
    words = figure.conditions.words("system_type") or ""
    return {part.strip() for part in words.casefold().split(",")} - {""}
