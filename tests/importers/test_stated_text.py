"""What strangers write into fields, made harmless."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.importers.mlperf.stated_text import MAX_TEXT, harmless, stated, stated_count


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("two\nlines\tand\u2009thin", "two lines and thin"),
        ("\u202eevil", "evil"),
        ("nul\x00byte", "nul byte"),
        ("lone \udcff surrogate", "lone \ufffd surrogate"),
        ("<script>&=1+1", "<script>&=1+1"),
    ],
)
def test_control_characters_go_and_words_stay(text, clean):
    """Escapes and direction marks are no words; HTML and formulas are, and renderers escape them."""
    assert harmless(text) == clean


@given(st.text(st.characters(codec=None), max_size=2000))
def test_harmless_text_can_be_printed_and_stored(text):
    """Whatever comes in, a bounded line of UTF-8 comes out, and cleaning it again changes nothing."""
    clean = harmless(text)
    clean.encode()
    assert len(clean) <= MAX_TEXT
    assert not any(character in clean for character in "\x1b\x00\n\r\x9b")
    assert harmless(clean) == clean.strip()


@pytest.mark.parametrize(
    "nothing", ["", " ", "N/A", "n/a", "TODO", "TBD", "none", "UNSET", "<fill>", None, True, float("nan")]
)
def test_a_placeholder_is_no_statement(nothing):
    """What nobody filled in is undisclosed."""
    assert stated(nothing) is None


def test_objects_and_lists_become_one_line():
    """Some vendors write their software stack as an object, one level deep."""
    assert stated({"cuda": "12.9", "driver": "N/A", "deep": {"x": 1}, "count": 2}) == "cuda 12.9, count 2"
    assert stated(["a", "b", {"c": 1}]) == "a, b"
    assert stated({}) is None


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (8, 8),
        ("8", 8),
        (" 11 ", 11),
        (8.0, 8),
        ("0", 0),
        ("N/A", None),
        (-1, None),
        (True, None),
        (1e400, None),
        (10**30, None),
        ("8x", None),
        (8.5, None),
        (None, None),
        ("٨", None),
    ],
)
def test_counts_are_whole_numbers_or_nothing(value, count):
    """Numbers and digits count, everything else is undisclosed."""
    assert stated_count(value) == count
