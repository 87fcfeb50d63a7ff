"""Offline is not serving: a rate with every request there at the start says nothing of answering in time."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import partner_key
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, quantile, rounds_of
from caveat.caveats.kinds import SERVING, is_offline, is_performance, is_rate, published
from caveat.caveats.twins import counted_once
from caveat.figures import Figure, Run
from caveat.units import format_seconds


def _applies(figure: Figure) -> bool:
    return is_offline(figure) and is_performance(figure)


def _sentence(figure: Figure) -> str:
    if is_rate(figure):
        return (
            "Every request was there at the start and none had to be answered in time, "
            "so this rate does not say what the system serves to people who arrive one by one."
        )
    return "Every request was offered at once, so this latency is mostly the wait in a queue of the test's own making."


def _evidence(runs: Sequence[Run]) -> Evidence:
    once = counted_once(runs)
    figures = [f for run in once if (f := published(run)) is not None and is_offline(f)]
    serving = {
        scenario: {partner_key(run) for run in once if run.conditions.get("scenario") == scenario}
        for scenario in SERVING
    }
    partnered = [f for f in figures if any(partner_key(f.run) in keys for keys in serving.values())]
    rows = [
        (benchmark, str(len(group)), *(str(sum(partner_key(f.run) in serving[s] for f in group)) for s in SERVING))
        for benchmark, group in sorted(grouped(figures, lambda f: f.conditions.text("benchmark")).items())
    ]
    return Evidence(
        numbers={"offline": len(figures), "partnered": len(partnered), "waiting": _waiting(figures)},
        tables=(
            Table(
                "Offline rates, and how many have a serving partner",
                ("benchmark", "Offline", *(name.capitalize() for name in SERVING)),
                tuple(rows),
            ),
        ),
        counted=rounds_of(figures),
    )


def _waiting(figures: Sequence[Figure]) -> str:
    """How long the median request took, over the runs whose logs say so."""
    rows = [row for f in figures if (row := f.run.row("loadgen-latency.p50")) is not None]
    if not rows:
        return "No log of an Offline run is here to say how long its requests waited."
    times = [row.value for row in rows]
    return (
        f"In the {len(times)} of these runs whose logs print latencies, the median request was complete only "
        f"{format_seconds(min(times))} to {format_seconds(max(times))} after it was offered "
        f"(half of the runs: over {format_seconds(quantile(times, 0.5))})."
    )


CAVEAT = Caveat(
    id="offline-is-not-serving",
    title="Offline is not serving",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The system makes so many tokens a second, so it can serve so many users, each reading at such a speed.
        """,
    why="""
        In Offline all samples are offered as one burst. The system may sort them by length, fill every batch to
        the brim and leave any request waiting to the end: there is no first-token limit, no limit per token, and
        the only clock is that of the whole test. Arrivals one by one take that freedom away. What is lost depends
        on the limits, the lengths, the engine and the care of the tuning, and so differs from system to system.
        """,
    instead="""
        Look for the Server or Interactive figure of the same system in the same round, with its limits and how near
        p99 came to them. Where there is none, ask for it, or replay your own traffic on an endpoint.
        """,
    right="""
        For work that really is a pile: batch scoring, data generation, evaluation, nightly summaries. And as an
        upper reference for one system and one shape, as long as nobody is promised an answer time.
        """,
    shown="""
        {offline} published Offline rates are here; {partnered} of them have a Server or Interactive figure of the
        same system beside them. {waiting}
        """,
    evidence=_evidence,
)
