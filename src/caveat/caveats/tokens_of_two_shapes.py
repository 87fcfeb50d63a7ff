"""Tokens of two shapes are not one unit: tokens/s of two benchmarks count different work."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once, spread
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, quantile, rounds_of
from caveat.caveats.kinds import hardware, is_offline, is_token_rate
from caveat.facts import benchmark_named
from caveat.figures import Conditions, Figure, Run
from caveat.units import format_number

SHOWN = 8  # systems in the table: those in which the rates differ most


def _sentence(figure: Figure) -> str:
    benchmark = figure.conditions.words("benchmark")
    work, other = (benchmark, "benchmark") if benchmark else (_shape(figure.conditions), "shape")
    return (
        f"These are output tokens of {work}; a token of another {other} or model stands for other work, "
        "so the two rates cannot be set side by side, added or averaged."
    )


def _shape(conditions: Conditions) -> str:
    """The work by its mean lengths, where it is no published benchmark."""
    means = [(kind, conditions.numbers(f"{kind}_tokens").get("mean")) for kind in ("input", "output")]
    known = [f"{format_number(mean)} {kind}" for kind, mean in means if mean is not None]
    if not known:
        return "a workload whose lengths are undisclosed"
    return f"requests of {' and '.join(known)} tokens on average"


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if is_token_rate(f) and is_offline(f) and _model(f)]
    by_system = grouped(
        figures, lambda f: tuple(f.conditions.text(key) for key in ("round", "division", "submitter", "platform"))
    )
    systems = [group for group in by_system.values() if len({_model(f) for f in group}) > 1]
    systems.sort(key=spread, reverse=True)
    ratios = [spread(group) for group in systems]
    return Evidence(
        numbers={
            "systems": len(systems),
            "median": quantile(ratios, 0.5) if ratios else None,
            "largest": max(ratios, default=None),
        },
        tables=(
            Table(
                "One system, several benchmarks: how far apart its own Offline rates lie (not a comparison)",
                ("round", "hardware", "benchmarks", "largest / smallest tokens/s"),
                tuple(_row(group) for group in systems[:SHOWN]),
            ),
        ),
        counted=rounds_of(f for group in systems for f in group),
    )


def _model(figure: Figure) -> str | None:
    """The language model; None for speech, whose tokens nobody would mistake for these."""
    benchmark = benchmark_named(figure.conditions.words("benchmark") or "")
    return benchmark.model if benchmark and benchmark.language_model else None


def _row(group: Sequence[Figure]) -> tuple[str, ...]:
    c = group[0].conditions
    names = ", ".join(sorted({f.conditions.text("benchmark") for f in group}))
    return (c.text("round"), hardware(c), names, format_number(spread(group)))


CAVEAT = Caveat(
    id="tokens-of-two-shapes",
    title="Tokens of two shapes are not one unit",
    applies=is_token_rate,
    sentence=_sentence,
    concluded="""
        This system makes more tokens a second in the one benchmark than that system in the other, so it is the
        faster one; or the price of a million tokens follows from any token rate at hand.
        """,
    why="""
        Only output tokens are counted. How much input had to be read for each of them, how long the context was
        that each step had to attend to, how many requests could share a batch and how large the model is: all of it
        is inside the rate and nothing of it in the unit. Tokenizers differ as well, so that one text is fewer tokens
        for one model than for another.
        """,
    instead="""
        Keep rates of different benchmarks, models or length classes apart, in tables, charts and sums. To bring two
        workloads to one scale, measure both on the same system.
        """,
    right="""
        For figures of one benchmark, where input, cap and tokenizer are the same for all; and even there with an
        eye on the mean output length.
        """,
    shown="""
        {systems} systems here have Offline token rates in more than one model's benchmark. Their own rates differ by
        a factor of {median} (median) and up to {largest}, on unchanged hardware.
        """,
    evidence=_evidence,
)
