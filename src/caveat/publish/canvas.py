"""A canvas of characters: curves in dots of eight to a cell, rules and marks, for a terminal.

Where the output cannot write braille, `plain` draws each cell that holds a dot as an asterisk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

_ACROSS, _DOWN = 2, 4  # dots of a cell
# Bit of each dot of a braille cell, by row and column (Unicode, block U+2800).
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


class Axis:
    """A stretch of values onto so many places, linear or logarithmic; what lies outside stands at the edge."""

    def __init__(self, low: float, high: float, *, log: bool = False) -> None:
        self.low, self.high, self.log = low, high, log

    def place(self, value: float, places: int) -> int:
        """The place of a value, from 0."""
        low, high, at = (math.log(max(v, 1e-12)) if self.log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.0
        return round(min(max(share, 0.0), 1.0) * (places - 1))


class Canvas:
    """`width` by `height` cells. Later marks stand over earlier ones, all marks over all dots."""

    def __init__(self, width: int, height: int, x: Axis, y: Axis) -> None:
        self.width, self.height, self.x, self.y = width, height, x, y
        self._dots = np.zeros((height * _DOWN, width * _ACROSS), dtype=np.bool_)
        self._marks: dict[tuple[int, int], str] = {}

    def steps(self, xs: Iterable[float], ys: Iterable[float]) -> None:
        """A curve that keeps each value until the next one; a value that is not finite is a gap."""
        before: tuple[int, int] | None = None
        for x, y in zip(xs, ys, strict=True):
            column = self.x.place(x, self._dots.shape[1])
            if before is not None:
                self._dots[before[0], before[1] : column + 1] = True
            if not math.isfinite(y):
                before = None
                continue
            row = self._dots.shape[0] - 1 - self.y.place(y, self._dots.shape[0])
            if before is not None:
                self._dots[min(row, before[0]) : max(row, before[0]) + 1, column] = True
            self._dots[row, column] = True
            before = (row, column)

    def rule(self, x: float, sign: str = "|") -> None:
        """A line from top to bottom."""
        column = self.x.place(x, self.width)
        self._marks |= {(row, column): sign for row in range(self.height)}

    def mark(self, x: float, y: float, sign: str) -> None:
        """One sign at a place."""
        self._marks[self.height - 1 - self.y.place(y, self.height), self.x.place(x, self.width)] = sign

    def lines(self, *, plain: bool = False) -> list[str]:
        """The rows from the top, each `width` signs long."""
        cells = self._dots.reshape(self.height, _DOWN, self.width, _ACROSS).transpose(0, 2, 1, 3)
        codes = (cells * _BITS).sum(axis=(2, 3))
        return [
            "".join(self._sign(row, at, int(codes[row, at]), plain) for at in range(self.width))
            for row in range(self.height)
        ]

    def _sign(self, row: int, column: int, code: int, plain: bool) -> str:
        if (row, column) in self._marks:
            return self._marks[row, column]
        return " " if not code else "*" if plain else chr(0x2800 + code)


def framed(lines: Sequence[str], labels: Sequence[str], below: tuple[str, str], *, plain: bool = False) -> list[str]:
    """Rows with labels at their left (as many as rows) and the two ends of the horizontal axis below."""
    wide = max(map(len, labels))
    bar, corner, dash = ("|", "+", "-") if plain else ("│", "└", "─")
    width = len(lines[0])
    left, right = below
    rows = [f"{label:>{wide}} {bar}{line}" for label, line in zip(labels, lines, strict=True)]
    axis = f"{'':>{wide}} {corner}{dash * width}"
    return [*rows, axis, f"{'':>{wide}}  {left}{right:>{max(width - len(left), len(right) + 1)}}"]
