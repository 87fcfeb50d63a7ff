"""Around: how far a validated range reaches beyond what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.simulator.model_file import Range

AROUND = 0.1
"""Two samples of one workload differ by as much, and so do the answers that submitters of one benchmark give."""


def around(values: Sequence[float]) -> Range:
    """From a tenth below the least to a tenth above the most."""
    return Range(low=min(values) * (1 - AROUND), high=max(values) * (1 + AROUND))


LEAST_CV = 0.1
"""Lengths or gaps that are all alike count as having so much spread."""


def up_to(spreads: Sequence[float]) -> Range:
    """Of spreads: from none to a tenth above the most. What is more even waits less."""
    return Range(low=0.0, high=max(LEAST_CV, *spreads) * (1 + AROUND))
