"""Tail inside the rate: Offline divides by the time of its slowest sample."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, percent, quantile, rounds_of
from caveat.caveats.kinds import is_rate
from caveat.figures import Figure, Run
from caveat.units import format_seconds

SHARE = 0.1  # the last tenth of the samples
AT_ONCE = 0.01  # a smaller share of the window than this: the answers were handed over together, at the end


def _applies(figure: Figure) -> bool:
    return is_rate(figure) and figure.metric.definition.startswith("loadgen-offline-")


def _sentence(figure: Figure) -> str:
    duration = figure.conditions.number("duration_s")
    window = f" ({format_seconds(duration)})" if duration is not None else ""
    return (
        f"The window ends with the slowest sample{window}, so the emptying batches at the end are inside the rate: "
        "a longer test of the same system tends to show a higher one."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    logged = [(f, tail) for f in published_once(runs) if _applies(f) and (tail := _tail(f)) is not None]
    known = [(f, tail) for f, tail in logged if tail >= AT_ONCE]
    groups = grouped(known, lambda item: item[0].conditions.text("benchmark"))
    rows = []
    for benchmark, group in sorted(groups.items()):
        tails = [tail for _, tail in group]
        rows.append((benchmark, str(len(tails)), *(percent(quantile(tails, share)) for share in (0, 0.5, 1))))
    tails = [tail for _, tail in known]
    return Evidence(
        numbers={
            "n": len(logged),
            "at_once": len(logged) - len(known),
            "median": percent(quantile(tails, 0.5)) if tails else None,
            "largest": percent(max(tails)) if tails else None,
        },
        tables=(
            Table(
                "Share of the window in which the last tenth of the samples were completed",
                ("benchmark", "runs", "least", "median", "most"),
                tuple(rows),
            ),
        ),
        counted=rounds_of(f for f, _ in logged),
    )


def _tail(figure: Figure) -> float | None:
    """Time from the p90 to the longest latency, as a share of the longest: every latency counts from the start."""
    p90, longest = (figure.run.row(f"loadgen-latency.{statistic}") for statistic in ("p90", "max"))
    if p90 is None or longest is None or longest.value <= 0:
        return None
    return 1 - p90.value / longest.value


CAVEAT = Caveat(
    id="tail-inside-the-rate",
    title="The tail is inside an Offline rate",
    applies=_applies,
    sentence=_sentence,
    given={"even": percent(SHARE)},
    concluded="""
        The Offline rate is the steady throughput of the system: the most that it can do.
        """,
    why="""
        It is all samples over the latency of the slowest one. At the end no new requests are left to fill the places
        of those that are done: the last long answers decode in nearly empty batches, and every second of it counts. How
        much that costs depends on the length of the longest answers against the length of the test, so it is
        larger for benchmarks with long outputs, large systems and short tests. It is one reason why a Server rate can
        lie above the Offline rate of the same system.
        """,
    instead="""
        Compare Offline rates only within a benchmark, with the duration beside them. For a steady rate measure a
        window that begins after the start and ends before the drain.
        """,
    right="""
        For a pile of work of about that size, where the tail is yours as well.
        """,
    shown="""
        {n} Offline runs here have logs with the percentiles. In {at_once} of them the system handed over its answers
        together, so that the log shows no tail, whatever there was. In the others the last tenth of the samples, which
        would take {even} of the window if they were completed evenly, took {largest} of it at most; median {median}.
        """,
    evidence=_evidence,
)
