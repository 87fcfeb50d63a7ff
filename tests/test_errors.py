"""errors: one tree, one exit code each, and a next step that survives every way an error travels."""

import pickle
import re

import msgspec
import pytest

from caveat import errors
from caveat.errors import CaveatError, Problem

TREE = [error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, CaveatError)]


def test_the_tree_in_the_head_of_the_file_is_the_tree_of_the_code():
    """Whoever reads the head knows every error, its exit code and what it is a kind of."""
    drawn = re.findall(r"^([│├└─ ]*)(\w+Error)\b.*?(?:exit (\d))?$", errors.__doc__ or "", re.MULTILINE)
    assert {name for _, name, _ in drawn} == {error.__name__ for error in TREE}
    for branch, name, code in drawn:
        error = getattr(errors, name)
        assert not code or error.exit_code == int(code)
        assert len(error.__mro__) - len(CaveatError.__mro__) == len(branch) // 4


@pytest.mark.parametrize(
    ("name", "code", "exit_code"),
    [
        ("UsageError", "usage", 2),
        ("CannotSayError", "cannot-say", 3),
        ("InputError", "input", 4),
        ("DocumentError", "document", 4),
        ("NotFoundError", "not-found", 4),
        ("RefusedError", "refused", 1),
        ("LedgerError", "ledger", 4),
    ],
)
def test_every_error_has_a_code_for_programs_and_an_exit_code(name, code, exit_code):
    """The code is the name of the class in words."""
    error = getattr(errors, name)("what was found", next="what to do")
    assert (error.code, error.exit_code) == (code, exit_code)
    assert (str(error), error.message, error.next) == ("what was found", "what was found", "what to do")


def test_a_code_of_its_own_is_kept():
    """An error may be more precise than its class."""
    assert CaveatError("x", code="no-such-round").code == "no-such-round"
    assert CaveatError("x").code == "caveat"


def test_an_error_that_crosses_a_process_keeps_its_next_step():
    """Pickling loses neither code nor advice."""
    error = pickle.loads(pickle.dumps(errors.NotFoundError("gone", code="c", next="look elsewhere")))
    assert (type(error), error.message, error.code, error.next) == (errors.NotFoundError, "gone", "c", "look elsewhere")


def test_a_problem_is_one_flat_json_object():
    """Problems are written to JSON as they are."""
    problem = Problem(code="truncated", path="a/log.txt", message="ends early", line=3, found="{", expected="}")
    assert msgspec.json.decode(msgspec.json.encode(problem)) == {
        "code": "truncated",
        "path": "a/log.txt",
        "message": "ends early",
        "line": 3,
        "found": "{",
        "expected": "}",
        "next": None,
    }
