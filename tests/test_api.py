"""The names that other people's programs may use: few, sorted, and all there."""

import ast
import importlib
from pathlib import Path

import pytest

import caveat
from tests.test_layout import FLOOR_OF

SOURCE = Path(caveat.__file__).parent
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py") if path.parent.name in FLOOR_OF)


def sort_key(name: str) -> tuple[int, str]:
    """Constants, then types, then functions; each by name."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def imported_from_itself(room: str) -> set[str]:
    """Public names that a room's front door takes from the room's own modules and does not use itself."""
    tree = ast.parse((SOURCE / room / "__init__.py").read_text())
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"caveat.{room}.")
        for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {name for name in names - used if not name.startswith("_")}


def test_the_package_exports_its_types_and_nothing_else():
    """A short list, in order, each name there."""
    assert caveat.__all__ == ["CaveatError", "Conditions", "Figure", "Metric", "Provenance", "Run", "__version__"]
    public = {name for name in vars(caveat) if not name.startswith("_")} - set(FLOOR_OF) - {"caveat"}
    assert public | {"__version__"} == set(caveat.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_the_front_door_of_a_room_is_a_sorted_list_of_what_is_there(room):
    """Constants, types, functions; nothing twice, nothing missing, nothing beside it."""
    module = importlib.import_module(f"caveat.{room}")
    names = getattr(module, "__all__", [])
    assert names == sorted(set(names), key=sort_key)
    assert [name for name in names if not hasattr(module, name)] == []
    assert imported_from_itself(room) - set(names) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_is_that_of_a_room(room):
    """`caveat.compare` is a room; a function of that name would hide it."""
    names = getattr(importlib.import_module(f"caveat.{room}"), "__all__", [])
    assert set(names) & set(FLOOR_OF) == set()
