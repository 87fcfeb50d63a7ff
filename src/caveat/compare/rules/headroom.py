"""Rule about the ratio: rates under latency limits were taken at those limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from caveat.compare.finding import Finding
from caveat.compare.pair import FLOOR_BELOW
from caveat.figures import Figure, limit_percentile

RULE = "headroom"
RULED = "p99"  # what MLPerf's rules limit, where a run does not say it

_KEYS = {"headroom_ttft": "TTFT", "headroom_tpot": "TPOT", "headroom_latency": "latency"}
_LIMITED = ("server", "interactive")


def headroom(left: Figure, right: Figure) -> Iterator[Finding]:
    """A Server rate far below its limits is a floor, and so is its side of a ratio.

    ## What it asks

    For rates under latency limits: did the percentiles that are limited (p99 by MLPerf's rules) come near the
    limits on both sides?

    ## Why

    The rate of Server and Interactive is what the submitter asked for and passed, not a maximum that was found.
    A run whose latencies stay, at that percentile, under half of their limits could very likely have carried
    more. Its value is a lower bound, and a ratio with it is a bound too, in one direction.

    ## What to do instead

    Read the ratio as "at least" or "at most". For your own runs search for the highest rate that is still
    valid.

    ## Undisclosed

    A caveat: how near the limits were is not known. Summary tables do not hold it, logs do.

    ## Source

    LoadGen: the Server rate follows `target_qps`, which the submitter sets; the percentile against the limits from the
    same log.
    """
    mine, theirs = _standing(left), _standing(right)
    if mine in ("near", "not asked") and theirs in ("near", "not asked"):
        return
    left_text, right_text = _text(left), _text(right)
    message = _MESSAGES[(mine == "floor", theirs == "floor")]
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"{message}: {left_text} on the left, {right_text} on the right.",
        left=left_text,
        right=right_text,
        remedy="read the ratio as a bound; import the logs where they are missing",
    )


_MESSAGES = {
    (False, False): "How near the rates came to their latency limits is not known on both sides",
    (True, False): "The rate on the left is a floor, far below its limits, so that the ratio may be too low",
    (False, True): "The rate on the right is a floor, far below its limits, so that the ratio may be too high",
    (True, True): "Both rates are floors, far below their limits, so that the ratio may be off either way",
}


def _standing(figure: Figure) -> Literal["near", "floor", "undisclosed", "not asked"]:
    if figure.metric.statistic != "rate" or figure.conditions.words("scenario") not in _LIMITED:
        return "not asked"
    known = {key: share for key in _KEYS if (share := figure.conditions.number(key)) is not None}
    if any(share >= FLOOR_BELOW for share in known.values()):
        return "near"
    complete = "headroom_latency" in known or {"headroom_ttft", "headroom_tpot"} <= known.keys()
    return "floor" if complete else "undisclosed"


def _text(figure: Figure) -> str:
    percentile = limit_percentile(figure.conditions) or RULED
    known = [
        f"{percentile} {word} at {100 * share:.0f} % of its limit"
        for key, word in _KEYS.items()
        if (share := figure.conditions.number(key)) is not None
    ]
    return " and ".join(known) or "headroom undisclosed"
