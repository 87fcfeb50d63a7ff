"""Closed loop hides waiting: with a fixed number in flight, a slow server is simply asked less often."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of, span, whole
from caveat.caveats.kinds import STREAMS, is_performance
from caveat.figures import Conditions, Figure, Run, figures_of


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and _is_closed(figure.conditions)


def _is_closed(c: Conditions) -> bool:
    return c.get("loop") == "closed" or c.get("scenario") in STREAMS


def _sentence(figure: Figure) -> str:
    concurrency = figure.conditions.number("concurrency")
    load = f"{whole(concurrency)} in flight" if concurrency is not None else "a fixed number in flight"
    return (
        f"Each request was sent only when an earlier one had ended ({load}): users who do not wait for each other "
        "would have queued, and no such wait is in these numbers."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    closed = [run for run in runs if _is_closed(run.conditions)]
    figures = [f for run in closed for f in figures_of(run)[:1]]
    groups = grouped(figures, lambda f: f.conditions.text("scenario"))
    rows = tuple(
        (
            scenario,
            span([n for f in group if (n := f.conditions.number("concurrency")) is not None], whole) or "undisclosed",
            str(len(group)),
        )
        for scenario, group in sorted(groups.items())
    )
    return Evidence(
        numbers={"n": len(figures), "of": len(runs)},
        tables=(Table("Runs with a closed loop", ("scenario", "in flight", "runs"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="closed-loop-hides-waiting",
    title="A closed loop hides waiting",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        At this concurrency p99 stays low and the rate is high, so the service will hold that rate with that p99.
        """,
    why="""
        With a fixed number in flight, rate times latency is that number: whatever slows the server slows the arrivals
        by as much. A stall of a second delays the few requests that are in flight and holds back all those that real
        users would have sent meanwhile; they are never sent, so they never wait, and the percentiles look as if the
        stall had hardly been. Nor can such a test be offered more than the server takes, so overload does not occur
        in it. The rate is one that the server set for itself.
        """,
    instead="""
        Test with an open loop at the rate that you expect, and count latency from the time at which each request was
        due. Use a sweep over concurrency to find the range worth testing, not the answer.
        """,
    right="""
        For batch workers and pipelines that really wait for one answer before they ask again, in the number tested;
        for the latency of a single stream; and for the ceiling of throughput.
        """,
    shown="""
        {n} of the {of} runs here have a closed loop.
        """,
    evidence=_evidence,
)
