"""The front door of the room."""

import re
from pathlib import Path

import pytest

import caveat.facts

SOURCES = sorted(Path(caveat.facts.__file__).parent.iterdir())


def test_the_front_door_lists_what_it_offers():
    """Every name exists, once, in order, and has nothing private."""
    names = caveat.facts.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(caveat.facts, name) for name in names)
    assert not any(name.startswith("_") for name in names)


def test_no_function_hides_a_module_of_the_room():
    """`facts.limits` is a function and no file is called so."""
    modules = {path.stem for path in SOURCES if path.suffix == ".py"}
    assert not modules & set(caveat.facts.__all__)


@pytest.mark.parametrize("path", [path for path in SOURCES if path.is_file()], ids=lambda path: path.name)
def test_no_file_names_a_place_of_one_machine(path):
    """Sources are repositories and commits, not paths."""
    text = path.read_text()
    assert not re.search(r"\bshared\b|/home/|/tmp/", text)
