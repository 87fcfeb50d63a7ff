"""Whole outputs kept as files: what a person sees at 100 columns."""

import re
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    """The output that is expected."""
    return (GOLDEN / f"{name}.txt").read_text()


def settled(text: str) -> str:
    """The output without the count of conditions, which grows with their table."""
    return re.sub(r"\d+ of \d+(?=\s+conditions)", "N of M", text)
