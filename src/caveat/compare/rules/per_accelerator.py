"""Rule, asked only on request: a value per accelerator can be formed on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding, Severity
from caveat.compare.scale import basis, refusal, size_text
from caveat.figures import Figure

RULE = "per-accelerator"


def per_accelerator(left: Figure, right: Figure) -> Iterator[Finding]:
    """A ratio per accelerator is derived, says so, and is refused where a count is in doubt.

    ## What it asks

    Only when a ratio per accelerator was asked for: both figures are rates of systems with one kind of
    accelerator and a stated count on which all sources agree.

    ## Why

    Nobody measured a value per accelerator. Rates do not grow in proportion to the count (a rack of seventy-two
    is not nine boxes of eight), so the quotient describes the whole systems, not the chips. A count in doubt
    puts the doubt into the quotient unseen; a mixed system has no "per accelerator" at all.

    ## What to do instead

    Compare the systems as they are and state both counts; or take two results of equal size. Where sources
    disagree, ask the submitter.

    ## Undisclosed

    Refused: the finding says what is missing.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): a value other than the primary metric states its
    basis, and is neither official nor verified.
    """
    mine, theirs = refusal(left), refusal(right)
    severity: Severity = "comparable-with-caveats"
    if mine or theirs:
        sides = [f"on the {name} {why}" for name, why in (("left", mine), ("right", theirs)) if why]
        severity = "not-comparable"
        message = f"No value per accelerator can be formed: {'; '.join(sides)}."
        remedy = "compare without the division by accelerators, and state both counts as claimed"
    else:
        message = basis(left, right)
        remedy = "print this basis in the text and in a footnote, and do not call the ratio official or verified"
    yield Finding(
        rule=RULE,
        severity=severity,
        message=message,
        left=size_text(left),
        right=size_text(right),
        remedy=remedy,
    )
