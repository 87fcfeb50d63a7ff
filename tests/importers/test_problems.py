"""The table of problem codes."""

import re

import pytest

from caveat.importers.mlperf.problems import CODES, FOUND_LENGTH, problem


def test_codes_are_kebab_case_and_say_what_was_wrong_and_what_was_expected():
    """A code is for scripts, the two sentences for people."""
    for code, (message, expected) in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        assert message and expected


def test_what_was_found_is_cut_and_cleaned():
    """Hostile text in a file does not reach a terminal through a problem."""
    made = problem("value-impossible", "a/\x1b[2Jb", detail="key", line=3, found=b"\x1b[31m" + b"\xffx" * 500)
    assert (made.code, made.path, made.line) == ("value-impossible", "a/b", 3)
    assert made.message == "the value cannot be; it is not recorded: key"
    assert made.found is not None
    assert len(made.found) == FOUND_LENGTH
    assert "\x1b" not in made.found


def test_an_unknown_code_is_a_mistake_of_ours():
    """Codes come from the table."""
    with pytest.raises(KeyError):
        problem("no-such-code", "path")
