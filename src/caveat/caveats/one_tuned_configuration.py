"""One tuned configuration: a published rate belongs to a stack set up for this benchmark and this scenario."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import of_like_hardware, spread
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, plain, quantile, rounds_of
from caveat.caveats.kinds import hardware, is_performance, is_published
from caveat.figures import Figure, Run
from caveat.units import format_number

SHOWN = 10  # groups in the table: those with most results
ENGINE_LETTERS = 80  # of an engine text in a sentence


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and is_published(figure)


def _sentence(figure: Figure) -> str:
    engine = plain(figure.conditions.words("engine") or "")
    if len(engine) > ENGINE_LETTERS:
        engine = engine[:ENGINE_LETTERS].rstrip() + "…"
    stack = f"the stack ({engine})" if engine else "an engine that is undisclosed"
    return f"The figure is that of {stack}, tuned for this benchmark and this scenario, not of the hardware as such."


def _evidence(runs: Sequence[Run]) -> Evidence:
    groups = of_like_hardware(runs)
    ratios = [spread(group) for group in groups]
    groups.sort(key=lambda group: (-len(group), group[0].run.subject))
    figures = [f for group in groups for f in group]
    return Evidence(
        numbers={
            "groups": len(groups),
            "n": len(figures),
            "median": quantile(ratios, 0.5) if ratios else None,
            "largest": max(ratios, default=None),
            "engines": len({engine for f in figures if (engine := f.conditions.words("engine"))}),
        },
        tables=(
            Table(
                "Results on equally many accelerators of one kind (the groups with most results)",
                ("round", "benchmark", "scenario", "hardware", "results", "submitters", "best / lowest"),
                tuple(_row(group) for group in groups[:SHOWN]),
            ),
        ),
        counted=rounds_of(figures),
    )


def _row(group: Sequence[Figure]) -> tuple[str, ...]:
    c = group[0].conditions
    submitters = {f.conditions.text("submitter") for f in group}
    return (
        *(c.text(key) for key in ("round", "benchmark", "scenario")),
        hardware(c),
        str(len(group)),
        str(len(submitters)),
        format_number(spread(group)),
    )


CAVEAT = Caveat(
    id="one-tuned-configuration",
    title="One tuned configuration",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The accelerator makes this many tokens a second, so ours will.
        """,
    why="""
        A submission is the work of people who know the engine, chose its batch sizes, parallelism, kernels and data
        types for one benchmark in one scenario, and may choose others for the next. The same hardware under another
        engine, version or power limit gives another rate. The engine is named in the result; most of its settings lie
        in the submitter's code, where it is public, and nowhere in the table.
        """,
    instead="""
        Ask for the configuration, not only for the number: engine and version, parallelism, batch limits, data
        types, and whether one setting served every scenario. Start from it on your own system, measure, and expect to
        tune for your own shape.
        """,
    right="""
        For what the hardware can be brought to on this shape by people who try; as a target for tuning, and as a
        check that yours is not far off.
        """,
    shown="""
        {n} closed results here fall into {groups} groups of the same round, benchmark, scenario, kind and number of
        accelerators, with {engines} different engine texts. Inside a group the best rate is {median} times the lowest
        (median over the groups), and up to {largest} times.
        """,
    evidence=_evidence,
)
