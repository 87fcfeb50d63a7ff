"""Text from anybody, made harmless: for a terminal, a spreadsheet, Markdown, BibTeX and JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.publish.text import csv_cell, cut, json_text, latex, markdown, printable, wrapped

texts = st.text(st.characters(codec="utf-8"), max_size=60)
contents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(texts)
def test_nothing_that_a_terminal_obeys_is_printed(text):
    """One line, every character of it visible."""
    assert printable(text).isprintable()


@given(contents)
def test_json_comes_back_and_can_be_looked_at(content):
    """Escaping changes what is seen, not what is meant."""
    text = json_text(content)
    assert json.loads(text) == content
    assert all(line.isprintable() for line in text.split("\n"))


def test_json_escapes_what_terminals_obey_and_nothing_else():
    """Letters of all scripts stay; controls and direction overrides are written as JSON does."""
    assert json_text(["µ 漢 ®", "\x1b\x9b\u202e\U000e0001"]) == (
        '[\n "µ 漢 ®",\n "\\u001b\\u009b\\u202e\\udb40\\udc01"\n]\n'
    )


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (-1.5, "-1.5"),
        (8, "8"),
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("  @SUM(1)", "'  @SUM(1)"),
        ("\t=1", "' =1"),
        ("-5 W", "'-5 W"),
        ("\uff1d1", "'\uff1d1"),
    ],
)
def test_a_cell_is_no_formula(value, cell):
    """Numbers stay numbers, minus sign and all; text that begins like a formula is marked as text."""
    assert csv_cell(value) == cell


@given(texts)
def test_no_text_becomes_a_formula(text):
    """Whatever stands at the start, blanks left out."""
    assert not csv_cell(text).lstrip().startswith(("=", "+", "-", "@"))


@given(texts)
def test_latex_keeps_its_braces_and_commands(text):
    """Braces balance and every backslash begins one of our own escapes."""
    safe = latex(text)
    assert safe.count("{") == safe.count("}")
    depth = 0
    for character in safe:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert re.fullmatch(r"(?:[^\\&%$#_^~<>]|\\[&%$#_]|\\text[a-z]+\{\})*", safe)


@given(texts)
def test_markdown_holds_no_markup(text):
    """Every sign that means something stands behind a backslash."""
    assert re.fullmatch(r"(?:[^\\`*_\[\]<>|#~&$]|\\[\\`*_\[\]<>|#~&$])*", markdown(text))


def test_cut_says_that_it_cut():
    """The last character is an ellipsis."""
    assert (cut("short", 5), cut("longer", 5), cut("x", 0)) == ("short", "long…", "…")


@given(st.text(st.characters(codec="ascii", categories=["L", "Nd"]), min_size=1, max_size=200), st.integers(20, 100))
def test_wrapped_lines_fit_and_lose_nothing(word, width):
    """A word longer than the screen is broken, never dropped."""
    lines = wrapped(word, width, indent=2, hang=4).splitlines()
    assert max(map(len, lines)) <= width
    assert "".join(line.strip() for line in lines) == word


def test_wrapped_breaks_no_id_at_its_hyphens():
    """Commands are copied from the screen."""
    assert wrapped("caveat ask 0123456789.loadgen-offline-tokens-rate", 45) == (
        "caveat ask\n  0123456789.loadgen-offline-tokens-rate"
    )
