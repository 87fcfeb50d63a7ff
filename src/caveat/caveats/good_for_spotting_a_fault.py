"""Good for spotting a fault: a configuration far below results on like hardware has something wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import of_like_hardware
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, percent, quantile, rounds_of
from caveat.caveats.kinds import is_good, is_rate, is_reviewed
from caveat.figures import Figure, Run


def _applies(figure: Figure) -> bool:
    """Reviewed rates on hardware that is known by kind and number."""
    c = figure.conditions
    known = c.get("accelerator") is not None and c.get("accelerators") is not None
    return is_rate(figure) and is_reviewed(figure) and is_good(figure) and known


def _evidence(runs: Sequence[Run]) -> Evidence:
    groups = of_like_hardware(runs)
    shares = [(f, share) for group in groups for f, share in _shares(group)]
    values = [share for _, share in shares]
    by_round = grouped(shares, lambda item: item[0].conditions.text("round"))
    rows = []
    for name, items in sorted(by_round.items()):
        its = [share for _, share in items]
        rows.append((name, str(len(its)), *(percent(quantile(its, q)) for q in (0, 0.1, 0.5))))
    return Evidence(
        numbers={
            "n": len(shares),
            "groups": len(groups),
            "tenth": percent(quantile(values, 0.1)) if values else None,
            "half": percent(quantile(values, 0.5)) if values else None,
        },
        tables=(
            Table(
                "Rates as a share of the best result on like hardware (the best itself left out)",
                ("round", "results", "lowest", "nine tenths above", "half above"),
                tuple(rows),
            ),
        ),
        counted=rounds_of(f for f, _ in shares),
    )


def _shares(group: Sequence[Figure]) -> list[tuple[Figure, float]]:
    """Every result but the best, as a share of the best."""
    ordered = sorted(group, key=lambda f: (f.row.value, f.run.subject))
    return [(f, f.row.value / ordered[-1].row.value) for f in ordered[:-1]]


CAVEAT = Caveat(
    id="good-for-spotting-a-fault",
    title="Good for: spotting a slow configuration",
    direction="good for",
    applies=_applies,
    sentence=(
        "Good for a check: on like hardware and this shape, a configuration far below this rate "
        "has something wrong with it."
    ),
    concluded="""
        Our numbers lie far below the published ones, but those are benchmarks, so that means nothing.
        """,
    why="""
        Submitters differ in engine, cooling, hosts and effort, and still, on the same kind and number of accelerators
        in one benchmark and scenario, most land near each other. A result far outside that band is seldom a matter of
        taste: a wrong parallel split, a link that is down, a data type that was not used, a batch limit left at its
        default, a client that cannot keep up.
        """,
    instead="""
        Run the benchmark's shape once on your system, with the published configuration where there is one. Take the
        band of results on like hardware, not the best one, as the yardstick. Look for a fault before you buy more.
        """,
    right="""
        On like hardware, the same shape, and Offline against Offline. It says whether something is wrong, not what your
        own traffic will get.
        """,
    shown="""
        {n} closed results here can be held against a better one on like hardware, in {groups} groups. Half of them
        reach {half} of it or more, nine in ten at least {tenth}.
        """,
    evidence=_evidence,
)
