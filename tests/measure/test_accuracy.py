"""accuracy: scores of a data set with intervals, what was demanded of them, and what is missing."""

import numpy as np
import pytest

from caveat.errors import CannotSayError, InputError, UsageError
from caveat.measure.accuracy import Answered, accuracy_conditions, judge, unchecked
from caveat.measure.demands import Demands, Threshold, demands_of, parse_threshold

GOOD, BAD = "alpha beta gamma", "delta"


def rows(good, bad=0, missing=0, unscored=0, tokens=3):
    """So many rows that are right, wrong, without an answer, and without a reference."""
    answers = [GOOD] * good + [BAD] * bad + [None] * missing + [GOOD] * unscored
    references = [GOOD] * (good + bad + missing) + [None] * unscored
    pairs = enumerate(zip(answers, references, strict=True))
    return [Answered(id=str(n), answer=a, reference=r, tokens=None if a is None else tokens) for n, (a, r) in pairs]


def judged(given, *thresholds, scores=("rouge1", "exact_match"), seed=1, **demands):
    asked = Demands(thresholds=tuple(map(parse_threshold, thresholds)), **demands)
    return judge(given, scores, asked, np.random.default_rng(seed))


def entry(result, aspect="accuracy"):
    (one,) = [check for check in result.checks if check.aspect == aspect]
    return one


def test_a_mean_with_its_interval_and_the_verdicts_on_it():
    """Sixty rows right, twenty wrong: 75 %, resampled for ROUGE and by Wilson for exact match."""
    result = judged(rows(60, 20), "rouge1>=70", "exact_match>=80")
    rouge, exact = result.scores
    assert (rouge.value, exact.value, rouge.n, exact.n) == (75.0, 75.0, 80, 80)
    assert 60 < rouge.low < 70 < 80 < rouge.high < 90
    assert (exact.low, exact.high) == pytest.approx((64.5, 83.2), abs=0.1)
    assert result.lines == (
        "rouge1: 75 %, 70 % demanded (asked for by the user): reached, though the interval "
        f"{rouge.low:.4g} to {rouge.high:.4g} holds both answers.",
        "exact_match: 75 %, 80 % demanded (asked for by the user): not reached, though the interval 64.52 to 83.19 "
        "holds both answers.",
    )
    assert entry(result).outcome == "fail"
    assert entry(result).sentence == f"{' '.join(result.lines)} 80 rows were scored."


def test_the_same_seed_gives_the_same_interval():
    """Randomness is handed in."""
    words = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"]
    given = [Answered(id=str(n), answer=" ".join(words[: n % 8]), reference=" ".join(words)) for n in range(90)]
    assert judged(given, seed=4) == judged(given, seed=4)
    assert judged(given, seed=4).scores[0].low != judged(given, seed=5).scores[0].low


