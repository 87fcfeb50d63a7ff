"""Rule: both systems have the same number of accelerators, or the numbers stand beside the figures."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import relation
from caveat.compare.scale import count_conflict, size_text
from caveat.figures import Figure

RULE = "scale"


def scale(left: Figure, right: Figure) -> Iterator[Finding]:
    """A difference in the number of accelerators stands beside the figures.

    ## What it asks

    Both systems have the same number of accelerators on the same number of nodes, the counts and the chips are
    stated, and no count is contested by its own sources. Two kinds of accelerator are no objection: that is
    what one wants to compare.

    ## Why

    Seventy-two chips give more than eight. The guidelines demand that a comparison states the number of chips,
    meaning the devices that do most of the operations. A count is a claim: where a text says 87 and nodes times
    accelerators say 88, both claims are kept and neither is believed.

    ## What to do instead

    Name both counts and both chips, or ask for the ratio per accelerator (`--per-accelerator`), which is marked
    as derived.

    ## Undisclosed

    A caveat.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): state the chip count.
    """
    doubts = list(_doubts(left, right))
    if not doubts:
        return
    mine, theirs = size_text(left), size_text(right)
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"The size of the systems must be stated, as {' and '.join(doubts)}: "
        f"{mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy="state count and chip of both systems with the comparison",
    )


def _doubts(left: Figure, right: Figure) -> Iterator[str]:
    if any(count_conflict(side) for side in (left, right)):
        yield "the sources of a run disagree about its number of accelerators"
    match relation(left, right, "accelerators"):
        case "different":
            yield "the number of accelerators differs"
        case "undisclosed":
            yield "the number of accelerators is not known on both sides"
        case "equal" if relation(left, right, "nodes") == "different":
            yield "the number of nodes differs"
    if relation(left, right, "accelerator") == "undisclosed":
        yield "the kind of accelerator is not known on both sides"
