"""Text that may come from anybody, made harmless for a terminal. All that figures say of themselves goes through it."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """One line without anything a terminal obeys: line ends become blanks, controls, escapes and direction
    overrides become visible (`\\x1b`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    if character in "\n\t\r" or unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
