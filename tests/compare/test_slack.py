"""Shape slack: the same from both sides, never from mixed kinds of run."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.slack import NO_DIFFERENCE, Lengths, difference, gap, lengths, slack
from caveat.figures import Row
from tests.compare.figures_of_two import figure

POSITIVE = st.floats(min_value=1e-3, max_value=1e6)


@given(POSITIVE, POSITIVE)
def test_a_gap_is_the_same_from_both_sides(one, other):
    """larger / smaller - 1."""
    assert gap(one, other) == gap(other, one) >= 0


def test_a_gap_to_nothing_is_infinite():
    """Zero beside zero is no gap, zero beside something has no measure."""
    assert (gap(0.0, 0.0), gap(0.0, 1.0), gap(-1.0, 1.0)) == (0.0, inf, inf)


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({}, {"accuracy_tokens_per_sample": 290.0}, Lengths(280.0, 290.0, "accuracy run")),
        (
            {"output_tokens": {"mean": 270.0}},
            {"output_tokens": {"mean": 300.0}},
            Lengths(270.0, 300.0, "performance run"),
        ),
        ({"output_tokens": {"mean": 270.0}}, {}, Lengths(280.0, 280.0, "accuracy run")),
        ({"output_tokens": {"mean": 270.0}}, {"accuracy_tokens_per_sample": None}, None),
        ({"accuracy_tokens_per_sample": 0.0}, {}, None),
    ],
)
def test_lengths_come_from_one_kind_of_run(left, right, found):
    """Performance runs where both have them, else accuracy runs, else nothing."""
    assert lengths(figure(**left), figure(**right)) == found


def test_the_row_of_tokens_per_sample_is_read_first():
    """A log that counts tokens and samples gives the mean as a row."""
    row = (Row(metric="tokens-per-sample.mean", value=275.0),)
    assert lengths(figure(rows=row), figure(rows=row)) == Lengths(275.0, 275.0, "performance run")


@pytest.mark.parametrize(("value", "answer"), [(108.0, NO_DIFFERENCE), (109.0, NO_DIFFERENCE), (110.0, "difference")])
def test_the_slack_decides(value, answer):
    """Lengths 100 and 109: rates up to nine percent apart are no difference."""
    left, right = (figure(v, accuracy_tokens_per_sample=n) for v, n in ((100.0, 100.0), (value, 109.0)))
    assert difference(left, right) == answer
    assert slack(left, right) == pytest.approx(0.09)
