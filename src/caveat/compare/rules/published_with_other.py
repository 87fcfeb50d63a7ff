"""Rule: a published MLPerf submission is compared with results of its own suite only."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import is_published, relation, shown
from caveat.figures import Figure

RULE = "published-with-other"


def published_with_other(left: Figure, right: Figure) -> Iterator[Finding]:
    """A published MLPerf submission is never compared with a result from outside its suite.

    ## What it asks

    If one figure is a published submission, the other is a result of the same suite and a real run of it.

    ## Why

    Another load generator has other arrivals, other clocks and other data, whatever its request lengths. The
    guidelines rule the comparison out. A run that imitates a benchmark's lengths is derived from it and is not
    it; a modelled run is no run. In a plan both may stand as separate evidence, each with its conditions,
    without a ratio.

    ## What to do instead

    Compare submissions with submissions and your own runs with each other: replay the traffic that matters to
    you on both systems. A run of the official harness that was not reviewed counts as an unverified result of
    the suite.

    ## Undisclosed

    A figure that does not say which suite it belongs to is not known to be of this one: refused.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): not with results that are not MLPerf results.
    """
    published = is_published(left) or is_published(right)
    if not published or (relation(left, right, "suite") == "equal" and not (_is_modelled(left) or _is_modelled(right))):
        return
    mine, theirs = _kind(left), _kind(right)
    yield Finding(
        rule=RULE,
        severity="not-comparable",
        message=(
            "A published submission is compared only with results of its own suite: "
            f"{mine} on the left, {theirs} on the right."
        ),
        left=mine,
        right=theirs,
        remedy="keep the two as separate evidence, or measure both systems with one workload: caveat measure",
    )


def _is_modelled(figure: Figure) -> bool:
    return figure.provenance.origin == "simulated" or figure.conditions.words("review") == "simulated"


def _kind(figure: Figure) -> str:
    return f"suite {shown(figure, 'suite')}, {shown(figure, 'review')}, {figure.provenance.origin}"
