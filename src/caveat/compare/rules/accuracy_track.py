"""Rule: both sides had to reach the same accuracy."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.compare.rules.twins import same_run
from caveat.facts import benchmark_named
from caveat.figures import Figure

RULE = "accuracy-track"


def accuracy_track(left: Figure, right: Figure) -> Iterator[Finding]:
    """Results of two accuracy tracks are two benchmarks.

    ## What it asks

    Both figures had to reach the same share of the reference accuracy: 99 or 99.9 percent.

    ## Why

    The looser track admits cheaper number formats, and so higher rates, so the difference in speed may be
    bought with accuracy. In practice most pairs of rows are one run entered on both tracks, because it met the
    stricter one; such a pair holds no second measurement.

    ## What to do instead

    Take both figures from one track. Where a system's two rows are one run, the row on the other track is the
    same value and serves.

    ## Undisclosed

    The answer is unknown. A benchmark that has one track only (llama3.1-8b, mixtral-8x7b) raises no question,
    and neither do runs that belong to no suite.

    ## Source

    MLCommons, inference rules: the tracks are benchmarks of their own; results messaging guidelines: same
    benchmark.
    """
    if _has_no_track(left) and _has_no_track(right):
        return
    match relation(left, right, "accuracy_track"):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "accuracy_track",
                why="Tracks are two benchmarks, also where one run was entered on both.",
                remedy=_way_out(left, right),
            )
        case "undisclosed":
            yield objection(RULE, "unknown", left, right, "accuracy_track", why="Speed can be bought with accuracy.")


def _has_no_track(figure: Figure) -> bool:
    benchmark = benchmark_named(figure.conditions.words("benchmark") or "")
    return benchmark is not None and benchmark.track is None and figure.conditions.get("accuracy_track") is None


def _way_out(left: Figure, right: Figure) -> str:
    if same_run(left, right):
        return "the two rows are one run: cite one of them, on the track that the reader knows"
    return "take both figures from one track: caveat figures --where accuracy_track=99.9"
