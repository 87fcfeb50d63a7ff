"""Where the labels of points stand on a chart: on no point, no line, no other label, and inside the plot.

Greedy and without chance: each label in its turn takes the nearest free place of a few, so that a chart is the same on
every machine. All in pixels, y downwards. A label that finds no free place has none: it is left out, not laid over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

HEIGHT = 13.0
"""Pixels of a label."""

_CLEAR = 8.0  # pixels around the middle of a point that its mark takes
_DISTANCES = (11.0, 20.0, 32.0, 46.0, 64.0)
# Right and above first: there a curve that falls to the right leaves room.
_DIRECTIONS = ((1, -0.6), (1, 0), (1, 0.6), (0, -1), (0, 1), (-1, -0.6), (-1, 0), (-1, 0.6))
_NEAR = 0.1  # a line may touch a label's edge by so much

XY = tuple[float, float]
Line = tuple[XY, XY]


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        """Whether the other lies inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )

    def meets(self, other: Box) -> bool:
        """Whether the two have room in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class Place(NamedTuple):
    """The middle of a label; `lead` is a line from its point, where it stands too far off to be told by its place."""

    x: float
    y: float
    lead: Line | None


def places(points: Sequence[XY], widths: Sequence[float], lines: Sequence[Line], area: Box) -> list[Place | None]:
    """A place for the label of each point, by the label's width; None where there is no room."""
    marks = [_around(point, _CLEAR, _CLEAR) for point in points]
    labels: list[Box] = []
    drawn = list(lines)
    found: list[Place | None] = []
    for point, width in zip(points, widths, strict=True):
        for box, lead in _candidates(point, width):
            if _is_free(box, [*marks, *labels], drawn, area) and not (lead and any(crosses(lead, b) for b in labels)):
                found.append(Place((box.left + box.right) / 2, (box.top + box.bottom) / 2, lead))
                labels.append(box)
                drawn += [lead] if lead else []
                break
        else:
            found.append(None)
    return found


def _candidates(point: XY, width: float) -> Iterator[tuple[Box, Line | None]]:
    for distance in _DISTANCES:
        for dx, dy in _DIRECTIONS:
            middle = (point[0] + dx * (distance + width / 2), point[1] + dy * (distance + HEIGHT / 2))
            box = _around(middle, width / 2, HEIGHT / 2)
            near = (min(max(point[0], box.left), box.right), min(max(point[1], box.top), box.bottom))
            yield box, None if distance == _DISTANCES[0] else (point, near)


def _around(middle: XY, across: float, down: float) -> Box:
    x, y = middle
    return Box(x - across, y - down, x + across, y + down)


def _is_free(box: Box, taken: Sequence[Box], lines: Sequence[Line], area: Box) -> bool:
    return (
        area.holds(box)
        and not any(box.meets(other) for other in taken)
        and not any(crosses(line, box) for line in lines)
    )


def crosses(line: Line, box: Box) -> bool:
    """Whether a piece of a line has a part inside a rectangle (Liang and Barsky, 1984)."""
    (x, y), (to_x, to_y) = line
    first, last = 0.0, 1.0
    for step, room_before, room_after in (
        (to_x - x, box.left + _NEAR - x, box.right - _NEAR - x),
        (to_y - y, box.top + _NEAR - y, box.bottom - _NEAR - y),
    ):
        if step == 0:
            if room_before > 0 or room_after < 0:
                return False
            continue
        ends = sorted((room_before / step, room_after / step))
        first, last = max(first, ends[0]), min(last, ends[1])
    return first <= last
