"""Rule: two figures have one metric definition."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.figures import Figure, Metric

RULE = "metric-definition"


def metric_definition(left: Figure, right: Figure) -> Iterator[Finding]:
    """Two figures are compared only if the same thing was computed.

    ## What it asks

    Both figures have the same metric key: the same formula, statistic, window, percentile method and token
    source.

    ## Why

    One name covers several formulas. At least five quantities go by the name of TPOT: a mean per request, a gap
    between chunks, a value weighted by tokens, one that includes the time to first token, one over system
    throughput. A rate that has the slow tail inside its window is not the rate of a steady stretch. The
    quotient of two such values measures the difference of the formulas.

    ## What to do instead

    Take a metric that both runs hold (the finding lists them), or recompute one of the two from its samples.

    ## Undisclosed

    A value whose source does not say how it was computed cannot be judged: the answer is unknown.

    ## Source

    The definitions in `docs/metrics.md`, read from the code of each tool; MLCommons' messaging guidelines ask
    for the benchmark's own metric.
    """
    mine, theirs = left.metric, right.metric
    undisclosed = "undisclosed" in (mine.definition, theirs.definition)
    if mine.key == theirs.key and not undisclosed:
        return
    if undisclosed:
        message = "How a value was computed is not known on both sides"
        remedy = "ask for the formula, the window and who counted the tokens, then import the figure under that metric"
    else:
        message = "The metric definition differs"
        remedy = _way_out(left, right)
    yield Finding(
        rule=RULE,
        severity="unknown" if undisclosed else "not-comparable",
        message=f"{message}: {_sentence(mine)} on the left, {_sentence(theirs)} on the right.",
        left=mine.key,
        right=theirs.key,
        remedy=remedy,
    )


def _sentence(metric: Metric) -> str:
    return f"{metric.key} ({metric.meaning})"


def _way_out(left: Figure, right: Figure) -> str:
    theirs = {row.metric for row in right.run.rows}
    shared = sorted(row.metric for row in left.run.rows if row.metric in theirs)
    if shared:
        return f"compare a metric that both runs hold: {', '.join(shared)}"
    return "no metric is held by both runs; recompute one from its samples, or import a richer source of it"
