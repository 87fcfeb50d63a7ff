"""Rule: both sides did the same work: one benchmark, or requests of one shape on one model."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding, Severity
from caveat.compare.pairs import benchmark_base
from caveat.compare.reading import is_mlperf, objection, relation
from caveat.compare.slack import gap
from caveat.figures import Figure
from caveat.units import format_number

RULE = "benchmark-and-shape"
SHAPE_TOLERANCE = 0.10  # mean lengths of one shape class: larger / smaller - 1

_LENGTHS = ("input_tokens", "output_tokens")


def benchmark_and_shape(left: Figure, right: Figure) -> Iterator[Finding]:
    """Two figures are compared only if the work behind them is the same.

    ## What it asks

    For published results: the same benchmark (the accuracy track has a rule of its own). For one's own runs,
    which have no benchmark: the same model, and mean input and output lengths within a tenth of each other.

    ## Why

    A token is no unit of work. Its cost depends on the model, on the length of the context behind it and on the
    share of prefill. 1,000 tokens/s of short summaries and 1,000 tokens/s of long chains of thought have
    nothing in common but the word. The tenth is the tolerance that the submission checker itself allows for
    output length.

    ## What to do instead

    Find the other system's row for this benchmark (`caveat figures --where benchmark=...`), or measure both
    endpoints with one workload.

    ## Undisclosed

    The answer is unknown, for the benchmark of a published result as for the model or the mean lengths of
    others.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): same benchmark. Submission checker: output lengths
    within a tenth. The Transaction Processing Performance Council likewise does not let results of two scale
    factors be compared.
    """
    match _relation(left, right):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "benchmark",
                why="A token of one benchmark is not the work of a token of another.",
                remedy="find both systems in one benchmark: caveat figures --where benchmark=NAME",
            )
        case "undisclosed":
            yield objection(RULE, "unknown", left, right, "benchmark", why="It is not known what work was done.")
        case "not asked":
            yield from _model(left, right)
            yield from _shape(left, right)
        case "equal":
            if not (is_mlperf(left) and is_mlperf(right)):
                yield from _model(left, right)


def _relation(left: Figure, right: Figure) -> str:
    names = [side.conditions.words("benchmark") for side in (left, right)]
    if None in names:
        asked = relation(left, right, "benchmark")
        return "not asked" if asked == "equal" else asked  # not applicable on both sides: known by shape
    bases = {benchmark_base(name).casefold() for name in names if name}
    return "equal" if len(bases) == 1 else "different"


def _model(left: Figure, right: Figure) -> Iterator[Finding]:
    match relation(left, right, "model"):
        case "different":
            yield objection(
                RULE,
                "not-comparable",
                left,
                right,
                "model",
                why="Tokens of two models are not one unit of work.",
                remedy="measure one model on both sides",
            )
        case "undisclosed" | "not asked":
            yield objection(RULE, "unknown", left, right, "model", why="It is not known what was served.")


def _shape(left: Figure, right: Figure) -> Iterator[Finding]:
    means = [(_mean(left, key), _mean(right, key)) for key in _LENGTHS]
    gaps = [gap(one, other) for one, other in means if one is not None and other is not None]
    if len(gaps) < len(_LENGTHS):
        yield _shape_finding("unknown", left, right, "The shape of the requests is not known on both sides")
    elif max(gaps) > SHAPE_TOLERANCE:
        yield _shape_finding("not-comparable", left, right, "The shape of the requests differs by more than a tenth")
    elif relation(left, right, "dataset") == "different":
        yield objection(
            RULE,
            "comparable-with-caveats",
            left,
            right,
            "dataset",
            why="The mean lengths agree; the spread of lengths and what the prompts share may not.",
            remedy="measure both sides with one data set",
        )


def _mean(figure: Figure, key: str) -> float | None:
    return figure.conditions.numbers(key).get("mean")


def _shape_text(figure: Figure) -> str:
    return f"mean input {_length(_mean(figure, 'input_tokens'))}, mean output {_length(_mean(figure, 'output_tokens'))}"


def _length(mean: float | None) -> str:
    return "undisclosed" if mean is None else f"{format_number(mean)} tokens"


def _shape_finding(severity: Severity, left: Figure, right: Figure, word: str) -> Finding:
    mine, theirs = _shape_text(left), _shape_text(right)
    return Finding(
        rule=RULE,
        severity=severity,
        message=f"{word}: {mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy="measure both sides with one workload and keep the token counts",
    )
