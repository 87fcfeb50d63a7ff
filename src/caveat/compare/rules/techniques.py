"""Rule: techniques that change the meaning of a rate are on, or off, on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection
from caveat.figures import TABLE, Figure

RULE = "techniques"

TECHNIQUES = tuple(row.key for row in TABLE if row.kind == "technique")


def techniques(left: Figure, right: Figure) -> Iterator[Finding]:
    """A technique that only one side used stands beside the figures.

    ## What it asks

    Each technique that both sides state is on for both or off for both: continuous batching, chunked prefill,
    speculative decoding, disaggregated prefill and decode, routing between models, a quantised KV cache.
    (Prefix caching is asked by the cache-state rule.)

    ## Why

    Such a technique changes what a rate means as much as the hardware does. Speculative decoding gains on text
    that is easy to guess and little at full load; disaggregation moves the limit from one latency to the other.

    ## What to do instead

    State the difference, or compare two runs with the same techniques.

    ## Undisclosed

    No objection here: the disclosure rule lists what is not stated.

    ## Source

    MLCommons, inference rules: which techniques the closed division admits in which round.
    """
    for key in TECHNIQUES:
        if key == "prefix_caching":
            continue
        states = {left.conditions.get(key), right.conditions.get(key)}
        if states == {"on", "off"}:
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                key,
                why="The technique changes what the rate means.",
                remedy="state the difference, or compare runs with the same techniques",
            )
