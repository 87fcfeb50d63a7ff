"""Verdicts as plain data for JSON: one pair flat, several as a list. The figures keep their conditions.

format history
    caveat-verdict/1   first version
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.compare.verdict import Verdict
from caveat.figures import Figure

VERDICT_FORMAT = "caveat-verdict/1"


def verdicts_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """One verdict as {format, verdict, ratio, findings, ...}; several as {format, pairs: [...]}."""
    if len(verdicts) == 1:
        return {"format": VERDICT_FORMAT, **verdict_json(verdicts[0])}
    return {"format": VERDICT_FORMAT, "pairs": [verdict_json(verdict) for verdict in verdicts]}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """One verdict without the `format` key: the ids of both figures, and below both with their conditions."""
    return {
        "left": verdict.left.id,
        "right": verdict.right.id,
        "verdict": verdict.verdict,
        "ratio": verdict.ratio,
        "ratio_of": verdict.ratio_of,
        "difference": verdict.difference,
        "shape_slack": verdict.slack,
        "per_accelerator": msgspec.to_builtins(verdict.per_accelerator),
        "findings": [msgspec.to_builtins(finding) for finding in verdict.findings],
        "figures": [_figure(verdict.left), _figure(verdict.right)],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "id": figure.id,
        "metric": figure.metric.key,
        "value": figure.row.value,
        "unit": str(figure.metric.unit),
        "validity": figure.outcome,
        "conditions": figure.conditions.flat(),
    }
