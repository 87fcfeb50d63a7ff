"""A chart on the screen, in the signs that the output can write."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from caveat.cli import console


class Drawn(Protocol):
    """A chart that has lines for a screen."""

    @property
    def text(self) -> Callable[[int, bool], list[str]]:
        """Lines by width, and whether to keep to ASCII."""


def print_chart(chart: Drawn) -> None:
    """The lines of a chart, as wide as the screen."""
    console.write("".join(f"{line}\n" for line in chart.text(console.width(), not _writes_dots())))


def _writes_dots() -> bool:
    try:
        "⣿│└─".encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
