"""Inferred tokens: the token rate is a sample rate times an assumed length."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.caveats.kinds import is_token_rate
from caveat.figures import Figure, Run


def _applies(figure: Figure) -> bool:
    return is_token_rate(figure) and figure.metric.token_source.startswith("assumed")


def _sentence(figure: Figure) -> str:
    return f"Tokens were not counted ({figure.metric.token_source}): this is a rate of samples in another unit."


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _applies(f)]
    keys = ("round", "benchmark", "scenario")
    groups = grouped(figures, lambda f: (*(f.conditions.text(key) for key in keys), f.metric.token_source))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={"n": len(figures)},
        tables=(Table("Inferred token rates", (*keys, "tokens", "figures"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="inferred-tokens",
    title="Inferred tokens",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The table says tokens/s, so somebody counted tokens.
        """,
    why="""
        For gptj the harness had no token counts. Its token rate is the rate of samples times one fixed number, the same
        for every system, whatever its answers were. With beam search, moreover, the tokens that were computed are
        several times those that were returned.
        """,
    instead="""
        Divide the factor out again and use samples per second. Do not set it beside a counted token rate, not
        even of another benchmark on the same articles.
        """,
    right="""
        For comparing results of that benchmark with each other: the factor cancels.
        """,
    shown="""
        {n} published rates here are inferred.
        """,
    evidence=_evidence,
)
