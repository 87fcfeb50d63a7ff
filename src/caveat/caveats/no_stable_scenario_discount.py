"""No stable scenario discount: no one factor leads from an Offline rate to a serving rate."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Number, Table, percent, rounds_of
from caveat.caveats.kinds import SERVING, counts_in, is_offline, is_published, is_rate, is_serving
from caveat.compare import Discount, discount
from caveat.figures import Figure, Run
from caveat.units import format_number

_COLUMNS = ("round", "pairs", "lowest", "a tenth below", "half below", "nine tenths below", "highest", "above Offline")


def _applies(figure: Figure) -> bool:
    """Offline and serving rates of benchmarks that have both, or of which it is not known."""
    if not (is_rate(figure) and is_published(figure)):
        return False
    existing = counts_in(figure.conditions)
    both = not existing or ("offline" in existing and any(name in existing for name in SERVING))
    return both and (is_offline(figure) or is_serving(figure))


def _sentence(figure: Figure) -> str:
    wanted = (
        "serving rate follows from this Offline rate" if is_offline(figure) else "Offline rate follows from this one"
    )
    return (
        f"No {wanted} by a fixed factor: the ratio differs from system to system, "
        "and some serve faster than their own Offline."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    by_scenario = {to: discount(runs, to_scenario=to, by="round") for to in SERVING}
    server = by_scenario["server"].summary
    numbers: dict[str, Number] = {
        "n": server.n,
        "lowest": server.min,
        "median": server.median,
        "highest": server.max,
        "basis": by_scenario["server"].basis,
        "inverted": server.inverted,
        "share_inverted": percent(server.inverted / server.n) if server.n else None,
        "floors": sum("floor" in pair.flags for pair in by_scenario["server"].pairs),
        "known": sum(pair.headroom is not None for pair in by_scenario["server"].pairs),
    }
    return Evidence(
        numbers=numbers,
        tables=tuple(_table(found) for found in by_scenario.values()),
        counted=rounds_of(pair.right for found in by_scenario.values() for pair in found.pairs),
    )


def _table(found: Discount) -> Table:
    to = found.to_scenario.capitalize()
    rows = [
        (name, str(d.n), *(_cell(value) for value in (d.min, d.p10, d.median, d.p90, d.max)), str(d.inverted))
        for name, d in (*found.groups.items(), *([("all", found.summary)] if found.groups else []))
    ]
    return Table(f"{to} rate / Offline rate of one system, in tokens/s", _COLUMNS, tuple(rows))


def _cell(value: float | None) -> str:
    return "too few" if value is None else format_number(value)


CAVEAT = Caveat(
    id="no-stable-scenario-discount",
    title="There is no stable scenario discount",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        Serving costs so many percent of the Offline rate; knowing the one, take off the usual discount and you have
        the other.
        """,
    why="""
        The two figures of a pair come from two tests. Offline divides by the time of its slowest sample, so it holds
        the tail of one burst; Server is the throughput of a run at a rate that somebody chose. The ratio moves with
        the limits of the benchmark, with how boldly that rate was chosen, with tuning done for one scenario and not
        for the other, with output lengths that differ between the two runs, and with the length of the Offline test.
        Some systems serve faster than their own Offline figure, which no tax could explain.
        """,
    instead="""
        Look at the pair of the system in question (`caveat discount`), with its headroom. For a system without a
        pair, take the whole range of systems like it, as an interval with its measured coverage
        (`caveat discount --estimate`), or say that it is not known.
        """,
    right="""
        A pair's ratio describes that pair. Many pairs describe a range. Both are private analyses of pairs and not
        comparisons of results; neither is a factor for the next system.
        """,
    shown="""
        Over {n} pairs of Offline and Server the ratio runs from {lowest} to {highest}, with a median of {median}.
        Server lies above Offline in {inverted} of them ({share_inverted}). Headroom is known for {known} of the pairs,
        and {floors} of those are floors: every p99 far below its limit.

        {basis}
        """,
    evidence=_evidence,
)
