"""Rule: what is not said about the techniques is said to be not said."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.rules.techniques import TECHNIQUES
from caveat.figures import Figure

RULE = "disclosure"


def disclosure(left: Figure, right: Figure) -> Iterator[Finding]:
    """Undisclosed techniques are listed, with the share of conditions that is known.

    ## What it asks

    Both figures state for each technique that changes the meaning of a rate whether it was on or off.

    ## Why

    Published results seldom say it, and two systems of equal hardware can differ by a technique and not by a
    chip. Between reviewed results of compatible rounds this does not forbid the comparison: the rules fix the
    work and the accuracy. It is something that the reader must know.

    ## What to do instead

    Read the submission's system description and code, or put the question: `caveat ask ID`.

    ## Undisclosed

    A caveat that names the techniques. A technique that a rule of the round forbids is known to be off.

    ## Source

    Published result tables, read for what they leave open; `caveat.facts.RULES_CLOSED` for what rules forbid.
    """
    silent = [key for key in TECHNIQUES if _undisclosed(left, key) or _undisclosed(right, key)]
    if not silent:
        return
    mine, theirs = _text(left), _text(right)
    names = ", ".join(key.replace("_", " ") for key in silent)
    questions = " and ".join(dict.fromkeys(f"caveat ask {side.short_id}" for side in (left, right)))
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"It is not known on both sides whether these were on: {names}. "
        f"{mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy=f"read the submissions' own descriptions, or put the question: {questions}",
    )


def _undisclosed(figure: Figure, key: str) -> bool:
    return figure.conditions.state(key) == "undisclosed"


def _text(figure: Figure) -> str:
    known, of = figure.conditions.disclosed()
    silent = sum(_undisclosed(figure, key) for key in TECHNIQUES)
    return f"{known} of {of} conditions disclosed, {silent} of {len(TECHNIQUES)} techniques undisclosed"
