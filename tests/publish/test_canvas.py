"""publish.canvas: curves in dots."""

import math

from hypothesis import given
from hypothesis import strategies as st

from caveat.publish.canvas import Axis, Canvas, framed


def test_a_step_keeps_its_value_until_the_next():
    """Low on the left, high on the right."""
    canvas = Canvas(4, 1, Axis(0, 1), Axis(0, 1))
    canvas.steps([0, 0.5, 1], [0, 1, 1])
    assert canvas.lines() == ["⣀⣀⡏⠉"]


def test_what_is_not_known_is_a_gap():
    """And no line is drawn over it."""
    canvas = Canvas(5, 1, Axis(0, 4), Axis(0, 1))
    canvas.steps([0, 1, 2, 3, 4], [0, math.nan, math.nan, 0, 0])
    assert canvas.lines(plain=True)[0][2] == " "


def test_marks_stand_over_dots():
    """A rule and a letter."""
    canvas = Canvas(3, 2, Axis(0, 2), Axis(0, 1))
    canvas.steps([0, 2], [0, 0])
    canvas.rule(1)
    canvas.mark(2, 1, "A")
    assert canvas.lines(plain=True) == [" |A", "*|*"]


def test_a_frame_has_labels_and_both_ends():
    """The axis as text."""
    lines = framed(["ab", "cd"], ["9", "0"], ("l", "r"), plain=True)
    assert lines == ["9 |ab", "0 |cd", "  +--", "   l r"]


@given(
    low=st.floats(1e-6, 10),
    span=st.floats(1e-6, 1e6),
    value=st.floats(-1e9, 1e9),
    log=st.booleans(),
    places=st.integers(1, 500),
)
def test_every_value_has_a_place_on_the_canvas(low, span, value, log, places):
    """What lies outside stands at the edge."""
    assert 0 <= Axis(low, low + span, log=log).place(value, places) < places
