"""Good as a floor: what a valid serving figure does promise."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, percent, quantile, rounds_of
from caveat.caveats.kinds import is_good, is_rate, is_reviewed, is_serving
from caveat.caveats.server_rate_is_a_floor import headrooms
from caveat.figures import Figure, Run, limit_percentile


def _applies(figure: Figure) -> bool:
    """Reviewed closed serving rates that nothing speaks against; not the rate that was merely scheduled."""
    return (
        is_serving(figure)
        and is_rate(figure)
        and figure.metric.name != "scheduled_request_rate"
        and is_reviewed(figure)
        and is_good(figure)
        and figure.conditions.get("division") == "closed"
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _applies(f)]
    known = [(f, max(shares.values())) for f in figures if (shares := headrooms(f.conditions))]
    groups = grouped(known, lambda item: item[0].conditions.text("round"))
    rows = tuple(
        (name, str(len(group)), percent(quantile([s for _, s in group], 0.5)), percent(max(s for _, s in group)))
        for name, group in sorted(groups.items())
    )
    return Evidence(
        numbers={
            "n": len(figures),
            "known": len(known),
            "kept": sum(share < 1 for _, share in known),
        },
        tables=(
            Table(
                "p99 as a share of its limit, of the limit that came nearest",
                ("round", "runs", "median", "highest"),
                rows,
            ),
        ),
        counted=rounds_of(figures),
    )


def _sentence(figure: Figure) -> str:
    percentile = limit_percentile(figure.conditions) or "p99"  # which MLPerf's rules limit
    return (
        "Good for a floor: this system, so configured, did serve this shape at this rate with "
        f"{percentile} inside its limits."
    )


CAVEAT = Caveat(
    id="good-as-a-floor",
    title="Good for: a floor",
    direction="good for",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        Benchmarks are tuned by vendors, so their figures promise nothing.
        """,
    why="""
        A valid serving result is a fact of a strong kind: for many minutes requests arrived without regard to how the
        system fared, latency counted from when each was due, p99 of both latencies stayed inside the limits with
        enough requests to be sure of it, and the accuracy was met. A system that did that can do that.
        """,
    instead="""
        Use it as a lower bound: with the same configuration, the same or easier shape, limits no tighter and arrivals
        no burstier, at least this rate is to be had. Add the headroom to see how low the bound may lie.
        """,
    right="""
        Whenever each of those four holds for you, and you say that they do.
        """,
    shown="""
        {n} reviewed closed serving rates are here. For {known} the log gives p99 against its limit, and in {kept} of
        those every p99 lies inside.
        """,
    evidence=_evidence,
)
