"""Chunks are not tokens: a stream's pieces may hold several tokens, or none."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of
from caveat.figures import Figure, Metric, Run, figures_of


def _applies(figure: Figure) -> bool:
    return counts_chunks(figure.metric)


def counts_chunks(metric: Metric) -> bool:
    """Whether the metric times or counts pieces of a stream, by its name, definition or source of tokens."""
    return any("chunk" in text for text in (metric.name, metric.definition, metric.token_source))


def _sentence(figure: Figure) -> str:
    speculative = figure.conditions.get("speculative_decoding") == "on"
    reason = (
        "speculative decoding sends several tokens in one" if speculative else "one may hold several tokens, or none"
    )
    return f"Counted in chunks of the stream, and {reason}: this is not a figure per token."


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for run in runs for f in figures_of(run) if _applies(f)]
    groups = grouped(figures, lambda f: (f.metric.key, f.conditions.text("speculative_decoding")))
    rows = tuple((*key, str(len(group))) for key, group in sorted(groups.items()))
    return Evidence(
        numbers={"n": len(figures)},
        tables=(Table("Figures that count chunks", ("metric", "speculative decoding", "figures"), rows),),
        counted=rounds_of(figures),
    )


CAVEAT = Caveat(
    id="chunks-are-not-tokens",
    title="Chunks are not tokens",
    applies=_applies,
    sentence=_sentence,
    concluded="""
        The gaps between pieces of the stream are the inter-token latency, and their number is the number of tokens.
        """,
    why="""
        An endpoint sends text in pieces of its own choosing. With speculative decoding a piece holds every token that
        was accepted in a step; a busy server or a proxy joins pieces; the first may be an empty role marker and the
        last may carry nothing but a finish reason. So gaps between chunks grow and chunks get fewer as a server gets
        better at guessing, while time per token falls. Tools use one name for both, and two tools may disagree by the
        whole factor on one and the same stream.
        """,
    instead="""
        Count tokens by the server's usage field or with the model's own tokenizer, and say which. For smoothness as a
        reader feels it, report gaps between chunks under that name. Never set the one beside the other.
        """,
    right="""
        For how a stream feels to a reader, and for two runs of one engine with the same settings.
        """,
    shown="""
        {n} figures here count chunks.
        """,
    evidence=_evidence,
)
