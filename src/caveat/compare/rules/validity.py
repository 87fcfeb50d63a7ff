"""Rule: both runs are valid for the metric in question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from caveat.compare.finding import Finding
from caveat.compare.reading import plain
from caveat.figures import Check, Figure

RULE = "validity"

# These failures say that sources or schedules differ, not that the run broke a rule.
_CONTESTED = frozenset({"sources agree", "schedule"})


def validity(left: Figure, right: Figure) -> Iterator[Finding]:
    """An invalid run is not compared with anything.

    ## What it asks

    Of all that could make a figure untrue (harness verdict, limits, early stopping, duration, queries, errors,
    output length, accuracy, client health, cache state, consistency), nothing failed for this metric on either
    side.

    ## Why

    A run that missed its limits or cut its outputs short did less than was asked; its rate is a rate of
    something else. Validity is a vector: an error may concern one metric of a run and leave the others good.

    ## What to do instead

    Take a valid run of the system. `caveat show ID` lists the entries with their sentences.

    ## Undisclosed

    An entry that could not be judged, or a run with no entry at all, gives a caveat. Publication counts: a
    result that passed review is taken as valid although its log was not seen. Sources that disagree and
    schedules that were not reproduced give a caveat, not a refusal.

    ## Source

    MLCommons, inference rules and submission checker; results messaging guidelines: results comply with the
    rules.
    """
    (mine, left_text), (theirs, right_text) = _judged(left), _judged(right)
    if mine == theirs == "pass":
        return
    failed = "fail" in (mine, theirs)
    word = "A run is not valid" if failed else "Validity is not known in full"
    yield Finding(
        rule=RULE,
        severity="not-comparable" if failed else "comparable-with-caveats",
        message=f"{word}: {left_text} on the left, {right_text} on the right.",
        left=left_text,
        right=right_text,
        remedy="take a valid run of the system" if failed else "import the logs of the runs, which hold the verdicts",
    )


def _judged(figure: Figure) -> tuple[Literal["pass", "unknown", "fail"], str]:
    entries = figure.validity
    failed = [entry for entry in entries if entry.outcome == "fail" and entry.aspect not in _CONTESTED]
    if failed:
        return "fail", f"failed ({_list(failed)})"
    doubtful = [entry for entry in entries if entry.outcome in ("fail", "unknown") and entry.aspect != "review"]
    if doubtful:
        return "unknown", f"in doubt ({_list(doubtful)})"
    passed = [entry.aspect for entry in entries if entry.outcome == "pass"]
    if not passed:
        return "unknown", "nothing recorded"
    return "pass", "reviewed, log not seen" if passed == ["review"] else "passed"


def _list(entries: list[Check]) -> str:
    return plain("; ".join(f"{e.aspect}: {e.sentence}" if e.sentence else e.aspect for e in entries))