def test_the_bootstrap_covers_the_truth():
    """Of 30 data sets of 60 rows, half right on average, the 95 % interval holds the truth in 25 and more."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(30):
        good = int(rng.binomial(60, 0.5))
        (score,) = judge(rows(good, 60 - good), ["rouge1"], Demands(), rng).scores
        held += score.low <= 50 <= score.high
    assert held >= 25


def test_few_rows_have_a_mean_and_no_bootstrap():
    """Seven rows do not tell how rows vary; a share has its interval all the same."""
    rouge, exact = judged(rows(7)).scores
    assert (rouge.low, rouge.row().spread) == (None, None)
    assert exact.row().spread.low == pytest.approx(64.6, abs=0.1)


def test_rows_without_an_answer_count_0_and_are_said():
    """A pass in spite of them is a pass, a miss that they could not have saved is a miss; else nobody knows."""
    result = judged(rows(8, missing=2), "rouge1>=75")
    assert (result.missing, entry(result).outcome) == (2, "pass")
    assert "10 rows were scored, 2 of them without an answer count 0." in entry(result).sentence
    because = judged(rows(8, missing=2), "rouge1>=90")
    assert entry(because).outcome == "unknown"
    assert "not reached, but the answers that are missing could make it 100.0 %" in entry(because).sentence
    assert entry(judged(rows(6, bad=2, missing=2), "rouge1>=90")).outcome == "fail"


def test_rows_without_a_reference_are_counted_and_not_scored():
    """They are part of the run and of its lengths."""
    result = judged(rows(4, unscored=3), "exact_match>=100")
    assert (result.rows, result.scored, result.counted) == (7, 4, 7)
    assert "4 rows were scored; 3 rows have no reference." in entry(result).sentence


def test_without_a_threshold_nothing_was_reached():
    """The scores are said, and the entry is unknown."""
    found = entry(judged(rows(3, 1)))
    assert found.outcome == "unknown"
    assert found.sentence.startswith("rouge1 75 %, exact_match 75 %; no threshold was given")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([*rows(2), Answered(id="1", answer=GOOD, reference=GOOD)], InputError, "'1' 2 times"),
        ([Answered(id="a", answer=GOOD, reference=" \n")], InputError, "'a': found a reference without a word"),
        ([Answered(id="a", answer=GOOD, reference="δέλτα")], InputError, "ROUGE sees no word"),
        (rows(0, unscored=2), CannotSayError, "no row of the data set has a reference"),
        ([], CannotSayError, "no row"),
    ],
)
def test_a_data_set_that_cannot_be_scored_is_refused(given, error, words):
    """With the row and the way out, never with a zero."""
    with pytest.raises(error, match=words) as caught:
        judged(given)
    assert caught.value.next or "2 times" in words


def test_another_script_is_scored_by_exact_match():
    """ROUGE sees a-z and 0-9 only."""
    (score,) = judged([Answered(id="a", answer="Δέλτα", reference="δέλτα")], scores=["exact_match"]).scores
    assert score.value == 100


def test_an_answer_that_is_too_long_to_score_is_counted():
    """It scores 0, and the row of the figure says so."""
    endless = Answered(id="x", answer="word " * 50_000, reference="word " * 100)
    (score,) = judge([endless], ["rougeLsum"], Demands(), np.random.default_rng(1)).scores
    assert (score.value, score.too_long) == (0.0, 1)
    assert score.row().notes == ("1 answers were too long to be scored and count 0",)


@pytest.mark.parametrize(
    ("bounds", "tokens", "outcome"), [((2, 4), 3, "pass"), ((3.5, 4), 3, "fail"), ((2, 4), None, "unknown")]
)
def test_the_mean_output_length_lies_in_its_range_or_not(bounds, tokens, outcome):
    """Uncounted answers make it unknown, never zero tokens long."""
    found = entry(judged(rows(5, tokens=tokens), tokens_range=bounds), "output length")
    assert found.outcome == outcome
    assert ("3 tokens/sample over 5 answers" if tokens else "5 of 5 answers have no count") in found.sentence


def test_no_range_no_entry():
    """Nothing is demanded where nobody asked."""
    assert [check.aspect for check in judged(rows(2)).checks] == ["accuracy"]


def test_the_demands_of_a_benchmark_are_those_of_the_facts():
    """Reference score times factor, by the checker's key; a score that we do not compute alike stays unknown."""
    demands = demands_of("llama2-70b-99.9", "v5.1")
    assert {one.score: round(one.at_least, 3) for one in demands.thresholds} == {
        "rouge1": 44.387,
        "rouge2": 22.013,
        "rougeL": 28.588,
    }
    assert demands.tokens_range == (265.005, 323.895)
    other = demands_of("llama3.1-405b", "v6.0")
    result = judge(rows(3), ["rougeL", "exact_match"], other, np.random.default_rng(1))
    assert entry(result).outcome == "unknown"
    assert "exact_match of the suite: not scored here" in entry(result).sentence
    assert "not a result of the suite" in entry(result).sentence
    with pytest.raises(CannotSayError, match="'gpt-2'"):
        demands_of("gpt-2", "v5.1")


@pytest.mark.parametrize("text", ["rouge1>=38.4", " ROUGE1 >= 38.4 % "])
def test_a_threshold_is_read(text):
    """In percent, as the field writes them."""
    assert parse_threshold(text) == Threshold("rouge1", 38.4)


@pytest.mark.parametrize(
    "text", ["rouge1", "rouge1>38", "bleu>=3", "rouge1>=101", "rouge1>=-1", "rouge1>=nan", "x" * 999]
)
def test_another_text_is_no_threshold(text):
    """Refused with what is expected."""
    with pytest.raises(UsageError, match="expected"):
        parse_threshold(text)


def test_demands_that_contradict_each_other_are_refused():
    """One threshold a score, and a range from low to high."""
    with pytest.raises(UsageError, match="2 thresholds for rouge1"):
        Demands(thresholds=(Threshold("rouge1", 1.0), Threshold("rouge1", 2.0)))
    with pytest.raises(UsageError, match="lower and an upper"):
        Demands(tokens_range=(5.0, 4.0))


def test_what_becomes_conditions():
    """Reached, required and length, as far as they are known."""
    demands = Demands(thresholds=(Threshold("rouge1", 40.0),))
    result = judge(rows(4, tokens=None), ["rouge1"], demands, np.random.default_rng(1))
    assert accuracy_conditions(result, demands) == {
        "accuracy": {"rouge1": 100.0},
        "accuracy_required": {"rouge1": 40.0},
    }


def test_an_unchecked_accuracy_says_so():
    """In the words that the figure carries."""
    assert (unchecked().outcome, unchecked().sentence[:19]) == ("unknown", "Accuracy unchecked:")
