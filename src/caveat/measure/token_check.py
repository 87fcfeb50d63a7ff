"""Counts of tokens against the texts that were logged: what a server says it made, and what can be read.

In the manner of the suite's compliance test on token counts: the count is that of the text, the first delta is the
beginning of the answer, and there is at most one end token. A text can be cut into tokens in more ways than one, and
a server may have chosen another than the tokenizer does; so not every answer must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from caveat.figures import Check, Outcome

MOST_APART = 0.05  # share of answers that may be cut otherwise than the tokenizer cuts them
_METRICS = ("caveat-accuracy-output-tokens-usage.mean",)  # a score does not hang on who counts what

TokenEnds = Callable[[str], Sequence[int]]
"""Where each token of a text ends, in characters from its beginning."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One answer that was kept: its text, the first delta as it came (None where it was not streamed), the count."""

    text: str
    first: str | None
    tokens_usage: int | None


def token_checks(logged: Sequence[Logged], ends: TokenEnds | None) -> Iterator[Check]:
    """The entries for the answers of a run; "unknown" with the reason where they cannot be tested."""
    if ends is None:
        yield _unknown("no tokenizer file was given")
        return
    if not logged:
        yield _unknown("no answer was kept")
        return
    cuts = [ends(one.text) for one in logged]
    counted = [
        (one.tokens_usage, len(cut)) for one, cut in zip(logged, cuts, strict=True) if one.tokens_usage is not None
    ]
    yield _counts(counted) if counted else _unknown("the server counted no tokens")
    first = [(one.first, cut) for one, cut in zip(logged, cuts, strict=True) if one.first]
    if first:
        yield _beginnings(first)


def _check(outcome: Outcome, sentence: str) -> Check:
    return Check(aspect="consistency", outcome=outcome, sentence=sentence, metrics=_METRICS)


def _unknown(reason: str) -> Check:
    sentence = f"Whether the counts of tokens are those of the texts is unknown: {reason}."
    return _check("unknown", sentence)


def _counts(counted: Sequence[tuple[int, int]]) -> Check:
    """Usage against the text. One token more is an end token, which has no text."""
    same = sum(usage == own for usage, own in counted)
    ended = sum(usage == own + 1 for usage, own in counted)
    more = sum(usage > own + 1 for usage, own in counted)
    fewer = len(counted) - same - ended - more
    sentence = (
        f"Of {len(counted):,} answers, the server counts as many tokens as their text has in {same:,}, one more (an "
        f"end token) in {ended:,}, more than one too many in {more:,}, too few in {fewer:,}; {_allowed()}."
    )
    return _check(_outcome(more + fewer, len(counted)), sentence)


def _beginnings(first: Sequence[tuple[str, Sequence[int]]]) -> Check:
    """The first delta must hold whole tokens: a server that sends a scrap ahead looks faster than its first token."""
    scraps = sum(len(delta) not in cut for delta, cut in first)
    of = f"{scraps:,} of {len(first):,} streamed answers"
    sentence = f"The first delta of {of} ends inside a token of its text; {_allowed()}."
    return _check(_outcome(scraps, len(first)), sentence)


def _allowed() -> str:
    return f"{MOST_APART:.0%} may be cut otherwise"


def _outcome(wrong: int, of: int) -> Outcome:
    return "pass" if wrong <= MOST_APART * of else "fail"
