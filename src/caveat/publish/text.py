"""Text that may come from anybody, made harmless for the place where it is going to stand."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import msgspec

from caveat.figures import printable

__all__ = ["csv_cell", "cut", "json_text", "latex", "markdown", "printable", "wrapped"]

# As in OWASP's list, with the full-width forms that some spreadsheets also take for operators.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MARKDOWN = str.maketrans({c: "\\" + c for c in "\\`*_[]<>|#~&$"})
_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_"}
    | {
        "\\": r"\textbackslash{}",
        # BibTeX counts braces even behind a backslash, so that an escaped one would still open a group.
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_BEYOND_ASCII = re.compile("[^\n -~]")


def cut(text: str, width: int) -> str:
    """At most `width` characters, with an ellipsis where something was taken away."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def wrapped(text: str, width: int, *, indent: int = 0, hang: int = 2) -> str:
    """A paragraph for a screen of that width: every line indented, all but the first by `hang` more.

    Ids and options hold hyphens and are copied from the screen: no line is broken at one.
    """
    blank = " " * indent
    wide = max(width, indent + hang + 10)
    return textwrap.fill(
        printable(text), wide, initial_indent=blank, subsequent_indent=blank + " " * hang, break_on_hyphens=False
    )


def csv_cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula. Numbers stay numbers; None is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = printable(str(value))
    return "'" + text if text.lstrip().startswith(_FORMULA_STARTS) else text


def json_text(content: Any) -> str:
    """Content as indented JSON with a final line end, safe to look at.

    JSON escapes what ASCII calls a control; the other characters that a terminal obeys (C1 controls, overrides of
    the direction of text) are escaped here. They decode to what they were.
    """
    text = msgspec.json.format(msgspec.json.encode(content), indent=1).decode()
    return _BEYOND_ASCII.sub(_escaped, text) + "\n"


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def markdown(text: str) -> str:
    """Foreign text inside Markdown: nothing in it is markup, a table cell, a formula or a tag."""
    return printable(text).translate(_MARKDOWN)


def latex(text: str) -> str:
    """Foreign text inside a field of a BibTeX entry: no command, no brace that opens or closes anything."""
    return printable(text).translate(_LATEX)
