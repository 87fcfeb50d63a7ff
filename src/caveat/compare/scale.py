"""The size of a system, and the ratio per accelerator: derived, on request, and refused where the size is in doubt."""

from __future__ import annotations

import math

import msgspec

from caveat.compare.reading import is_mlperf, plain, shown
from caveat.facts import accelerator_form, derived_basis
from caveat.figures import Figure
from caveat.units import unit_words


class PerAccelerator(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio left / right of values divided by the number of accelerators. `basis` goes wherever the ratio goes."""

    ratio: float
    basis: str
    derived: bool = True


def per_accelerator_ratio(left: Figure, right: Figure) -> PerAccelerator | None:
    """The ratio with its basis sentence; None where `refusal` objects to a side or no finite quotient exists."""
    if refusal(left) or refusal(right):
        return None
    ratio = quotient(_share(left), _share(right))
    return None if ratio is None else PerAccelerator(ratio=ratio, basis=basis(left, right))


def quotient(left: float, right: float) -> float | None:
    """left / right, or None where that is no finite number other than zero."""
    if not left or not right:
        return None
    ratio = left / right
    return ratio if ratio and math.isfinite(ratio) else None


def _share(figure: Figure) -> float:
    count = figure.conditions.number("accelerators")
    assert count
    return figure.row.value / count


def refusal(figure: Figure) -> str | None:
    """Why a figure has no value per accelerator, as the middle of a sentence; None where it has one."""
    if figure.metric.statistic != "rate":
        return f"{figure.metric.key} is not a rate, and does not grow with the number of accelerators"
    conflict = count_conflict(figure)
    if conflict:
        return f"its sources disagree about the number of accelerators ({conflict})"
    if not figure.conditions.number("accelerators"):
        return f"its number of accelerators is {shown(figure, 'accelerators')}"
    chip = figure.conditions.words("accelerator")
    if chip is None:
        return f"its accelerator is {shown(figure, 'accelerator')}, so that the count may mix kinds"
    return f"it mixes accelerators ({plain(chip)})" if "+" in chip else None


def count_conflict(figure: Figure) -> str | None:
    """What contradicts what about the number of accelerators; None where nothing does."""
    c = figure.conditions
    if "accelerators" in c.conflicts():
        return plain(", ".join(f"{claim.value} by {claim.source}" for claim in c.claims["accelerators"]))
    total, nodes, each = (c.number(key) for key in ("accelerators", "nodes", "accelerators_per_node"))
    if total and nodes and each and total != nodes * each and "+" not in (c.words("accelerator") or ""):
        return f"{total:,.0f} stated, {nodes:,.0f} nodes x {each:,.0f} = {nodes * each:,.0f}"
    return None


def size_text(figure: Figure) -> str:
    """Count, chip in its form and nodes: `8 x H100-SXM, nodes 1`; a contested count with all its claims."""
    conflict = count_conflict(figure)
    count = f"contested ({conflict})" if conflict else shown(figure, "accelerators")
    return f"{count} x {_chip(figure)}, nodes {shown(figure, 'nodes')}"


def _chip(figure: Figure) -> str:
    family = figure.conditions.words("accelerator")
    if family is None:
        return shown(figure, "accelerator")
    return plain(accelerator_form(family, figure.conditions.words("accelerator_stated")))


def basis(left: Figure, right: Figure) -> str:
    """The sentence that must stand beside a ratio per accelerator."""
    formula = f"({left.text} / {size_text(left)}) / ({right.text} / {size_text(right)})"
    metric = f"The ratio of {unit_words(left.metric.unit)} per accelerator"
    if is_mlperf(left) or is_mlperf(right):
        return derived_basis(metric, formula)
    return f"{metric} is derived, not measured: {formula}."
