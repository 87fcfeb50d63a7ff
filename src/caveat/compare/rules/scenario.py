"""Rule: two figures come from one scenario."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "scenario"


def scenario(left: Figure, right: Figure) -> Iterator[Finding]:
    """Results of two scenarios are never compared.

    ## What it asks

    Both figures come from the same scenario, or from the same arrival process where the runs are one's own.

    ## Why

    Offline hands over everything at once and has no latency limit; Server sends Poisson arrivals at a rate that
    the submitter chose and must keep two latencies at the 99th percentile. The messaging guidelines do not ask
    for a footnote here, they forbid the comparison. Nor is there a factor from one to the other: over hundreds
    of pairs of one system the quotient runs from well below one half to above one.

    ## What to do instead

    Take both figures from the scenario that is like your use. To see what one system does under both, read
    `caveat discount`, which is an analysis of pairs and says so.

    ## Undisclosed

    The answer is unknown. One's own runs have no scenario; for them it is unknown where either side does not state
    its arrivals.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): only compatible results, same benchmark and scenario.
    """
    match relation(left, right, "scenario"):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "scenario",
                why="Another scenario is another measurement, and no factor leads from one to the other.",
                remedy="take both figures from one scenario; `caveat discount` shows one system under two scenarios",
            )
        case "undisclosed":
            yield objection(
                RULE, "unknown", left, right, "scenario", why="Without the scenario a rate cannot be placed."
            )
        case "not asked" if relation(left, right, "arrivals") in ("undisclosed", "not asked"):
            yield objection(
                RULE, "unknown", left, right, "arrivals", why="Without its arrivals a rate or a latency means nothing."
            )
