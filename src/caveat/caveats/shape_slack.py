"""Shape slack: how much mean output length differs between results of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, percent, rounds_of
from caveat.caveats.kinds import is_token_rate
from caveat.facts import tokens_per_sample_range
from caveat.figures import Conditions, Figure, Run

Length = Callable[[Conditions], float | None]
Group = tuple[list[float], tuple[str, str], str]  # mean lengths, (round, benchmark), kind of run

# Two kinds of run that are never mixed.
BASES: tuple[tuple[str, Length], ...] = (
    ("performance run", lambda c: c.numbers("output_tokens").get("mean")),
    ("accuracy run", lambda c: c.number("accuracy_tokens_per_sample")),
)


def _applies(figure: Figure) -> bool:
    return is_token_rate(figure) and not figure.metric.token_source.startswith("assumed")


def _sentence(figure: Figure) -> str:
    c = figure.conditions
    bounds = _bounds(c)
    for basis, length in BASES:
        if (mean := length(c)) is not None:
            return (
                f"Mean output was {mean:.1f} tokens a request in the {basis}{bounds}: a difference in tokens/s smaller "
                "than the difference in length is none in speed."
            )
    return (
        f"Mean output length is undisclosed{bounds}: how much of a difference in tokens/s is length, not speed, "
        "cannot be said."
    )


def _bounds(c: Conditions) -> str:
    """The band that the closed division allows."""
    allowed = tokens_per_sample_range(c.words("benchmark") or "", c.words("round") or "", c.words("scenario"))
    if allowed is None or c.get("division") != "closed":
        return ""
    return f" (the rules allow {allowed[0]:.1f} to {allowed[1]:.1f})"


def _evidence(runs: Sequence[Run]) -> Evidence:
    """Closed results only: an open one may be of another model."""
    figures = [f for f in published_once(runs) if _applies(f) and f.conditions.get("division") == "closed"]
    groups = _groups(figures)
    known = [f for f in figures if any(length(f.conditions) is not None for _, length in BASES)]
    slacks = [_slack(group) for group, _, _ in groups]
    return Evidence(
        numbers={"n": len(known), "contests": len(slacks), "widest": percent(max(slacks)) if slacks else None},
        tables=tuple(_table(groups, basis) for basis, _ in BASES),
        counted=rounds_of(known),
    )


def _groups(figures: Sequence[Figure]) -> list[Group]:
    """Lengths of the results of one benchmark and round, two or more, by kind of run."""
    found = []
    for basis, length in BASES:
        for key, group in sorted(grouped(figures, _contest).items()):
            lengths = [mean for f in group if (mean := length(f.conditions))]
            if len(lengths) > 1:
                found.append((lengths, key, basis))
    return found


def _table(groups: Sequence[Group], basis: str) -> Table:
    return Table(
        f"Mean output tokens a request in the {basis}",
        ("round", "benchmark", "results", "shortest", "longest", "slack"),
        tuple(
            (*key, str(len(lengths)), f"{min(lengths):.1f}", f"{max(lengths):.1f}", percent(_slack(lengths)))
            for lengths, key, its_basis in groups
            if its_basis == basis
        ),
    )


def _contest(figure: Figure) -> tuple[str, str]:
    return figure.conditions.text("round"), figure.conditions.text("benchmark")


def _slack(lengths: Sequence[float]) -> float:
    """Longest over shortest, less one."""
    return max(lengths) / min(lengths) - 1


CAVEAT = Caveat(
    id="shape-slack",
    title="Shape slack: output length differs between results of one benchmark",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The same benchmark in the same round is the same work, so the higher token rate is the faster system, by
        however little.
        """,
    why="""
        The prompts are the same, the answers are not. Precision, kernels and sampling change when a model stops, and
        where the rules bound the mean length at all they leave a band. Longer answers raise tokens/s without raising
        the number of requests served, since the prompt is paid for once. And the count of tokens is what the
        system reports; the harness does not count itself.
        """,
    instead="""
        Set the two mean lengths beside the two rates. If the rates differ by less than the lengths, call it no
        difference; otherwise compare samples per second as well. Take both lengths from the same kind of run: the
        accuracy run is not the performance run.
        """,
    right="""
        For differences well beyond the slack, and wherever both mean lengths are known and nearly equal.
        """,
    shown="""
        {n} closed token rates here come with a mean output length, in {contests} groups of one benchmark and round with
        two or more. The most that the longest mean of a group lies above its shortest: {widest}.
        """,
    evidence=_evidence,
)
