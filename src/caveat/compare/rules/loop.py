"""Rule: requests arrived in the same way, and for latencies at the same load."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import is_mlperf, objection, relation
from caveat.figures import Figure
from caveat.units import Unit

RULE = "loop"


def loop(left: Figure, right: Figure) -> Iterator[Finding]:
    """An open loop is not compared with a closed one, and a latency is read at its load.

    ## What it asks

    For one's own runs: both loops open, closed or bursts, and the same arrival process. (A published scenario
    fixes both, and the scenario rule asks for it.) For latencies: the same clock. For latencies, and for rates of
    one's own runs: the same rate asked for, or the same concurrency.

    ## Why

    In a closed loop a slow answer holds back the next request, so the load yields just when the server is late,
    and waiting never shows. In an open loop arrivals go on. Burstier arrivals wait longer at the same mean
    rate. A latency without its load is half a statement: every server is quick when it is idle. And below
    saturation an open loop completes what it was offered, so that the quotient of two rates may be no more than
    the quotient of what two people asked for.

    ## What to do instead

    Measure both sides with one arrival process at one rate, or compare curves of latency over rate.

    ## Undisclosed

    A caveat where one side is silent on loop or arrivals; rates and concurrency raise a question only where
    both are stated and differ.

    ## Source

    Schroeder, Wierman, Harchol-Balter, "Open versus closed: a cautionary tale" (NSDI 2006); G. Tene on
    coordinated omission.
    """
    if not (is_mlperf(left) and is_mlperf(right)):
        for key in ("loop", "arrivals"):
            yield from _arrival(left, right, key)
    if _are_latencies(left, right) and relation(left, right, "latency_clock") == "different":
        yield objection(
            RULE,
            "not-comparable",
            left,
            right,
            "latency_clock",
            why="Latency that counts from the sending leaves out the waiting before it.",
            remedy="take latencies that count from one moment",
        )
    for key in _load_keys(left, right):
        if relation(left, right, key) == "different":
            yield objection(
                RULE,
                "comparable-with-caveats",
                left,
                right,
                key,
                why="The figures were taken at different load."
                if left.metric.unit is Unit.SECOND
                else "A rate below saturation is the rate that was offered.",
                remedy="compare at one load, or compare curves over the load",
            )


def _arrival(left: Figure, right: Figure, key: str) -> Iterator[Finding]:
    match relation(left, right, key):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                key,
                why="How requests arrive decides how long they wait.",
                remedy="measure both sides with one arrival process",
            )
        case "undisclosed":
            yield objection(
                RULE, "comparable-with-caveats", left, right, key, why="How requests arrive decides how long they wait."
            )


def _are_latencies(left: Figure, right: Figure) -> bool:
    return left.metric.unit is Unit.SECOND and right.metric.unit is Unit.SECOND


def _load_keys(left: Figure, right: Figure) -> tuple[str, ...]:
    """What the load of the figures is known by. Submitters chose the rate of published runs: see the headroom rule."""
    if _are_latencies(left, right) or not (is_mlperf(left) and is_mlperf(right)):
        return ("target_qps", "concurrency")
    return ("concurrency",)
