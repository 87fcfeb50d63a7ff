"""Text that may come from anybody, made harmless for the place where it is going to stand."""

from __future__ import annotations

import unicodedata
from html import escape as html  # re-exported: the one way to put foreign text into HTML

__all__ = ["csv_cell", "cut", "html", "markdown", "printable"]

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = str.maketrans({c: "\\" + c for c in "\\`*_[]<>|#"})


def printable(text: str) -> str:
    """One line without anything a terminal obeys: controls, escapes and direction overrides become `\\xNN`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    if character in "\n\t\r" or unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def cut(text: str, width: int) -> str:
    """At most `width` characters, with an ellipsis where something was taken away."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def csv_cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula. Numbers stay numbers; None is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = printable(str(value))
    return "'" + text if text.startswith(_FORMULA_STARTS) else text


def markdown(text: str) -> str:
    """Foreign text inside Markdown: nothing in it is markup, a table cell or a tag."""
    return printable(text).translate(_MARKDOWN)
