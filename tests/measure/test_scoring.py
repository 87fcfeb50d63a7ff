"""scoring: one answer against its reference, by the package of the field and by the letter."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from caveat.errors import UsageError
from caveat.figures import METRICS
from caveat.measure.scoring import KINDS, MOST_CELLS, kind_named, normal_text, scorer, subsequence

WORDS = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e", "cat", "cats", "running", "ran"]), min_size=1, max_size=12
).map(" ".join)


def score(name, answer, reference, pattern=None):
    return scorer(kind_named(name), pattern)(answer, reference)


def test_every_score_is_a_metric_in_percent():
    """The table and the definitions belong together."""
    assert [METRICS[kind.metric].unit for kind in KINDS] == ["%"] * len(KINDS)


@pytest.mark.parametrize(
    ("name", "answer", "percent"),
    [
        # three of four words and three of five: P 3/4, R 3/5
        ("rouge1", "the cat sat down", 100 * 2 * 0.75 * 0.6 / 1.35),
        # pairs: "the cat", "cat sat" of three and of four
        ("rouge2", "the cat sat down", 100 * 2 * (2 / 3) * 0.5 / (2 / 3 + 0.5)),
        ("rougeL", "the cat sat down", 100 * 2 * 0.75 * 0.6 / 1.35),
        ("rougeL", "mats on sat cat the", 20.0),  # the same words backwards have one word in order
        ("rouge1", "mats on sat cat the", 100.0),
        ("rouge1", "", 0.0),
        ("rouge1", "δέλτα", 0.0),
    ],
)
def test_rouge_by_hand(name, answer, percent):
    """The F-measure of Lin (2004), computed on paper; mats and mat have one stem."""
    assert score(name, answer, "the cat sat on mat") == pytest.approx(percent)


def test_the_stemmer_is_on():
    """As in the accuracy scripts of the suite: "running" and "runs" are one word."""
    assert score("rouge1", "Running!", "runs") == pytest.approx(100)


def test_rouge_lsum_takes_lines_for_sentences():
    """Two sentences in the other order lose nothing when each has its line, and do when they stand in one."""
    reference, answer = "alpha beta\ngamma delta", "gamma delta\nalpha beta"
    assert score("rougeLsum", answer, reference) == pytest.approx(100)
    assert score("rougeLsum", answer.replace("\n", " "), reference.replace("\n", " ")) == pytest.approx(50)


def test_the_splitter_of_sentences_is_asked_for_by_name_or_refused(monkeypatch):
    """Its data is not part of the package: the refusal says how to get it, and nothing is fetched."""
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk, "sent_tokenize", lambda text: text.replace(". ", ".\n").split("\n"))
    assert score("rougeLsum-punkt", "Gamma delta. Alpha beta.", "Alpha beta. Gamma delta.") == pytest.approx(100)

    def missing(text):
        raise LookupError("punkt_tab")

    monkeypatch.setattr(nltk, "sent_tokenize", missing)
    with pytest.raises(UsageError, match="missing") as caught:
        scorer(kind_named("rougeLsum-punkt"))
    assert "punkt_tab" in caught.value.next


def test_a_pair_whose_table_would_not_end_is_not_scored():
    """A server that answers without end gets None from the scores that need a table, and a number from the others."""
    reference = "word " * 100
    answer = "other " * (MOST_CELLS // 100 + 1)
    assert score("rougeLsum", answer, reference) is None
    assert score("rouge1", answer, reference) == score("rougeL", answer, reference) == 0.0


@given(WORDS, WORDS)
def test_a_score_lies_between_0_and_100_and_a_text_matches_itself(answer, reference):
    """Also the two that are equal; ROUGE-2 needs two words."""
    for name in ("rouge1", "rougeL", "rougeLsum", "exact_match"):
        assert 0 <= score(name, answer, reference) <= 100
        assert score(name, reference, reference) == pytest.approx(100)
    same = score("rouge2", reference, reference)
    assert math.isclose(same, 100 if len(reference.split()) > 1 else 0, abs_tol=1e-9)


@given(WORDS, WORDS)
def test_scores_are_those_of_the_package(answer, reference):
    """To the last bit but one, also where a word is stemmed once for all texts and rougeL has no table."""
    names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    expected = RougeScorer(names, use_stemmer=True).score(reference, answer)
    for name in names:
        assert score(name, answer, reference) == pytest.approx(100 * expected[name].fmeasure, abs=1e-9)


@given(st.lists(st.integers(0, 3), max_size=80), st.lists(st.integers(0, 3), max_size=80))
def test_the_longest_common_subsequence_is_that_of_the_table(one, other):
    """Against the recurrence that every textbook has."""
    above = [0] * (len(other) + 1)
    for a in one:
        row = [0]
        for place, b in enumerate(other):
            row.append(above[place] + 1 if a == b else max(above[place + 1], row[-1]))
        above = row
    assert subsequence(list(map(str, one)), list(map(str, other))) == above[-1]


@pytest.mark.parametrize(
    ("answer", "reference", "same"),
    [
        ("  The\n answer ", "the answer", True),
        ("ﬁne", "fine", True),  # one ligature
        ("Straße", "STRASSE", True),
        ("the answer.", "the answer", False),
        ("", "the answer", False),
    ],
)
def test_exact_match_looks_over_blanks_case_and_width_and_nothing_else(answer, reference, same):
    """What is looked over stands in the definition of the metric."""
    assert score("exact_match", answer, reference) == 100 * same
    assert normal_text(answer) == normal_text(answer.upper().lower()) or answer == "ﬁne"


@pytest.mark.parametrize(
    ("answer", "percent"),
    [("so 7 is it. #### 12", 100), ("#### 7, no: #### 12", 100), ("12", 0), ("#### 13", 0)],
)
def test_a_pattern_picks_the_last_match_of_answer_and_reference(answer, percent):
    """An answer in which nothing matches is wrong, even if it is the reference to the letter."""
    assert score("exact_match", answer, "6 + 6. #### 12", r"#### (\d+)") == percent
    assert score("exact_match", answer, "12", r"#### (\d+)") == percent


@pytest.mark.parametrize("pattern", ["", "(", "(a)(b)", "a" * 501])
def test_a_pattern_that_is_none_is_refused(pattern):
    """Before anything is sent."""
    with pytest.raises(UsageError, match="pattern: found"):
        scorer(kind_named("exact_match"), pattern)


def test_an_unknown_score_is_refused_with_those_there_are():
    """And two spellings are understood."""
    assert (kind_named("ROUGE1").name, kind_named("exact-match").name) == ("rouge1", "exact_match")
    with pytest.raises(UsageError, match=r"'bleu'.*rouge1, rouge2"):
        kind_named("bleu")
