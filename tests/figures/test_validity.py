"""validity: the vector, and what it says about one metric."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import DocumentError
from caveat.figures import ASPECTS, Check, concerning, outcome
from tests.strategies import OUTCOMES, checks

TTFT, TPOT = "loadgen-ttft.p99", "loadgen-tpot.p99"


@pytest.mark.parametrize(
    ("entries", "worst"),
    [
        ([], "unknown"),
        (["not applicable"], "unknown"),
        (["pass"], "pass"),
        (["pass", "not applicable"], "pass"),
        (["pass", "unknown"], "unknown"),
        (["unknown", "fail", "pass"], "fail"),
        (["fail", "not applicable"], "fail"),
    ],
)
def test_the_outcome_is_the_worst_entry_and_nothing_known_is_unknown(entries, worst):
    """fail is worse than unknown, unknown worse than pass; what does not apply says nothing."""
    assert outcome([Check(aspect="review", outcome=entry) for entry in entries], TTFT) == worst


def test_an_entry_about_one_metric_leaves_the_others_alone():
    """A log error about TTFT does not make the rate untrue."""
    failed = Check(aspect="early stopping (TTFT)", outcome="fail", metrics=(TTFT,))
    review = Check(aspect="review", outcome="pass")
    assert (outcome((failed, review), TTFT), outcome((failed, review), TPOT)) == ("fail", "pass")
    assert concerning((failed, review), TPOT) == (review,)


@given(st.lists(checks(), max_size=6), st.lists(checks(), max_size=6))
def test_more_entries_never_make_a_known_outcome_better(some, more):
    """Only from nothing known can it rise; otherwise each entry can only lower it."""
    order = ("fail", "unknown", "pass")
    before, after = outcome(some, TTFT), outcome([*some, *more], TTFT)
    says_something = any(entry.outcome != "not applicable" for entry in concerning(some, TTFT))
    assert not says_something or order.index(after) <= order.index(before)


@given(st.lists(checks(), max_size=6), st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order(entries, random):
    """A vector, not a sequence."""
    shuffled = list(entries)
    random.shuffle(shuffled)
    assert outcome(shuffled, TTFT) == outcome(entries, TTFT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"aspect": "vibes"}, "validity: found aspect 'vibes', expected one of harness verdict"),
        (
            {"outcome": "passed"},
            "validity: review: found 'passed', expected one of pass, fail, unknown, not applicable",
        ),
        ({"metrics": ("ttft",)}, "validity: review: found metric 'ttft', expected the key of a defined metric"),
    ],
)
def test_an_entry_outside_its_tables_is_refused(changes, message):
    """The error says what was found and what was expected."""
    with pytest.raises(DocumentError, match="^" + message.replace("(", r"\(")):
        Check(**{"aspect": "review", "outcome": "pass", **changes})


def test_every_aspect_says_what_it_asks():
    """A line without a meaning helps nobody."""
    assert all(meaning for meaning in ASPECTS.values())
    assert set(OUTCOMES) == {"pass", "fail", "unknown", "not applicable"}
