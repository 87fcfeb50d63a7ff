"""A chart on the screen, in the signs that the output can write."""

from __future__ import annotations

import sys

from caveat.cli import console
from caveat.publish import Chart


def print_chart(chart: Chart) -> None:
    """The lines of a chart, as wide as the screen."""
    console.write("".join(f"{line}\n" for line in chart.text(console.width(), not _writes_dots())))


def _writes_dots() -> bool:
    try:
        "⣿│└─".encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
