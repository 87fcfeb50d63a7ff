"""Warm prefix cache: prompts that come again may be answered from stored KV entries."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, quantile, rounds_of
from caveat.caveats.kinds import is_performance
from caveat.figures import Conditions, Figure, Run

ASPECT = "cache state"


def _applies(figure: Figure) -> bool:
    """Figures for which a warm cache is not ruled out, neither by "off" nor by a check of the cache's state."""
    if not is_performance(figure) or figure.conditions.get("prefix_caching") == "off":
        return False
    return not any(check.aspect == ASPECT and check.outcome == "pass" for check in figure.validity)


def _sentence(figure: Figure) -> str:
    times = passes(figure)
    again = f", and each prompt came about {_written(times)} times" if times is not None and times > 1 else ""
    if figure.conditions.get("prefix_caching") == "on":
        return (
            f"Prefix caching was on{again}: what was already stored was not computed again, so new prompts run slower."
        )
    return f"Whether prefixes were cached is undisclosed{again}: some of the prefill may never have been done."


def passes(figure: Figure) -> float | None:
    """How often each prompt came on average: requests / distinct prompts; None where either is not known."""
    samples = figure.conditions.number("dataset_samples")
    return figure.row.n / samples if figure.row.n and samples else None


def _written(times: float) -> str:
    return f"{times:,.1f}".removesuffix(".0")


def _evidence(runs: Sequence[Run]) -> Evidence:
    known = [(f, times) for f in published_once(runs) if (times := passes(f)) is not None]
    groups = grouped(known, lambda item: (item[0].conditions.text("scenario"), _state(item[0].conditions)))
    rows = []
    for key, group in sorted(groups.items()):
        values = [times for _, times in group]
        cells = (_written(quantile(values, share)) for share in (0, 0.5, 1))
        rows.append((*key, str(len(group)), *cells))
    repeated = sum(times > 1 for _, times in known)
    return Evidence(
        numbers={
            "n": len(known),
            "repeated": repeated,
            "unknown": sum(_state(f.conditions) != "off" for f, _ in known),
            "most": round(max(times for _, times in known)) if known else None,
        },
        tables=(
            Table(
                "How often each prompt came in a run",
                ("scenario", "prefix caching", "runs", "least", "median", "most"),
                tuple(rows),
            ),
        ),
        counted=rounds_of(f for f, _ in known),
    )


def _state(c: Conditions) -> str:
    return c.text("prefix_caching")


CAVEAT = Caveat(
    id="warm-prefix-cache",
    title="A warm prefix cache",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The rate rose with every repetition of the test, so the system has warmed up; this last number is the one.
        """,
    why="""
        A test draws from a limited set of prompts. When the set comes round again, or the sweep goes on to its next
        step, a server that keeps KV entries finds most prompts already computed: first tokens come at once and
        prefill hardly occurs. That is a fine thing in production to the extent that your requests share prefixes, and
        an artefact to the extent that only the test's do.
        """,
    instead="""
        Decide which of the two you want to measure. For work without reuse, switch the cache off or salt the prompts,
        so that no two begin alike. For work with reuse, reproduce its prefix structure, and state the share of cached
        input tokens with the rate.
        """,
    right="""
        When the reuse in the test is the reuse in your traffic, and is stated.
        """,
    shown="""
        In {repeated} of the {n} published runs here whose number of requests is known, every prompt came more than
        once on average, and up to {most} times: a cache that was kept would have spared most of the prefill. For
        {unknown} of the runs no rule says that prefix caching was off.
        """,
    evidence=_evidence,
)
