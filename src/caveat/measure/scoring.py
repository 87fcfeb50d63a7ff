"""Scores of one answer against its reference, in percent: ROUGE and exact match. A table of scores, one line each.

ROUGE is that of rouge-score, the package behind `evaluate`, with the Porter stemmer on, as the accuracy scripts of
MLPerf's language benchmarks call it; its tokenizer keeps a-z and 0-9 only, so text in other scripts scores 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from caveat.errors import UsageError

MOST_CELLS = 4_000_000
"""Words of the answer times words of the reference, at most, for rougeLsum: its tables have as many cells, and a server
that answers without end must not hold up the scoring."""
_LONGEST_PATTERN = 500

Scorer = Callable[[str, str], float | None]
"""Answer and reference to percent; None where the pair is too long to be scored."""


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """One score: its name in thresholds, the key of its metric, and which of rouge-score's types it is, if any."""

    name: str
    metric: str
    rouge: str = ""
    punkt: bool = False


KINDS: tuple[ScoreKind, ...] = (
    ScoreKind("rouge1", "caveat-rouge1.mean", "rouge1"),
    ScoreKind("rouge2", "caveat-rouge2.mean", "rouge2"),
    ScoreKind("rougeL", "caveat-rouge-l.mean", "rougeL"),
    ScoreKind("rougeLsum", "caveat-rouge-lsum-lines.mean", "rougeLsum"),
    ScoreKind("rougeLsum-punkt", "caveat-rouge-lsum-punkt.mean", "rougeLsum", punkt=True),
    ScoreKind("exact_match", "caveat-exact-match.mean"),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def kind_named(name: str) -> ScoreKind:
    """The score of that name; `exact-match` and `ROUGE1` are understood. UsageError names those there are."""
    plain = name.strip().replace("exact-match", "exact_match").casefold()
    for kind in KINDS:
        if kind.name.casefold() == plain:
            return kind
    raise UsageError(f"score: found {name[:60]!r}, expected one of {', '.join(BY_NAME)}")


def scorer(kind: ScoreKind, pattern: str | None = None) -> Scorer:
    """The function that scores one pair. UsageError where its package or data is missing, or the pattern is none."""
    if not kind.rouge:
        return _exact_match(pattern)
    return _rouge(kind)


def _rouge(kind: ScoreKind) -> Scorer:
    """The F-measure of one of rouge-score's types. Of rougeL the package gives the words only."""
    words = _tokenizer()
    if kind.rouge == "rougeL":
        return lambda answer, reference: _rouge_l(words.tokenize(answer.strip()), words.tokenize(reference.strip()))
    rouge = _rouge_scorer(kind.rouge, words)
    split = _punkt() if kind.punkt else None
    has_table = kind.rouge == "rougeLsum"

    def score(answer: str, reference: str) -> float | None:
        answer, reference = answer.strip(), reference.strip()
        if has_table and rouge_words(answer) * rouge_words(reference) > MOST_CELLS:
            return None
        if split is not None:
            answer, reference = "\n".join(split(answer)), "\n".join(split(reference))
        return 100.0 * float(rouge.score(reference, answer)[kind.rouge].fmeasure)

    return score


def _rouge_l(answer: Sequence[str], reference: Sequence[str]) -> float:
    """The F-measure of the longest common subsequence: twice its length over both lengths.

    The package fills a table for each pair, 30 ms for two texts of 300 words and a quarter of an hour for a data set
    of 25,000; the bits of two integers do the same in 0.2 ms. tests/measure/test_scoring.py holds it to the package.
    """
    return 200.0 * subsequence(reference, answer) / (len(answer) + len(reference)) if answer and reference else 0.0


def subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyro 2004): a row of the table is an integer."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    row = whole = (1 << len(one)) - 1
    for word in other:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & whole
    return len(one) - row.bit_count()


_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE | re.ASCII)


def rouge_words(text: str) -> int:
    """Words as rouge-score counts them, without making them all."""
    return sum(1 for _ in _WORD.finditer(text))


class _Words:
    """rouge-score's own tokenizer with its stemmer, each word stemmed once and each text cut once for all scores."""

    def __init__(self, tokenize: Any, stem: Callable[[str], str]) -> None:
        self._tokenize = tokenize
        self.stem = lru_cache(maxsize=1 << 16)(stem)
        self.tokenize = lru_cache(maxsize=8)(self._cut)

    def _cut(self, text: str) -> list[str]:
        words: list[str] = self._tokenize(text, self)
        return words


@lru_cache(maxsize=1)
def _tokenizer() -> _Words:
    try:
        from nltk.stem.porter import PorterStemmer
        from rouge_score.tokenize import tokenize
    except ImportError as error:
        raise UsageError(
            "accuracy: the package `rouge-score` is missing", next="pip install 'caveat[mlperf]'"
        ) from error
    return _Words(tokenize, PorterStemmer().stem)


def _rouge_scorer(kind: str, words: _Words) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], tokenizer=words)


def _punkt() -> Callable[[str], Sequence[str]]:
    """NLTK's sentence splitter, whose data is not part of the package and is never fetched by caveat."""
    import nltk

    if not can_split_sentences():
        raise UsageError(
            "rougeLsum-punkt: the data of NLTK's sentence splitter is missing",
            next="python -m nltk.downloader punkt_tab, or score rougeLsum, which takes lines for sentences",
        )
    split: Callable[[str], Sequence[str]] = nltk.sent_tokenize
    return split


def can_split_sentences() -> bool:
    """Whether rougeLsum-punkt can be scored on this machine."""
    try:
        import nltk

        nltk.sent_tokenize("One. Two.")
    except (ImportError, LookupError):
        return False
    return True


def _exact_match(pattern: str | None) -> Scorer:
    picks = _compiled(pattern) if pattern is not None else None

    def score(answer: str, reference: str) -> float:
        if picks is not None:
            picked = _picked(picks, answer)
            if picked is None:
                return 0.0  # nothing in the answer looks like one
            wanted = _picked(picks, reference)
            answer, reference = picked, reference if wanted is None else wanted
        return 100.0 * (normal_text(answer) == normal_text(reference))

    return score


def _compiled(pattern: str) -> re.Pattern[str]:
    if not pattern or len(pattern) > _LONGEST_PATTERN:
        raise UsageError(f"pattern: found {len(pattern)} characters, expected 1 to {_LONGEST_PATTERN}")
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"pattern: found {pattern[:60]!r}, expected a regular expression: {error}") from error
    if found.groups > 1:
        raise UsageError(f"pattern: found {found.groups} groups, expected none or one around what is to be compared")
    return found


def _picked(pattern: re.Pattern[str], text: str) -> str | None:
    """The group of the last match, or the match where there is no group; None where nothing matches."""
    matches = deque(pattern.finditer(text), maxlen=1)
    return matches[0][pattern.groups] if matches else None


def normal_text(text: str) -> str:
    """A text as exact match compares it: NFKC, case folded, runs of white space one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
