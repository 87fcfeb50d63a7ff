"""Client limited: the load generator may have been the bottleneck."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance, is_published
from caveat.figures import Figure, Run, figures_of

ASPECT = "client health"


def _applies(figure: Figure) -> bool:
    """Figures made by a client over a network, unless the client is known to have been fit."""
    return is_performance(figure) and _has_client(figure) and _health(figure) != "pass"


def _has_client(figure: Figure) -> bool:
    """LoadGen counts from the schedule inside the submitter's system, so a slow client lowers its own result."""
    return figure.provenance.origin in ("measured", "imported") and not is_published(figure)


def _health(figure: Figure) -> str:
    outcomes = {check.outcome for check in figure.validity if check.aspect == ASPECT}
    return "fail" if "fail" in outcomes else "pass" if outcomes == {"pass"} else "unknown"


def _sentence(figure: Figure) -> str:
    if _health(figure) == "fail":
        return (
            "The load generator was the bottleneck: its own delay is in these latencies, "
            "and the rate is its limit, not the server's."
        )
    return (
        "It is unknown whether the load generator kept up: part of the latency, and the limit of the rate, "
        "may be its own."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for run in runs for f in figures_of(run)[:1] if is_performance(f) and _has_client(f)]
    groups = grouped(figures, lambda f: (f.conditions.text("harness"), _health(f)))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={
            "n": len(figures),
            "failed": sum(_health(f) == "fail" for f in figures),
            "unknown": sum(_health(f) == "unknown" for f in figures),
        },
        tables=(Table("Health of the client", ("harness", "client health", "runs"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="client-limited",
    title="The client may have been the bottleneck",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The tool reports this rate and this time to first token, so that is what the server does.
        """,
    why="""
        A load generator opens connections, parses streams and counts tokens, often in one thread of an interpreted
        language. Past its own limit it falls behind its schedule, and reports its own queue as latency of the server.
        Many tools then send less than was asked without saying so; some count latency from the late sending, which
        makes the figures look better the worse the client does.
        """,
    instead="""
        Look at the client's own figures: how late it sent, how busy it was, what it reaches against a server that
        answers at once. Offer what was asked or say that you could not; add client processes until the result stops
        changing.
        """,
    right="""
        When the client's lateness is small beside the latencies that it reports, and its ceiling well above the
        rate that it offered. caveat's own runs carry this check.
        """,
    shown="""
        {n} runs here were made through a client: in {failed} it was the bottleneck, in {unknown} nobody knows.
        """,
    evidence=_evidence,
)
