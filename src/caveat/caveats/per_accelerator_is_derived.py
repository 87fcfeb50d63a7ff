"""Per accelerator is derived: a system's rate divided by a count that is itself a claim."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.counts_are_claims import contested
from caveat.caveats.evidence import Evidence, Table, grouped, quantile, rounds_of
from caveat.caveats.kinds import form, is_rate
from caveat.facts import derived_basis
from caveat.figures import Figure, Run
from caveat.units import format_number

SHOWN = 5  # rows from either end of the range

_KEYS = ("round", "division", "submitter", "benchmark", "scenario", "power_run")


def _applies(figure: Figure) -> bool:
    """Rates of systems that are not known to be a single accelerator."""
    return is_rate(figure) and figure.conditions.get("accelerators") != 1


def _sentence(figure: Figure) -> str:
    count = figure.conditions.number("accelerators")
    doubt = "its sources disagree on" if contested(figure.conditions) else "nobody discloses" if count is None else ""
    if doubt:
        return f"The rate is that of the whole system, and {doubt} its number of accelerators: form no value for one."
    return (
        f"The rate is that of a whole system with {count:,.0f} accelerators: divided by them it is a derived value, "
        "neither official nor verified, and holds at this scale only."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _divisible(f)]
    groups = grouped(figures, lambda f: (f.metric.key, form(f.conditions), *(f.conditions.text(key) for key in _KEYS)))
    scaled = [(_smallest(g), _largest(g)) for g in groups.values() if _count(_smallest(g)) < _count(_largest(g))]
    scaled.sort(key=lambda pair: _kept(*pair))
    kept = [_kept(*pair) for pair in scaled]
    shown = scaled if len(scaled) <= 2 * SHOWN else [*scaled[:SHOWN], *scaled[-SHOWN:]]
    return Evidence(
        numbers={
            "n": len(scaled),
            "lowest": min(kept, default=None),
            "median": quantile(kept, 0.5) if kept else None,
            "highest": max(kept, default=None),
        },
        tables=(
            Table(
                "Rate per accelerator of the larger system / of the smaller one, same submitter (derived; both ends)",
                ("round", "submitter", "accelerator", "benchmark", "scenario", "counts", "ratio"),
                tuple(_row(*pair) for pair in shown),
            ),
        ),
        counted=rounds_of(f for pair in scaled for f in pair),
    )


def _divisible(figure: Figure) -> bool:
    """One kind of accelerator, in a number that is known and not contested."""
    c = figure.conditions
    kind, count = c.words("accelerator"), c.number("accelerators")
    return bool(count) and kind is not None and "+" not in kind and not contested(c)


def _count(figure: Figure) -> float:
    return figure.conditions.number("accelerators") or 1.0


def _smallest(group: Sequence[Figure]) -> Figure:
    return min(group, key=lambda f: (_count(f), -f.row.value))


def _largest(group: Sequence[Figure]) -> Figure:
    return max(group, key=lambda f: (_count(f), f.row.value))


def _kept(small: Figure, large: Figure) -> float:
    return (large.row.value / _count(large)) / (small.row.value / _count(small))


def _row(small: Figure, large: Figure) -> tuple[str, ...]:
    c = small.conditions
    counts = f"{_count(small):.0f} and {_count(large):.0f}"
    before, after = (c.text("round"), c.text("submitter")), (c.text("benchmark"), c.text("scenario"))
    return (*before, form(c), *after, counts, format_number(_kept(small, large)))


CAVEAT = Caveat(
    id="per-accelerator-is-derived",
    title="A rate per accelerator is a derived value",
    applies=_applies,
    sentence=_sentence,
    given={"basis": derived_basis("Tokens/s per accelerator", "the published rate of a system / its accelerators")},
    concluded="""
        Divide by the number of accelerators and every system can be compared with every other; multiply by ours and
        our cluster is planned.
        """,
    why="""
        The primary metric is the rate of a system. Dividing assumes that rates grow in proportion to the count, and
        they need not: a model may not fit on one accelerator, splitting it costs communication while copies of it do
        not, hosts and networks are shared, and a larger system is often tuned by other people for other reasons. The
        divisor is a claim with sources, and sources sometimes disagree. In mixed systems it means nothing.
        """,
    instead="""
        Compare systems of equal count. Where a value per accelerator is needed, state its basis in the text and in a
        footnote, call it neither official nor verified, and never build it on a contested count. To plan a larger
        system, look for a figure near that size.
        """,
    right="""
        For ordering systems of about the same size and make, marked as derived.
        """,
    shown="""
        {n} times a submitter here has the same benchmark and scenario on two sizes of one kind of accelerator. The rate
        per accelerator of the larger is {lowest} to {highest} times that of the smaller (median {median}).

        {basis}
        """,
    evidence=_evidence,
)
