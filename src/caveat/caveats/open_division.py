"""Open division: model, data, accuracy or limits may be others than the benchmark's."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance
from caveat.figures import Figure, Run


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and figure.conditions.get("division") == "open"


def _sentence(figure: Figure) -> str:
    filed = figure.conditions.words("model_submitted")
    other = f", here {filed}" if filed else ""
    return (
        f"Open division: model{other}, accuracy and latency limits need not be the benchmark's, so it is not "
        "comparable with closed results, nor without a closer look with other open ones."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = published_once(runs)
    opened = [f for f in figures if _applies(f)]
    renamed = [f for f in opened if f.conditions.get("model_submitted") is not None]
    groups = grouped(figures, lambda f: f.conditions.text("round"))
    rows = tuple(
        (name, *(str(sum(f.conditions.text("division") == division for f in group)) for division in ("closed", "open")))
        for name, group in sorted(groups.items())
    )
    return Evidence(
        numbers={"n": len(opened), "renamed": len(renamed)},
        tables=(Table("Published rates by division", ("round", "closed", "open"), rows),),
        counted=rounds_of(opened),
    )


CAVEAT = Caveat(
    id="open-division",
    title="The open division",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        It stands in the same table under the same benchmark, so it is the same test, only with a higher number.
        """,
    why="""
        The open division exists to show what lies beyond the closed rules: a pruned or another model, another data
        type, retraining, other latency limits, a lower accuracy. A result may differ from the closed ones in one of
        these or in all, and the table's columns do not say in which.
        """,
    instead="""
        Read the submission's own description. If you show it beside a closed result, say in what way it would not
        qualify as closed; form no ratio.
        """,
    right="""
        To see what an idea gains, against the same submitter's closed result; and as a pointer to things worth
        trying.
        """,
    shown="""
        {n} open results are here; {renamed} of them were filed under another model's name.
        """,
    evidence=_evidence,
)
