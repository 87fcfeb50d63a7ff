"""Fixed shape is not your traffic: every request of a benchmark comes from one data set with its own lengths."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Table, grouped, rounds_of, span, whole
from caveat.caveats.kinds import is_performance
from caveat.facts import BENCHMARKS
from caveat.figures import Conditions, Figure, Run
from caveat.units import format_number


def _applies(figure: Figure) -> bool:
    return is_performance(figure) and figure.conditions.get("benchmark") is not None


def _sentence(figure: Figure) -> str:
    c = figure.conditions
    source = c.words("dataset") or f"the data set of {c.text('benchmark')}"
    parts = "; ".join(_lengths(c)) or "its lengths are undisclosed"
    return (
        f"Every request comes from {source} ({parts}): requests of other lengths, or with shared prefixes, "
        "run otherwise."
    )


def _lengths(c: Conditions) -> list[str]:
    parts = []
    if (longest := c.number("input_tokens_max")) is not None:
        parts.append(f"input of at most {whole(longest)} tokens")
    if (cap := c.number("output_tokens_cap")) is not None:
        parts.append(f"output cut at {whole(cap)}")
    if (mean := c.numbers("output_tokens").get("mean")) is not None:
        parts.append(f"{format_number(mean)} output tokens a request in this run")
    return parts


def _evidence(runs: Sequence[Run]) -> Evidence:
    figures = [f for f in published_once(runs) if _applies(f)]
    groups = grouped(figures, lambda f: (f.conditions.text("benchmark"), f.conditions.text("dataset")))
    rows = tuple(
        (
            *key,
            *(_agreed(group, limit) for limit in ("input_tokens_max", "output_tokens_cap")),
            span(_means(group)) or "undisclosed",
            str(len(group)),
        )
        for key, group in sorted(groups.items())
    )
    disclosed = sum("mean" in f.conditions.numbers("input_tokens") for f in figures)
    return Evidence(
        numbers={"n": len(figures), "benchmarks": len({key[0] for key in groups}), "inputs": disclosed},
        tables=(
            Table(
                "Shapes of the benchmarks in this ledger",
                ("benchmark", "data set", "longest input", "output cap", "mean output tokens a request", "figures"),
                rows,
            ),
        ),
        counted=rounds_of(figures),
    )


def _agreed(group: Sequence[Figure], key: str) -> str:
    values = [value for f in group if (value := f.conditions.number(key)) is not None]
    return span(values, whole) or "undisclosed"


def _means(group: Sequence[Figure]) -> list[float]:
    """Mean output lengths of performance runs; those of accuracy runs are another thing."""
    return [mean for f in group if (mean := f.conditions.numbers("output_tokens").get("mean")) is not None]


def _dataset(model: str) -> str:
    return next(b.dataset for b in BENCHMARKS if b.model == model)


CAVEAT = Caveat(
    id="fixed-shape-is-not-your-traffic",
    title="A fixed shape is not your traffic",
    applies=_applies,
    sentence=_sentence,
    given={
        "llama2": _dataset("llama2-70b"),
        "llama3": _dataset("llama3.1-8b"),
        "gptj": _dataset("gptj"),
    },
    concluded="""
        The benchmark serves the model that we serve, so our service will make as many tokens a second.

        Also often heard: that llama2-70b is a summarization benchmark.
        """,
    why="""
        A rate belongs to lengths. Long prompts cost prefill and KV memory, long answers hold a place in the batch,
        and what a benchmark forbids (reuse of a prefix between requests) may be most of your saving, or what it
        lacks (a long tail, bursts, conversations that grow) most of your trouble. The rules state the longest input
        and the cap on output; the mean input length stands in none of them and has to be computed from the data set.

        The requests of llama2-70b are questions and instructions from {llama2}. Summaries of news are the work
        of llama3.1-8b ({llama3}) and, before it, gptj ({gptj}).
        """,
    instead="""
        Write down the lengths of your own requests as distributions, and what they share, and choose the benchmark
        nearest to them, if any is near. Better: make a traffic profile and replay it.
        """,
    right="""
        For comparing systems on that very shape; and as a first bearing where your lengths lie close to those of
        the data set and your requests share nothing.
        """,
    shown="""
        {n} figures of {benchmarks} benchmarks are here. The mean input length is disclosed for {inputs} of them.
        """,
    evidence=_evidence,
)
