"""Rule: a power run goes with a power run."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "power-run"


def power_run(left: Figure, right: Figure) -> Iterator[Finding]:
    """The speed of a run that also measured power is not compared with the speed of one that did not.

    ## What it asks

    Both runs measured power, or neither did.

    ## Why

    A power submission may clock its hardware for efficiency and so gives lower speed than a performance
    submission of the same system. The compatibility table keeps the two apart.

    ## What to do instead

    Take the performance submission of both systems; for efficiency take the power submissions of both, with the
    power that each of them measured.

    ## Undisclosed

    A caveat.

    ## Source

    MLCommons, compatibility table (2026-04-28): performance and power submissions are not comparable.
    """
    match relation(left, right, "power_run"):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "power_run",
                why="A power run is tuned for efficiency and gives lower speed.",
                remedy="take two performance runs, or two power runs: caveat figures --where power_run=false",
            )
        case "undisclosed":
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                "power_run",
                why="A power run gives lower speed, and one of these may be one.",
            )
