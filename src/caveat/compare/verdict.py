"""Verdict: may two figures be compared, what is their ratio if so, and which rules said what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec

from caveat.compare.catalogue import RULES, About
from caveat.compare.finding import RATIO_ALLOWED, Finding, Severity, worst
from caveat.compare.scale import PerAccelerator, per_accelerator_ratio, quotient
from caveat.compare.slack import Difference, difference, slack
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES, UsageError
from caveat.figures import Figure

RATIO_OF = "left / right"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for two figures. `verdict` is the worst severity of the findings.

    `ratio` is the left value over the right one, as `ratio_of` says; None where it may not be formed. `slack` is the
    shape slack as a share, `difference` whether the rates differ by more than it; both None where no ratio is, or the
    figures are not rates in tokens/s. `per_accelerator` is there only on request and where nothing refused it.
    """

    verdict: Severity
    left: Figure
    right: Figure
    findings: tuple[Finding, ...]
    ratio: float | None = None
    ratio_of: str = RATIO_OF
    difference: Difference | None = None
    slack: float | None = None
    per_accelerator: PerAccelerator | None = None


def verdict(left: Figure, right: Figure, *, per_accelerator: bool = False) -> Verdict:
    """Ask every rule about two figures. `per_accelerator` asks for that derived ratio as well, or for its refusal."""
    findings = _ask("pair", left, right)
    if per_accelerator:
        findings += _ask("per accelerator", left, right)
    if worst(findings) not in RATIO_ALLOWED:
        return Verdict(verdict=worst(findings), left=left, right=right, findings=findings)
    findings += _ask("ratio", left, right)
    return Verdict(
        verdict=worst(findings),
        left=left,
        right=right,
        findings=findings,
        ratio=quotient(left.row.value, right.row.value),
        difference=difference(left, right),
        slack=slack(left, right),
        per_accelerator=per_accelerator_ratio(left, right) if per_accelerator else None,
    )


def _ask(about: About, left: Figure, right: Figure) -> tuple[Finding, ...]:
    return tuple(finding for rule in RULES if rule.about == about for finding in rule.ask(left, right))


def verdicts(figures: Sequence[Figure], *, per_accelerator: bool = False) -> tuple[Verdict, ...]:
    """The verdict on every pair, in the order given. Raises UsageError for fewer than two figures."""
    if len(figures) < 2:
        raise UsageError(
            f"found {len(figures)} figure, expected at least two to compare",
            next="name two figures: caveat compare A B",
        )
    return tuple(verdict(left, right, per_accelerator=per_accelerator) for left, right in combinations(figures, 2))


_EXITS: dict[Severity, int] = {
    "comparable": EXIT_YES,
    "comparable-with-caveats": EXIT_YES,
    "unknown": EXIT_CANNOT_SAY,
    "not-comparable": EXIT_NO,
}


def exit_code(answers: Iterable[Verdict]) -> int:
    """0 where all may be compared, 1 where a pair may not, 3 where the worst answer is "cannot say"."""
    codes = {_EXITS[answer.verdict] for answer in answers}
    return next((code for code in (EXIT_NO, EXIT_CANNOT_SAY) if code in codes), EXIT_YES)
