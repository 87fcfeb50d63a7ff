"""Shape slack: by how much the mean output lengths of two runs of one benchmark differ.

A smaller difference between their rates than that is not a difference. Lengths and rates are both taken as larger /
smaller - 1, so that the answer does not depend on which figure stands on the left.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from caveat.figures import Figure
from caveat.units import Unit

Difference = Literal["difference", "no difference beyond shape slack", "unknown"]
NO_DIFFERENCE: Difference = "no difference beyond shape slack"


class Lengths(msgspec.Struct, frozen=True):
    """Mean output tokens a sample of both sides, both counted in one kind of run."""

    left: float
    right: float
    counted_in: Literal["performance run", "accuracy run"]


def applies(left: Figure, right: Figure) -> bool:
    """Shape slack is a matter of rates in tokens/s."""
    return left.metric.unit is Unit.TOKENS_PER_SECOND and right.metric.unit is Unit.TOKENS_PER_SECOND


def lengths(left: Figure, right: Figure) -> Lengths | None:
    """Lengths of the performance runs, else of the accuracy runs; never one of each. None where undisclosed."""
    mine, theirs = _performance(left), _performance(right)
    if mine and theirs:
        return Lengths(mine, theirs, "performance run")
    mine, theirs = (side.conditions.number("accuracy_tokens_per_sample") for side in (left, right))
    return Lengths(mine, theirs, "accuracy run") if mine and theirs else None


def _performance(figure: Figure) -> float | None:
    row = figure.run.row("tokens-per-sample.mean")
    return row.value if row else figure.conditions.numbers("output_tokens").get("mean")


def slack(left: Figure, right: Figure) -> float | None:
    """The shape slack as a share (0.089 is 8.9 %); None where lengths are undisclosed or rates are not in tokens/s."""
    found = lengths(left, right) if applies(left, right) else None
    return gap(found.left, found.right) if found else None


def gap(one: float, other: float) -> float:
    """larger / smaller - 1 of two values; infinite where one is not positive and the other is another."""
    low, high = sorted((one, other))
    if low == high:
        return 0.0
    return high / low - 1 if low > 0 else math.inf


def difference(left: Figure, right: Figure) -> Difference | None:
    """Whether two rates differ by more than their shape slack; None for figures that are not rates in tokens/s."""
    if not applies(left, right) or min(left.row.value, right.row.value) <= 0:
        return None
    found = slack(left, right)
    if found is None:
        return "unknown"
    return NO_DIFFERENCE if gap(left.row.value, right.row.value) <= found else "difference"
