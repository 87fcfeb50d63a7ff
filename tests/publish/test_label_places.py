"""publish.label_places: labels that lie on nothing."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from caveat.publish.label_places import HEIGHT, Box, crosses, places

AREA = Box(0, 0, 400, 300)
XY = st.tuples(st.floats(0, 400), st.floats(0, 300))


def box(place, width):
    """Where a label stands."""
    return Box(place.x - width / 2, place.y - HEIGHT / 2, place.x + width / 2, place.y + HEIGHT / 2)


def test_a_lone_point_has_its_label_at_the_right():
    """Beside it, without a line to it."""
    (place,) = places([(100, 100)], [50], [], AREA)
    assert place is not None
    assert place.lead is None
    assert (place.x > 125, abs(place.y - 100) < 20) == (True, True)


def test_two_points_in_one_place_have_both_labels():
    """One above the other."""
    first, second = places([(100, 100)] * 2, [50, 50], [], AREA)
    assert first is not None
    assert second is not None
    assert not box(first, 50).meets(box(second, 50))


def test_a_label_that_finds_no_room_is_left_out():
    """A plot no wider than the label."""
    assert places([(20, 20)], [50], [], Box(0, 0, 40, 40)) == [None]


@given(points=st.lists(XY, min_size=1, max_size=12), width=st.floats(10, 120))
def test_no_label_lies_on_a_point_a_line_or_another_label(points, width):
    """Whatever the curve; and the same curve has the same labels."""
    lines = list(itertools.pairwise(points))
    found = places(points, [width] * len(points), lines, AREA)
    boxes = [box(place, width) for place in found if place is not None]
    assert all(AREA.holds(one) for one in boxes)
    assert not any(one.meets(other) for one, other in itertools.combinations(boxes, 2))
    assert not any(one.left < x < one.right and one.top < y < one.bottom for one in boxes for x, y in points)
    assert not any(crosses(line, one) for line in lines for one in boxes)
    assert places(points, [width] * len(points), lines, AREA) == found


@given(a=XY, b=XY, share=st.floats(0, 1))
def test_a_line_crosses_a_box_around_any_of_its_points(a, b, share):
    """And none that lies beyond both ends."""
    x, y = a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
    assert crosses((a, b), Box(x - 1, y - 1, x + 1, y + 1))
    assert not crosses((a, b), Box(401, 0, 420, 300))
