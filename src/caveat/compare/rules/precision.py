"""Rule: both sides computed in the same number formats."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection, relation
from caveat.figures import Figure

RULE = "precision"

_KEYS = ("weight_precision", "activation_precision", "kv_cache_precision")


def precision(left: Figure, right: Figure) -> Iterator[Finding]:
    """A difference of number format stands beside the figures.

    ## What it asks

    Weights, activations and KV cache were kept in the same data types, in whatever order a source lists them.

    ## Why

    Half the bits can mean twice the arithmetic rate and half the memory traffic. A lead of one system may be a
    lead of its format. The closed division holds accuracy fixed, so formats may differ there; they are still
    part of the answer.

    ## What to do instead

    State both formats, or look for a result of the other system in the same format.

    ## Undisclosed

    A caveat for the weights, which published results state. Activations and KV cache raise a question only
    where both sides state them and differ.

    ## Source

    MLCommons, inference rules, quantization; published tables state the weights' data types.
    """
    for key in _KEYS:
        answer = relation(left, right, key)
        if answer == "different" and _types(left, key) != _types(right, key):
            why = "A lead may be a lead of the number format."
            remedy = "state both formats, or take results of one format"
        elif answer == "undisclosed" and key == "weight_precision":
            why, remedy = "The number format is part of what a rate means.", ""
        else:
            continue
        yield objection(RULE, "comparable-with-caveats", left, right, key, why=why, remedy=remedy)


def _types(figure: Figure, key: str) -> set[str]:
    return {part.strip() for part in (figure.conditions.words(key) or "").casefold().split(",")}
