"""How rules read two figures: a condition on both sides, text that is safe to show, and what kind of result each is."""

from __future__ import annotations

from typing import Literal

from caveat.compare.finding import Finding, Severity
from caveat.figures import Figure, Value, close

Relation = Literal["equal", "different", "undisclosed", "not asked"]

_LONGEST = 160  # characters of a foreign text that a finding quotes
_PLURAL = frozenset({"accelerators", "arrivals", "input_tokens", "nodes", "output_tokens", "queries", "sessions"})


def plain(text: str) -> str:
    """The text on one line, without characters that steer a terminal or a text direction, cut to a readable length."""
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def shown(figure: Figure, key: str) -> str:
    """One condition of a figure as text, or the word for its absence."""
    return plain(figure.conditions.text(key))


def is_mlperf(figure: Figure) -> bool:
    """Whether the figure says that it belongs to a suite of MLCommons' benchmarks."""
    return (figure.conditions.words("suite") or "").casefold().startswith("mlperf")


def is_published(figure: Figure) -> bool:
    """Whether the figure is a submission to such a suite that passed its review."""
    return is_mlperf(figure) and figure.conditions.words("review") == "reviewed"


def same(one: Value, other: Value) -> bool:
    """Whether two values of a condition say the same: texts by words, numbers within the rounding of tables."""
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    if isinstance(one, int | float) and isinstance(other, int | float):
        return close(float(one), float(other))
    return one == other


def relation(left: Figure, right: Figure, key: str) -> Relation:
    """How two figures stand to each other in one condition.

    "not asked" is the answer where neither knows the condition and neither belongs to a suite that fixes it: a
    run of one's own has no round, and that is no gap. Not applicable beside known is different.
    """
    one, other = left.conditions.get(key), right.conditions.get(key)
    if one is not None and other is not None:
        return "equal" if same(one, other) else "different"
    if one is None and other is None and not (is_mlperf(left) or is_mlperf(right)):
        return "not asked"
    states = {left.conditions.state(key), right.conditions.state(key)}
    if "undisclosed" in states:
        return "undisclosed"
    return "equal" if states == {"not applicable"} else "different"


def objection(
    rule: str, severity: Severity, left: Figure, right: Figure, key: str, *, why: str, remedy: str = ""
) -> Finding:
    """The finding about one condition on both sides. `why` is the sentence that follows the values."""
    mine, theirs = shown(left, key), shown(right, key)
    return Finding(
        rule=rule,
        severity=severity,
        message=f"The {key.replace('_', ' ')} {_statement(left, right, key, mine, theirs)}. {why}",
        left=mine,
        right=theirs,
        remedy=remedy or ask_for(left, right, key),
    )


def _statement(left: Figure, right: Figure, key: str, mine: str, theirs: str) -> str:
    be = "are" if key in _PLURAL else "is"
    if "undisclosed" in (left.conditions.state(key), right.conditions.state(key)):
        return f"{be} not known on both sides: {mine} on the left, {theirs} on the right"
    if relation(left, right, key) == "different":
        return f"{'differ' if key in _PLURAL else 'differs'}: {mine} on the left, {theirs} on the right"
    return f"{be} {mine} on both sides"


def ask_for(left: Figure, right: Figure, key: str) -> str:
    """The way out of an undisclosed condition: a richer source, or a question to whoever gave the number."""
    missing = [side.short_id for side in (left, right) if side.conditions.state(key) == "undisclosed"]
    asked = missing or [left.short_id, right.short_id]
    questions = " and ".join(f"caveat ask {name}" for name in dict.fromkeys(asked))
    return f"import the log or the system description that states {key}, or put the question: {questions}"
