"""token_check: counts of a server against the texts that it sent."""

import re

import pytest

from caveat.measure.token_check import Logged, token_checks


def ends(text):
    """Words with the blank before them are the tokens."""
    return [found.end() for found in re.finditer(r"\s*\S+", text)]


def logged(usage, first="alpha", text="alpha beta gamma", times=20):
    return [Logged(text, first, usage)] * times


def outcomes(answers):
    return [check.outcome for check in token_checks(answers, ends)]


@pytest.mark.parametrize(("usage", "verdict"), [(3, "pass"), (4, "pass"), (5, "fail"), (2, "fail"), (None, "unknown")])
def test_the_count_is_that_of_the_text_or_one_end_token_more(usage, verdict):
    """Two tokens that nobody can read, or one that was read and not counted, are found."""
    assert outcomes(logged(usage))[0] == verdict


def test_a_text_may_be_cut_otherwise_in_a_twentieth_of_the_answers():
    """One of twenty is no finding, two are; the sentence has the counts."""
    assert outcomes(logged(3, times=19) + logged(6, times=1))[0] == "pass"
    (found, _) = token_checks(logged(3, times=18) + logged(6, times=1) + logged(1, times=1), ends)
    assert found.outcome == "fail"
    assert found.sentence == (
        "Of 20 answers, the server counts as many tokens as their text has in 18, one more (an end token) in 0, more "
        "than one too many in 1, too few in 1; 5% may be cut otherwise."
    )


@pytest.mark.parametrize(
    ("first", "verdict"), [("alpha", ["pass"]), ("alpha beta", ["pass"]), ("al", ["fail"]), (None, []), ("", [])]
)
def test_the_first_delta_holds_whole_tokens(first, verdict):
    """A scrap that is sent ahead makes a time to first token that no token had; without a stream there is no entry."""
    assert outcomes(logged(3, first))[1:] == verdict


@pytest.mark.parametrize(
    ("answers", "how", "reason"), [(logged(3), None, "no tokenizer file"), ([], ends, "no answer")]
)
def test_what_cannot_be_tested_is_unknown_with_its_reason(answers, how, reason):
    """Never a pass."""
    (found,) = token_checks(answers, how)
    assert (found.aspect, found.outcome) == ("consistency", "unknown")
    assert reason in found.sentence
