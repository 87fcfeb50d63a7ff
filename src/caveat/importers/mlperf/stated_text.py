"""Text and counts as strangers state them, made harmless and honest once, at the border.

Control characters, terminal escapes and direction marks go; words that stand for "nobody filled this in" are no
statement. HTML and spreadsheet formulas stay as they are: they are text here, and renderers escape text.
"""

from __future__ import annotations

import re

MAX_TEXT = 500

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_STATEMENT = frozenset(
    ("", "-", "?", "n/a", "na", "nan", "none", "null", "tbd", "todo", "unset", "unknown", "<fill>")
)


def harmless(text: str, limit: int = MAX_TEXT) -> str:
    """The text on one line without control characters, escapes and doubled blanks, cut to `limit` characters."""
    plain = _CONTROLS.sub(" ", _ESCAPES.sub("", text[: 8 * limit]))
    return " ".join(_LONE_SURROGATES.sub("\ufffd", plain).split())[:limit]


def stated(value: object) -> str | None:
    """What a description says in one of its fields, as text; None where it says nothing.

    Objects become `key value, key value`, lists are joined with commas: one level, not deeper.
    """
    if isinstance(value, dict):
        pairs = [(harmless(str(key)), stated(part)) for key, part in value.items() if not isinstance(part, dict | list)]
        return harmless(", ".join(f"{key} {part}" for key, part in pairs if part)) or None
    if isinstance(value, list):
        return harmless(", ".join(part for item in value if isinstance(item, str) and (part := stated(item)))) or None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = harmless(str(value))
    return None if text.casefold() in _NO_STATEMENT else text


def stated_count(value: object) -> int | None:
    """A whole number that is not negative, written as a number or as digits; None for everything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value, re.ASCII):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    return None
