"""One run, two rows: the same run filed under two accuracy tracks counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_performance, is_published, tracks
from caveat.caveats.twins import same_log, same_value, track_pairs
from caveat.figures import Figure, Run

_KINDS = ("one log", "one value, logs unknown", "two runs")


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and is_published(figure) and len(tracks(figure.conditions)) > 1


def _sentence(figure: Figure) -> str:
    names = " and ".join(tracks(figure.conditions))
    return (
        f"The rows of the {names} tracks of one system are often one run entered twice: "
        "count them once before you form a mean, a median or a number of results."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    pairs = [(_kind(*pair), pair) for pair in track_pairs(runs)]
    groups = grouped(pairs, lambda item: item[1][0].conditions.text("round"))
    rows = []
    for name, group in sorted(groups.items()):
        counts = Counter(kind for kind, _ in group)
        rows.append((name, str(len(group)), *(str(counts[kind]) for kind in _KINDS)))
    kinds = Counter(kind for kind, _ in pairs)
    return Evidence(
        numbers={
            "pairs": len(pairs),
            "by_log": kinds[_KINDS[0]],
            "by_value": kinds[_KINDS[1]],
            "two": kinds[_KINDS[2]],
        },
        tables=(Table("Pairs of rows under two tracks", ("round", "pairs", *_KINDS), tuple(rows)),),
        counted=rounds_of(run for _, pair in pairs for run in pair),
    )


def _kind(one: Run, other: Run) -> str:
    by_log = same_log(one, other)
    if by_log is None:
        return _KINDS[1] if same_value(one, other) else _KINDS[2]
    return _KINDS[0] if by_log else _KINDS[2]


CAVEAT = Caveat(
    id="one-run-two-rows",
    title="One run, two rows",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The table has so many results, so a statistic over its rows rests on so many runs; and the stricter track
        costs nothing, as its rate is the same.
        """,
    why="""
        A run that reaches the stricter accuracy may be filed under the looser track too, and mostly is. The two rows
        then have one log between them. Counted as two they double the weight of some submitters, make intervals look
        narrower than they are, and prove nothing about the price of accuracy.
        """,
    instead="""
        Compare the fingerprints of the logs; where no log is at hand, equal values on both sides are the next best
        sign. Keep the stricter row, drop the other, and say how many were dropped. caveat does so before it counts.
        """,
    right="""
        Either row is a true result under its own track, and may be cited under it.
        """,
    shown="""
        {pairs} pairs of rows here belong to one system and scenario under two tracks. {by_log} pairs have one log,
        {by_value} more have one value and no log to settle it, {two} are two runs.
        """,
    evidence=_evidence,
)
