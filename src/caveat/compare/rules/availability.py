"""Rule: both systems can be had alike."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "availability"


def availability(left: Figure, right: Figure) -> Iterator[Finding]:
    """A system that cannot be bought yet is named as such.

    ## What it asks

    Both systems are of one category: available, preview, or research, development and internal (rdi).

    ## Why

    A preview result is a promise. Its system must come back as available in a later round within two percent of
    the preview value, or the result is marked invalid, so its standing can change after it was imported.

    ## What to do instead

    State both categories with the comparison; look in the next round for the available result of the system.

    ## Undisclosed

    A caveat.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): state the difference of category; submission rules:
    preview.
    """
    match relation(left, right, "availability"):
        case "different":
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                "availability",
                why="Categories that differ must be stated beside the figures.",
                remedy="state both categories, or take the available result of a later round",
            )
        case "undisclosed":
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                "availability",
                why="It is not known whether both systems can be bought.",
            )
