"""Poisson at a chosen rate: Server arrivals are open loop, memoryless, and as many as the submitter asked for."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, quantile, rounds_of
from caveat.caveats.kinds import is_offline, is_performance, is_serving
from caveat.figures import Figure, Run
from caveat.units import format_number

# The rate in the sample user.conf of three reference implementations, where submitters are meant to put their own:
# mlcommons/inference language/{llama2-70b,llama3.1-8b,llama3.1-405b}/user.conf @ b66003e.
SAMPLE_QPS = 0.5


def _applies(figure: Figure) -> bool:
    poisson = figure.conditions.get("arrivals") == "poisson" and not is_offline(figure)
    return is_performance(figure) and (poisson or is_serving(figure))


def _sentence(figure: Figure) -> str:
    target = figure.conditions.number("target_qps")
    rate = f"{format_number(target)} requests/s" if target is not None else "an undisclosed number of requests/s"
    return (
        f"Arrivals were an open loop: Poisson at {rate}, a rate chosen beforehand and held steady. "
        "Traffic with bursts, sessions or a daily curve needs more for the same latencies."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    """Rates asked for, from runs whose logs state them; and how much of them was completed inside the window."""
    serving = [f for f in published_once(runs) if _applies(f)]
    asked = [(f, qps) for f in serving if (qps := f.conditions.number("target_qps")) is not None]
    rates = [qps for _, qps in asked]
    kept = [c / qps for f, qps in asked if qps > 0 and (c := f.conditions.number("completed_qps")) is not None]
    groups = grouped(asked, lambda item: (item[0].conditions.text("benchmark"), item[0].conditions.text("scenario")))
    rows = []
    for key, group in sorted(groups.items()):
        values = [qps for _, qps in group]
        rows.append(
            (*key, str(len(values)), *(format_number(v) for v in (min(values), quantile(values, 0.5), max(values))))
        )
    return Evidence(
        numbers={
            "n": len(asked),
            "lowest": min(rates, default=None),
            "highest": max(rates, default=None),
            "at_sample": sum(qps == SAMPLE_QPS for qps in rates),
            "completed": _completed(kept),
        },
        tables=(
            Table(
                "Requests/s asked for", ("benchmark", "scenario", "runs", "lowest", "median", "highest"), tuple(rows)
            ),
        ),
        counted=rounds_of(f for f, _ in asked),
    )


def _completed(shares: Sequence[float]) -> str:
    if not shares:
        return "None of these logs prints the completed rate."
    numbers = [format_number(quantile(shares, share)) for share in (0, 0.5, 1)]
    return (
        f"Completed over asked-for rate, in the {len(shares)} runs that print both: {numbers[0]} at least, "
        f"{numbers[1]} in the middle, {numbers[2]} at most."
    )


CAVEAT = Caveat(
    id="poisson-at-a-chosen-rate",
    title="Arrivals are Poisson, at a rate that somebody chose",
    applies=_applies,
    sentence=_sentence,
    given={"sample": format_number(SAMPLE_QPS)},
    concluded="""
        Server is like production traffic. Or the opposite: Server is a closed loop; Server runs at {sample} queries a
        second, so it shows nothing.
        """,
    why="""
        Server is an open loop. Its whole schedule is drawn before the run, from a seed and a target rate, with
        exponential gaps; no completion ever holds an arrival back, and LoadGen counts latency from the scheduled time,
        so waiting is not hidden. Interactive is the same test with tighter limits.

        The target rate is the submitter's own setting. {sample} is what a few sample configuration files carry where
        a rate is meant to be put in; configuration files in published trees are no evidence of the run, the log is.

        And it is still not your traffic. Gaps of a Poisson process vary as much as their mean and no more; one rate is
        held throughout; requests know nothing of each other. Bursts, retries, sessions and a daily curve all fill
        queues that this schedule leaves empty.
        """,
    instead="""
        Describe your arrivals: the rate over the day, the variation of gaps in the busy hour, the share of requests
        that belong to sessions. Plan for the busy minutes, and replay a trace before you trust a margin.
        """,
    right="""
        For steady traffic from many independent users at about constant rate, and as the honest open-loop baseline
        that burstier traffic is set against.
        """,
    shown="""
        {n} serving runs here state their rate: from {lowest} to {highest} requests/s. {at_sample} of them used
        {sample}. {completed}
        """,
    evidence=_evidence,
)
