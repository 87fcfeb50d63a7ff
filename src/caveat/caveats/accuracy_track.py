"""Accuracy track: a rate holds for the share of the reference accuracy that had to be reached."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of, span
from caveat.caveats.kinds import is_performance, published
from caveat.caveats.twins import are_twins, track_pairs
from caveat.figures import Figure, Run


def _applies(figure: Figure) -> bool:
    c = figure.conditions
    return is_performance(figure) and c.get("accuracy_track") is not None and c.get("division") != "open"


def _sentence(figure: Figure) -> str:
    track = figure.conditions.text("accuracy_track")
    return (
        f"The result had to reach {track} % of the reference accuracy: it says nothing of a rate "
        "under a stricter or a looser demand."
    )


def _evidence(runs: Sequence[Run]) -> Evidence:
    """Pairs of rows under two tracks that are two runs: how the stricter rate compares."""
    pairs = [
        (loose, strict)
        for one, other in track_pairs(runs)
        if (loose := published(one)) is not None
        and (strict := published(other)) is not None
        and loose.metric == strict.metric
    ]
    apart = [(loose, strict) for loose, strict in pairs if not are_twins(loose.run, strict.run)]
    groups = grouped(apart, lambda pair: (pair[0].conditions.text("round"), pair[0].conditions.text("scenario")))
    rows = tuple(
        (*key, str(len(group)), span([strict.row.value / loose.row.value for loose, strict in group]))
        for key, group in sorted(groups.items())
    )
    return Evidence(
        numbers={"pairs": len(pairs), "apart": len(apart), "same": len(pairs) - len(apart)},
        tables=(
            Table(
                "Two runs under two tracks: stricter rate / looser rate",
                ("round", "scenario", "pairs", "ratio"),
                rows,
            ),
        ),
        counted=rounds_of(strict for _, strict in pairs),
    )


CAVEAT = Caveat(
    id="accuracy-track",
    title="The accuracy track belongs to the rate",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        llama2-70b is llama2-70b: the 99 and the 99.9 row of a table may be mixed as they come.
        """,
    why="""
        The number behind the name is the share of the reference accuracy, in percent, that the result must reach.
        The stricter track may rule out a data type or a trick that the looser one allows. Two tracks are two
        benchmarks, and their results are not compared with each other. Whether the track made a difference can only
        be seen where a submitter made two runs; mostly one run was filed under both.
        """,
    instead="""
        Compare rows of one track. If the loss of accuracy matters to you, look at the accuracy that was reached,
        not at the track: the track is only what was demanded. And the reference's score on its own data set is not
        a promise about your task.
        """,
    right="""
        For comparing systems under one track; and the stricter row, by its twin, also stands for the looser demand.
        """,
    shown="""
        {pairs} pairs of rows here stand under two tracks of one benchmark. {same} of them are one run filed twice;
        {apart} are two runs.
        """,
    evidence=_evidence,
)
