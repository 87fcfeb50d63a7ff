"""Rule: one party counted the tokens of both figures."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding, Severity
from caveat.figures import Figure

RULE = "token-source"


def token_source(left: Figure, right: Figure) -> Iterator[Finding]:
    """Tokens are one unit only where the same kind of party counted them.

    ## What it asks

    Both metrics say alike who counted: the server's usage report, a tokenizer at the client, or streamed
    chunks.

    ## Why

    A chunk may carry several tokens (speculative decoding, buffering), a client's tokenizer may not be the
    server's, and some published rates count nothing: the GPT-J rates take 69 tokens for every sample.

    ## What to do instead

    Compare samples per second where the work per sample is fixed, or count both sides in one way.

    ## Undisclosed

    A count of unknown origin gives a caveat; so does a count that both sides assumed.

    ## Source

    The metric definitions, `docs/metrics.md`; LoadGen's `results.cc` for the assumed 69.
    """
    mine, theirs = left.metric.token_source, right.metric.token_source
    if "none" in (mine, theirs):
        return  # one figure holds no tokens: if the other does, the metric definitions differ, and that rule speaks
    severity: Severity = "comparable-with-caveats"
    if "undisclosed" in (mine, theirs):
        word = "Who counted the tokens is not known on both sides"
    elif mine != theirs:
        severity, word = "not-comparable", "The tokens were counted by different parties"
    elif mine.startswith("assumed"):
        word = "On both sides the tokens were assumed, not counted"
    else:
        return
    yield Finding(
        rule=RULE,
        severity=severity,
        message=f"{word}: {mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy="compare samples/s, or take token rates that one kind of party counted on both sides",
    )
