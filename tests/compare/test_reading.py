"""Reading two figures: how they stand in one condition, and text that is safe to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.reading import objection, plain, relation, same
from tests.compare.figures_of_two import figure, own


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        (figure(), figure(), "equal"),
        (figure(), figure(division="open"), "different"),
        (figure(), figure(division=None), "undisclosed"),
        (figure(division=None), figure(division=None), "undisclosed"),
        (figure(), own(), "different"),
        (own(), own(), "not asked"),
        (own(), own(not_applicable=()), "not asked"),
        (figure(division=None), own(), "undisclosed"),
    ],
)
def test_two_figures_stand_in_one_relation(left, right, answer):
    """Known, undisclosed, not applicable, in every combination that matters."""
    assert relation(left, right, "division") == answer
    assert relation(right, left, "division") == answer


def test_values_are_the_same_by_what_they_say():
    """Case and blanks of texts and the rounding of tables make no difference; kinds do."""
    assert same("Poisson  arrivals", "poisson arrivals")
    assert same(2.0, 2.0001)
    assert not same(2.0, 2.1)
    assert not same("2", 2)


@given(st.text(max_size=400))
def test_plain_text_is_one_printable_line(text):
    """Whatever a vendor wrote."""
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown) <= 160
    assert plain(shown) == shown


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"arrivals": "gamma"}, "The arrivals differ: poisson on the left, gamma on the right. Why."),
        (
            {"arrivals": None},
            "The arrivals are not known on both sides: poisson on the left, undisclosed on the right. Why.",
        ),
        ({}, "The arrivals are poisson on both sides. Why."),
        ({"loop": "closed"}, "The loop differs: open on the left, closed on the right. Why."),
        ({"loop": None}, "The loop is not known on both sides: open on the left, undisclosed on the right. Why."),
    ],
)
def test_a_sentence_about_a_condition_agrees_with_its_name(changes, sentence):
    """Arrivals differ, a loop differs."""
    key = next(iter(changes), "arrivals")
    assert objection("loop", "unknown", own(), own(**changes), key, why="Why.").message == sentence
