"""Rule: two rounds of a suite are compatible for this benchmark."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding, Severity
from caveat.compare.pairs import benchmark_base
from caveat.compare.reading import objection, plain, relation, shown
from caveat.facts import COMPATIBILITY_AS_OF, compatible
from caveat.figures import Figure

RULE = "round"

_SEVERITY: dict[str, Severity] = {
    "yes": "comparable-with-caveats",
    "unknown": "unknown",
    "no": "not-comparable",
}


def round_compatibility(left: Figure, right: Figure) -> Iterator[Finding]:
    """Results of two rounds are compared only where the publisher lists the rounds as compatible.

    ## What it asks

    Both figures are of one round, or the dated compatibility table lists both rounds in one range for this
    model.

    ## Why

    Between rounds data sets, accuracy targets, metrics and checkers change. MLCommons publishes a table of
    ranges per model; caveat carries it with its date. A round newer than the table is not in it, and caveat
    does not guess.

    ## What to do instead

    Compare inside one round, or look for a newer table and update caveat.

    ## Undisclosed

    The answer is unknown, as it is for a round beyond the table beside another round, for a model that the
    table lacks, and for results of the edge category, whose rounds this table does not cover. One round beside
    itself is fine, whatever its age. Compatible but different rounds give a caveat, because the difference must
    be stated.

    ## Source

    MLCommons, compatibility table of 2026-04-28 (`caveat.facts.RANGES`), and results messaging guidelines:
    state every difference of version.
    """
    match relation(left, right, "round"):
        case "undisclosed":
            yield objection(RULE, "unknown", left, right, "round", why="Rules and data sets change between rounds.")
        case "different":
            yield from _looked_up(left, right)


def _looked_up(left: Figure, right: Figure) -> Iterator[Finding]:
    rounds = [side.conditions.words("round") for side in (left, right)]
    models = sorted({benchmark_base(name) for side in (left, right) if (name := _work(side))})
    if len(models) > 1:
        return  # the table has a row for one model; two benchmarks are refused by their own rule
    first, second = rounds
    if first is None or second is None:
        answer, reason = "no", "one figure belongs to a published round, the other to none"
    elif _only_edge(left) or _only_edge(right):
        answer = "unknown"
        reason = (
            f"the MLCommons compatibility table of {COMPATIBILITY_AS_OF} that caveat holds is of the datacenter suite"
        )
    else:
        found = compatible(models[0] if models else "an undisclosed benchmark", first, second)
        answer, reason = found.answer, found.reason
    yield objection(
        RULE,
        _SEVERITY[answer],
        left,
        right,
        "round",
        why=f"{_WORDS[answer]}: {plain(reason)}.",
        remedy=_REMEDY[answer].format(left=shown(left, "round"), right=shown(right, "round")),
    )


_WORDS = {
    "yes": "The rounds may be compared",
    "no": "The rounds are not compatible",
    "unknown": "It cannot be said whether the rounds are compatible",
}
_REMEDY = {
    "yes": "state both rounds ({left} and {right}) with the comparison",
    "no": "take both figures from one round: caveat figures --where round={left}",
    "unknown": "take both figures from one round, or update caveat when a table that covers {left} and {right} is out",
}


def _work(figure: Figure) -> str | None:
    return figure.conditions.words("benchmark") or figure.conditions.words("model")


def _only_edge(figure: Figure) -> bool:
    kind = figure.conditions.words("system_type")
    return kind is not None and "datacenter" not in kind.casefold()
