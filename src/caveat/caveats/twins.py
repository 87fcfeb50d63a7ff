"""Twins: one run that stands in the tables as two rows, once for each accuracy track."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from caveat.caveats.evidence import grouped
from caveat.facts import benchmark_named
from caveat.figures import Run

_SIX_DIGITS = 1e-5  # relative: published values have six significant digits


def same_log(one: Run, other: Run) -> bool | None:
    """Whether two rows of one system and scenario come from one log; None where a log is not known."""
    prints = one.conditions.get("fingerprint"), other.conditions.get("fingerprint")
    return None if None in prints else prints[0] == prints[1]


def same_value(one: Run, other: Run) -> bool:
    """Whether two runs were published with one value of one metric."""
    rows = [run.row(run.primary) if run.primary else None for run in (one, other)]
    return (
        rows[0] is not None
        and rows[1] is not None
        and rows[0].metric == rows[1].metric
        and math.isclose(rows[0].value, rows[1].value, rel_tol=_SIX_DIGITS)
    )


def are_twins(one: Run, other: Run) -> bool:
    """One run entered twice: by its log where both are known, else by its value."""
    by_log = same_log(one, other)
    return same_value(one, other) if by_log is None else by_log


def track_pairs(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The rows of one system, model and scenario that were filed under two tracks, the stricter second."""
    pairs = []
    for rows in grouped(runs, _place).values():
        ordered = sorted(rows, key=lambda run: run.conditions.words("benchmark") or "")
        if len(ordered) == 2 and ordered[0].conditions.get("benchmark") != ordered[1].conditions.get("benchmark"):
            pairs.append((ordered[0], ordered[1]))
    return pairs


def counted_once(runs: Sequence[Run]) -> list[Run]:
    """The runs without the looser row of each twin."""
    dropped = {looser.subject for looser, stricter in track_pairs(runs) if are_twins(looser, stricter)}
    return [run for run in runs if run.subject not in dropped]


def _place(run: Run) -> Hashable:
    """Where a row stands, whatever its track. A run without a known benchmark stands alone."""
    c = run.conditions
    benchmark = benchmark_named(c.words("benchmark") or "")
    if benchmark is None or benchmark.track is None:
        return run.subject
    place = (c.words(key) for key in ("round", "division", "submitter", "platform", "scenario"))
    return (*place, benchmark.model)
