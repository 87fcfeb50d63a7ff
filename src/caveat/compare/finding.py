"""Finding: one objection of one rule to putting two figures side by side; and how severe objections may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["comparable", "comparable-with-caveats", "unknown", "not-comparable"]

SEVERITIES: tuple[Severity, ...] = ("comparable", "comparable-with-caveats", "unknown", "not-comparable")
"""From mildest to worst."""

RATIO_ALLOWED: tuple[Severity, ...] = ("comparable", "comparable-with-caveats")
"""The severities under which one figure may be divided by the other."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One objection. `left` and `right` are both values as text; `remedy` is the way out.

    `message` is whole sentences that name the condition and both values. Texts may quote what a vendor wrote:
    control characters are gone, and renderers escape the rest.
    """

    rule: str
    severity: Severity
    message: str
    left: str
    right: str
    remedy: str


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst severity among the findings; "comparable" where there are none."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="comparable")
