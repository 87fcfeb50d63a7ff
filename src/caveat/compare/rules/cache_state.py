"""Rule: requests shared as much with each other on both sides, and caches could use it alike."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import is_mlperf, objection, relation
from caveat.figures import Figure

RULE = "cache-state"


def cache_state(left: Figure, right: Figure) -> Iterator[Finding]:
    """Work that a cache saved on one side only is not speed.

    ## What it asks

    The requests of both runs shared equally much with each other (common prefixes, conversations), and prefix
    caching was on, or off, on both sides.

    ## Why

    A prompt whose prefix is in the KV cache costs little or no prefill. A sweep that sends the same prompts
    again measures the cache, and a workload with much reuse is another workload. Prefix caching itself is
    something that one may want to compare, so it is a caveat and not a refusal.

    ## What to do instead

    Salt the prompts, or measure both sides with the same trace and the same state at the start.

    ## Undisclosed

    A caveat, where one side says that reuse is there or caching on, and the other says nothing. Where neither
    says anything, the disclosure rule speaks.

    ## Source

    MLCommons, inference rules: the closed division does not reuse KV entries across queries.
    """
    for key in ("prefix_reuse", "sessions"):
        if relation(left, right, key) == "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                key,
                why="Requests that share their beginnings are another workload.",
                remedy="measure both sides with one trace",
            )
        elif _one_sided(left, right, key) and not (is_mlperf(left) and is_mlperf(right)):
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                key,
                why="What requests share can be saved by a cache.",
            )
    if relation(left, right, "prefix_caching") == "different" or _on_beside_silence(left, right):
        yield objection(
            RULE,
            "comparable-with-caveats",
            left,
            right,
            "prefix_caching",
            why="A prefix cache saves work that the other side may have done.",
            remedy="salt the prompts, or set prefix caching alike on both sides",
        )


def _one_sided(left: Figure, right: Figure, key: str) -> bool:
    return {left.conditions.state(key), right.conditions.state(key)} == {"known", "undisclosed"}


def _on_beside_silence(left: Figure, right: Figure) -> bool:
    values = [side.conditions.get("prefix_caching") for side in (left, right)]
    return "on" in values and _one_sided(left, right, "prefix_caching")
