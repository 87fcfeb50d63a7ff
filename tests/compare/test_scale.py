"""The size of a system in words, and quotients that are numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.scale import count_conflict, quotient, size_text
from tests.compare.figures_of_two import contested, figure


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (figure(), "8 x MI355X, nodes 1"),
        (figure(accelerators=None, nodes=None), "undisclosed x MI355X, nodes undisclosed"),
        (contested(), "contested (87 by text, 88 by nodes x accelerators) x MI355X, nodes 1"),
        (figure(accelerators=87, nodes=11), "contested (87 stated, 11 nodes x 8 = 88) x MI355X, nodes 11"),
    ],
)
def test_a_size_is_count_chip_and_nodes(one, text):
    """With every claim where the count is contested."""
    assert size_text(one) == text


def test_a_mixed_system_is_not_counted_by_multiplication():
    """Nodes of two kinds need not hold equally many accelerators."""
    assert count_conflict(figure(accelerator="H200+MI350X", accelerators=16, nodes=3)) is None


@pytest.mark.parametrize(("left", "right"), [(0.0, 1.0), (1.0, 0.0), (1e308, 1e-308), (1e-308, 1e308)])
def test_a_quotient_that_is_no_number_is_none(left, right):
    """No zero, no infinity."""
    assert quotient(left, right) is None


@given(st.floats(min_value=1e-9, max_value=1e9), st.floats(min_value=1e-9, max_value=1e9))
def test_a_quotient_is_left_over_right(left, right):
    """In this order."""
    assert quotient(left, right) == left / right
