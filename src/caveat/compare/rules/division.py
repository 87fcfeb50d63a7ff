"""Rule: two figures come from one division."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "division"


def division(left: Figure, right: Figure) -> Iterator[Finding]:
    """Closed results are compared with closed ones, and open results only with their difference stated.

    ## What it asks

    Both figures are of one division.

    ## Why

    The closed division fixes model, accuracy, limits and what may be done to a request. The open division drops
    any of these: another model, a lower accuracy, a looser limit. The guidelines let the two stand side by side
    only with a sentence that says in what way the open result would fail to be closed. The data do not hold
    that sentence, so caveat refuses. Two open results may each differ in their own way; that is a caveat.

    ## What to do instead

    Look for the submitter's closed result, or read the open submission's own notes and write the sentence
    yourself.

    ## Undisclosed

    The answer is unknown.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): state the division and how the open result would not
    qualify.
    """
    match relation(left, right, "division"):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "division",
                why="The open division may change model, accuracy and limits, and it is not recorded here in what way.",
                remedy="take both figures from one division: caveat figures --where division=closed",
            )
        case "undisclosed":
            yield objection(RULE, "unknown", left, right, "division", why="Its rules decide what was measured.")
        case "equal" if left.conditions.words("division") == "open":
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                "model_submitted",
                why="Both results are open: each may depart from the benchmark in its own way.",
                remedy="say for both in what way they would not qualify as closed",
            )
