"""Definitions of what an accuracy run gives: scores of answers against references, and how long the answers were.

Scores are in percent, as the field states them. metrics.py makes a metric of each line of `ACCURACY_DEFINITIONS`.
A score whose words or sentences are told apart differently is another definition and has another id.
"""

from __future__ import annotations

from caveat.figures.sample_metrics import SOURCES, Definition
from caveat.units import Unit

_ROWS = "every row of the data set that has a reference, once; a row without an answer scores 0"
_ROUGE = "of rouge-score 0.1 with Porter's stemmer; words are runs of a-z and 0-9 in lower case"


def _score(id: str, name: str, meaning: str) -> Definition:
    return Definition(
        id=id,
        name=name,
        statistics=("mean",),
        unit=Unit.PERCENT,
        window=_ROWS,
        meaning=meaning,
        better="higher",
    )


def _length(suffix: str, source: str) -> Definition:
    return Definition(
        id=f"caveat-accuracy-output-tokens-{suffix}",
        name="output_tokens",
        statistics=("mean",),
        unit=Unit.TOKENS_PER_SAMPLE,
        window="every row of the data set that was answered and counted",
        meaning="output tokens of one answer in the accuracy run",
        token_source=source,
        better="neither",
    )


ACCURACY_DEFINITIONS: tuple[Definition, ...] = (
    _score("caveat-rouge1", "rouge1", f"F-measure of shared words, {_ROUGE}"),
    _score("caveat-rouge2", "rouge2", f"F-measure of shared pairs of neighbouring words, {_ROUGE}"),
    _score("caveat-rouge-l", "rougeL", f"F-measure of the longest common subsequence of words, {_ROUGE}"),
    _score(
        "caveat-rouge-lsum-lines",
        "rougeLsum",
        f"F-measure of the common subsequences of sentences, {_ROUGE}; each line is taken for a sentence",
    ),
    _score(
        "caveat-rouge-lsum-punkt",
        "rougeLsum",
        f"F-measure of the common subsequences of sentences, {_ROUGE}; sentences by NLTK's English Punkt model",
    ),
    _score(
        "caveat-exact-match",
        "exact_match",
        "100 where answer and reference are the same text after NFKC, case folding and taking runs of white space "
        "for one space, else 0; with a pattern, its last match in each",
    ),
    *(_length(suffix, source) for suffix, source in SOURCES),
)
