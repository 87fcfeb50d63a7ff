"""Accuracy: answers of one run over a data set against its references, and whether that is what was demanded.

Pure: texts and counts in, scores with intervals, sentences and validity entries out. A row that has no answer scores
0 and is counted; it never disappears from a mean. What is measured here is nobody's official accuracy run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.errors import CannotSayError, InputError
from caveat.figures import Check, Outcome, Row, Spread
from caveat.measure.blocks import FEWEST_EFFECTIVE, RESAMPLES
from caveat.measure.columns import Floats
from caveat.measure.demands import Demands, Threshold
from caveat.measure.intervals import bootstrap_ends, wilson
from caveat.measure.scoring import ScoreKind, kind_named, rouge_words, scorer
from caveat.units import format_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One row of the data set after the run. `answer` is None where the request failed or its answer was not kept.

    `reference` is None where the row has none: it is not scored. `tokens` is the length of the answer by the one
    who counts, None where nobody did.
    """

    id: str
    answer: str | None
    reference: str | None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The mean of one score over `n` rows, in percent.

    `at_best` is what it would be if every row that has no answer, or one too long to be scored, were right.
    """

    kind: ScoreKind
    value: float
    n: int
    at_best: float
    low: float | None = None
    high: float | None = None
    method: str = ""
    too_long: int = 0

    def row(self) -> Row:
        """As a row of a Run."""
        spread = None
        if self.low is not None and self.high is not None:
            spread = Spread(low=self.low, high=self.high, method=self.method)
        notes = (f"{self.too_long:,} answers were too long to be scored and count 0",) if self.too_long else ()
        return Row(metric=self.kind.metric, value=self.value, n=self.n, spread=spread, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyResult:
    """What an accuracy run showed.

    rows, scored, missing   rows of the data set; those with a reference; those of them that have no answer
    tokens_per_sample       mean length of the answers that were counted, `counted` of them; None where none was
    lines                   one sentence a demand, in the order of the demands
    checks                  validity entries: "accuracy" always, "output length" where a range was demanded
    """

    rows: int
    scored: int
    missing: int
    scores: tuple[Score, ...]
    tokens_per_sample: float | None
    counted: int
    lines: tuple[str, ...]
    checks: tuple[Check, ...]

    def score(self, name: str) -> Score | None:
        """The score of that name, where it was asked for."""
        return next((one for one in self.scores if one.kind.name == name), None)


def judge(
    rows: Sequence[Answered],
    scores: Sequence[str],
    demands: Demands,
    rng: np.random.Generator,
    *,
    pattern: str | None = None,
    confidence: float = 0.95,
) -> AccuracyResult:
    """Score every row that has a reference, and say whether the demands were met.

    `scores` are names of scoring.KINDS; `rng` makes the bootstrap; `pattern` picks what exact match compares.
    Raises InputError for ids that occur twice and references without a word, CannotSayError where no row has one.
    """
    check_rows(rows, scores)
    kinds = [kind_named(name) for name in dict.fromkeys(scores)]
    pairs = [row for row in rows if row.reference is not None]
    answered = np.array([row.answer is not None for row in pairs])
    tables = _tables(kinds, pairs, pattern)
    found = tuple(_estimates(tables, answered, rng, confidence))
    lengths = [row.tokens for row in rows if row.answer is not None and row.tokens is not None]
    mean = sum(lengths) / len(lengths) if lengths else None
    verdicts = [_verdict(one, found) for one in demands.thresholds]
    unscored = len(rows) - len(pairs)
    return AccuracyResult(
        rows=len(rows),
        scored=len(pairs),
        missing=int((~answered).sum()),
        scores=found,
        tokens_per_sample=mean,
        counted=len(lengths),
        lines=tuple(line for _, line in verdicts),
        checks=(
            _accuracy_check(verdicts, found, len(pairs), int((~answered).sum()), unscored),
            *_length_check(mean, len(lengths), int(sum(row.answer is not None for row in rows)), demands),
        ),
    )


def check_rows(rows: Sequence[Answered], scores: Sequence[str]) -> None:
    """Whether these rows can be scored, also before anything was asked. Raises what `judge` raises."""
    sees_latin = any(kind_named(name).rouge for name in scores)
    for name, times in Counter(row.id for row in rows).items():
        if times > 1:
            raise InputError(f"data set: found the id {name[:60]!r} {times} times, expected each once")
    for row in rows:
        if row.reference is not None and not row.reference.strip():
            raise InputError(
                f"data set: row {row.id[:60]!r}: found a reference without a word, expected a text",
                next="leave the reference out where there is none: such a row is asked and not scored",
            )
        if row.reference is not None and sees_latin and not rouge_words(row.reference):
            raise InputError(
                f"data set: row {row.id[:60]!r}: found a reference without a-z and 0-9, of which ROUGE sees no word",
                next="score exact_match instead",
            )
    if all(row.reference is None for row in rows):
        raise CannotSayError("accuracy: no row of the data set has a reference", next="add a reference to each row")


@dataclass(frozen=True, slots=True)
class _Table:
    """One score of every pair, 0 where there is no answer or it is too long."""

    kind: ScoreKind
    values: Floats
    too_long: int


def _tables(kinds: Sequence[ScoreKind], pairs: Sequence[Answered], pattern: str | None) -> list[_Table]:
    """All scores of one pair after the other: its texts are cut into words once."""
    of_pair = [scorer(kind, pattern) for kind in kinds]
    values, too_long = np.zeros((len(kinds), len(pairs))), [0] * len(kinds)
    for place, row in enumerate(pairs):
        if row.answer is None or row.reference is None:
            continue
        for score, of in enumerate(of_pair):
            value = of(row.answer, row.reference)
            too_long[score] += value is None
            values[score, place] = value or 0.0
    return [_Table(*one) for one in zip(kinds, values, too_long, strict=True)]


def _estimates(
    tables: Sequence[_Table], answered: np.ndarray, rng: np.random.Generator, confidence: float
) -> Iterator[Score]:
    """Means with intervals. Rows are independent of each other, so they are resampled one by one, for all scores alike.

    Exact match is a share and has Wilson's interval: resampling rows that are all right would claim certainty.
    """
    if not tables:
        return
    n = len(answered)
    means = _resampled(np.column_stack([one.values for one in tables]), rng) if n >= FEWEST_EFFECTIVE else None
    percent = f"{100 * confidence:.4g} %"
    for place, one in enumerate(tables):
        value = float(one.values.mean())
        low = high = None
        method = ""
        if not one.kind.rouge:
            low, high = (100 * end for end in wilson(value / 100, n, confidence))
            method = f"{percent}, Wilson; {n:,} rows"
        elif means is not None:
            low, high = bootstrap_ends(means[:, place], value, confidence, n)
            low, high, method = max(0.0, low), min(100.0, high), f"{percent}, bootstrap of {n:,} rows"
        unjudged = int((~answered).sum()) + one.too_long
        yield Score(
            kind=one.kind,
            value=value,
            n=n,
            at_best=value + 100 * unjudged / n,
            low=low,
            high=high,
            method=method,
            too_long=one.too_long,
        )


def _resampled(values: Floats, rng: np.random.Generator) -> Floats:
    """Means of resampled rows, one resample at a time: a whole data set of them would not fit into memory."""
    n = len(values)
    return np.array([values[rng.integers(0, n, n)].mean(axis=0) for _ in range(RESAMPLES)])


def _verdict(demand: Threshold, scores: Sequence[Score]) -> tuple[Outcome, str]:
    """Whether one demand was met, and the sentence about it. It is missed where no missing answer could save it."""
    score = next((one for one in scores if one.kind.name == demand.score), None)
    least = f"{format_number(demand.at_least)} % demanded ({demand.source})"
    if score is None:
        why = " (NLTK's sentence splitter has no data here)" if demand.score == "rougeLsum-punkt" else ""
        return "unknown", f"{demand.score}: not scored here{why}; {least}."
    said = f"{demand.score}: {format_number(score.value)} %, {least}"
    if score.value >= demand.at_least:
        return "pass", f"{said}: reached{_near(demand, score)}."
    if score.at_best >= demand.at_least:
        best = f"the answers that are missing could make it {format_number(score.at_best)} %"
        return "unknown", f"{said}: not reached, but {best}."
    return "fail", f"{said}: not reached{_near(demand, score)}."


def _near(demand: Threshold, score: Score) -> str:
    """Whether other rows of the same kind could have decided otherwise."""
    if score.low is None or score.high is None or not score.low < demand.at_least <= score.high:
        return ""
    return f", though the interval {format_number(score.low)} to {format_number(score.high)} holds both answers"


def _accuracy_check(
    verdicts: Sequence[tuple[Outcome, str]], scores: Sequence[Score], scored: int, missing: int, unscored: int
) -> Check:
    outcomes = {outcome for outcome, _ in verdicts}
    outcome: Outcome = "fail" if "fail" in outcomes else "pass" if outcomes == {"pass"} else "unknown"
    parts = [line for _, line in verdicts] or [f"{_all(scores)}; no threshold was given, so none was reached."]
    parts.append(f"{scored:,} rows were scored")
    parts[-1] += f", {missing:,} of them without an answer count 0" if missing else ""
    parts[-1] += f"; {unscored:,} rows have no reference" if unscored else ""
    return Check(aspect="accuracy", outcome=outcome, sentence=f"{' '.join(parts)}.")


def _all(scores: Sequence[Score]) -> str:
    return ", ".join(f"{one.kind.name} {format_number(one.value)} %" for one in scores) or "nothing was scored"


def _length_check(mean: float | None, counted: int, answers: int, demands: Demands) -> Iterator[Check]:
    if demands.tokens_range is None:
        return
    low, high = demands.tokens_range
    asked = f"{format_number(low)} to {format_number(high)} asked ({demands.tokens_source})"
    if mean is None or counted < answers:
        sentence = f"{answers - counted:,} of {answers:,} answers have no count of tokens; {asked}."
        yield Check(aspect="output length", outcome="unknown", sentence=sentence)
        return
    sentence = f"{format_number(mean)} tokens/sample over {counted:,} answers, {asked}."
    yield Check(aspect="output length", outcome="pass" if low <= mean <= high else "fail", sentence=sentence)


def accuracy_conditions(result: AccuracyResult, demands: Demands) -> dict[str, dict[str, float] | float]:
    """The conditions `accuracy`, `accuracy_required` and `accuracy_tokens_per_sample`, as far as they are known."""
    reached = {one.kind.name: one.value for one in result.scores}
    required = {one.score: one.at_least for one in demands.thresholds}
    found: Mapping[str, dict[str, float] | float | None] = {
        "accuracy": reached or None,
        "accuracy_required": required or None,
        "accuracy_tokens_per_sample": result.tokens_per_sample,
    }
    return {key: value for key, value in found.items() if value is not None}


def unchecked(why: str = "") -> Check:
    """The entry of a throughput run whose accuracy nobody checked."""
    reason = why or "no accuracy run of this endpoint, model and decoding belongs to it"
    return Check(aspect="accuracy", outcome="unknown", sentence=f"Accuracy unchecked: {reason}.")
