"""Rule: both figures are primary, measured values."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import is_mlperf, plain
from caveat.figures import Figure

RULE = "derived-value"


def derived_value(left: Figure, right: Figure) -> Iterator[Finding]:
    """A derived or secondary value says on what basis it stands.

    ## What it asks

    Neither figure is derived from others; and of a benchmark of MLCommons it is the one primary metric.

    ## Why

    Each benchmark has one metric that is reviewed and official in each scenario. Latencies, lengths, rates per
    sample and anything computed are secondary: one may compare them, but states the basis and calls them
    neither official nor verified.

    ## What to do instead

    Use the primary figure (`caveat show ID` marks it), or print the basis with the comparison.

    ## Undisclosed

    Where it is not known which metric was published, a caveat.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): primary metric; other and derived values.
    """
    mine, theirs = _standing(left), _standing(right)
    if mine == theirs == "":
        return
    left_text, right_text = mine or "a primary or measured value", theirs or "a primary or measured value"
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"A derived or secondary value states its basis: {left_text} on the left, {right_text} on the right.",
        left=left_text,
        right=right_text,
        remedy="print the basis with the comparison and do not call it official or verified; or use the primary figure",
    )


def _standing(figure: Figure) -> str:
    """What makes a figure less than a primary measured value; empty where nothing does."""
    if figure.provenance.origin == "derived":
        return f"derived as {plain(figure.provenance.formula)}"
    if figure.metric.source.startswith("derived"):
        return figure.metric.source
    if is_mlperf(figure) and not figure.is_primary:
        primary = figure.run.primary
        return f"secondary to {primary}" if primary else "not known to be the primary metric"
    return ""
