"""Limits differ: Server means other latency limits from benchmark to benchmark, and Interactive others again."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import SERVING, is_performance, is_serving
from caveat.facts import BENCHMARKS, ROUNDS, Limits, limits
from caveat.figures import Conditions, Figure, Run
from caveat.units import format_seconds

_LIMITS = (("ttft_limit_s", "TTFT"), ("tpot_limit_s", "TPOT"), ("latency_limit_s", "whole request"))


def _applies(figure: Figure) -> bool:
    return is_serving(figure) and is_performance(figure)


def _sentence(figure: Figure) -> str:
    c = figure.conditions
    stated = _stated(c)
    if not stated:
        return "The latency limits of this run are undisclosed: without them a serving rate cannot be read."
    return (
        f"{_judged(figure)} ({stated}): under the limits of another benchmark or scenario, "
        "or of your service, the rate would be another."
    )


def _judged(figure: Figure) -> str:
    """A run may be invalid for another reason than its latency."""
    if any(check.aspect == "latency limits" and check.outcome == "fail" for check in figure.validity):
        return "Missed its own limits"
    return "Not valid, and judged under its own limits" if figure.outcome == "fail" else "Judged under its own limits"


def _stated(c: Conditions) -> str:
    percentile = c.number("limit_percentile")
    at = "" if percentile is None else f"p{100 * percentile:g} "
    parts = [f"{name} {format_seconds(s)}" for key, name in _LIMITS if (s := c.number(key)) is not None]
    return f"{at}{', '.join(parts)}" if parts else ""


def _limits() -> dict[tuple[str, str, Limits], list[str]]:
    """Limits of the closed division by model and scenario, with the rounds that have them."""
    found: dict[tuple[str, str, Limits], list[str]] = {}
    for benchmark in BENCHMARKS:
        for scenario in SERVING:
            for one in ROUNDS:
                limit = limits(benchmark.id, one.name, scenario)
                if limit is not None:
                    found.setdefault((benchmark.model, scenario, limit), []).append(one.name)
    return found


def _rules() -> Table:
    return Table(
        "Limits of the closed division",
        ("model", "scenario", "rounds", *(name for _, name in _LIMITS), "note"),
        tuple(
            (
                model,
                scenario,
                ", ".join(sorted(set(names))),
                *(format_seconds(s) if s is not None else "" for s in (limit.ttft_s, limit.tpot_s, limit.latency_s)),
                limit.note or "",
            )
            for (model, scenario, limit), names in _limits().items()
        ),
    )


def _sources() -> str:
    """Where the limits were read, each place once."""
    stated = (limit.source for *_, limit in _limits())
    return "; ".join(dict.fromkeys(place for source in stated for place in source.split("; ")))


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _applies(f)]
    known = [f for f in figures if _stated(f.conditions)]
    groups = grouped(known, lambda f: (f.conditions.text("scenario"), _stated(f.conditions)))
    rows = tuple(
        (*key, ", ".join(sorted({f.conditions.text("benchmark") for f in group})), str(len(group)))
        for key, group in sorted(groups.items())
    )
    return Evidence(
        numbers={"n": len(known), "sets": len(groups), "without": len(figures) - len(known)},
        tables=(Table("Limits of the figures in this ledger", ("scenario", "limits", "benchmarks", "figures"), rows),),
        counted=rounds_of(figures),
        rules=(_rules(),),
    )


CAVEAT = Caveat(
    id="limits-differ",
    title="Latency limits differ by benchmark and scenario",
    applies=_applies,
    sentence=_sentence,
    given={"source": _sources()},
    concluded="""
        Both are Server figures, so both hold under the same promise to the user.
        """,
    why="""
        A scenario fixes the kind of promise, not its size. Each benchmark has its own limits on time to first token
        and on time per output token (or, for some, on the whole request), and Interactive is the same open-loop test
        as Server with tighter ones. How fast a system can be driven depends on them above all. The harness says a run
        is valid when p99 keeps the limit; up to one request in a hundred may take any time.

        The limits below are those of {source}.
        """,
    instead="""
        State the limits with the rate. Choose the figure whose limits are nearest to your own objective, and expect
        less under tighter ones. Where your objective lies between Server and Interactive, no interpolation is honest:
        measure.
        """,
    right="""
        For systems under one benchmark and one scenario; and as a floor for a service with the same shape and
        limits that are no tighter.
        """,
    shown="""
        {n} serving figures here state their limits, in {sets} different sets; {without} do not.
        """,
    evidence=_evidence,
)
