"""Rule: both sides had to keep the same latency limits."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding, Severity
from caveat.compare.reading import same, shown
from caveat.figures import Figure

RULE = "latency-limits"

_LIMITS = {"ttft_limit_s": "TTFT", "tpot_limit_s": "TPOT", "latency_limit_s": "latency"}
_LIMITED = ("server", "interactive")  # scenarios that have limits by definition


def latency_limits(left: Figure, right: Figure) -> Iterator[Finding]:
    """A rate under a limit is compared with a rate under the same limit.

    ## What it asks

    Time to first token, time per output token and whole latency were limited alike, at the same percentile.

    ## Why

    The rate that a server sustains falls as the limit tightens, often several times over: batches must stay
    small. Limits differ by benchmark and scenario, and a "Server" rate without its limits says little.

    ## What to do instead

    Take results of one benchmark and scenario; for your own runs set the same service objective on both sides.

    ## Undisclosed

    A caveat, where one side states a limit that the other does not, or where the scenario has limits and
    neither side states them. Runs without limits raise no question.

    ## Source

    MLCommons, inference rules, constraints per benchmark; the limits are in `caveat.facts.limits`.
    """
    relations = {key: _relation(left, right, key) for key in _LIMITS}
    percentiles = left.conditions.number("limit_percentile"), right.conditions.number("limit_percentile")
    if "different" in relations.values() or (None not in percentiles and percentiles[0] != percentiles[1]):
        yield _finding(
            "not-comparable", left, right, "The latency limits differ", "take two runs that had to keep the same limits"
        )
    elif "gap" in relations.values() or (_is_limited(left, right) and not _any_known(left)):
        yield _finding(
            "comparable-with-caveats",
            left,
            right,
            "The latency limits are not known on both sides",
            "import the logs, which hold the limits in force",
        )


def _relation(left: Figure, right: Figure, key: str) -> str:
    one, other = left.conditions.get(key), right.conditions.get(key)
    if one is not None and other is not None:
        return "equal" if same(one, other) else "different"
    if one is None and other is None:
        return "equal"
    states = (left.conditions.state(key), right.conditions.state(key))
    return "gap" if "undisclosed" in states else "different"


def _is_limited(left: Figure, right: Figure) -> bool:
    return any(side.conditions.words("scenario") in _LIMITED for side in (left, right))


def _any_known(figure: Figure) -> bool:
    return any(figure.conditions.get(key) is not None for key in _LIMITS)


def _text(figure: Figure) -> str:
    known = [f"{word} {shown(figure, key)}" for key, word in _LIMITS.items() if figure.conditions.get(key) is not None]
    percentile = figure.conditions.number("limit_percentile")
    at = f" at p{100 * percentile:g}" if percentile is not None else ""
    if known:
        return ", ".join(known) + at
    states = {figure.conditions.state(key) for key in _LIMITS}
    return "undisclosed" if "undisclosed" in states else "not applicable"


def _finding(severity: Severity, left: Figure, right: Figure, word: str, remedy: str) -> Finding:
    mine, theirs = _text(left), _text(right)
    return Finding(
        rule=RULE,
        severity=severity,
        message=f"{word}: {mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy=remedy,
    )
