"""Prometheus text, read just far enough: the sum of each series over its label sets."""

from __future__ import annotations

import math
import re

MAX_LINES = 200_000
# name, optional labels (a quoted value may hold anything), value, optional time stamp
_LINE = re.compile(r'([A-Za-z_:][\w:]*)(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t]*')


def read_metrics(text: bytes) -> dict[str, float]:
    """Name to sum. Lines that are not samples, and values that are not finite numbers, are left out."""
    totals: dict[str, float] = {}
    for line in text.decode("utf-8", "replace").splitlines()[:MAX_LINES]:
        if not line or line[0] == "#" or len(line) > 4096:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        value = _number(match[2])
        if value is not None:
            totals[match[1]] = totals.get(match[1], 0.0) + value
    return totals


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
