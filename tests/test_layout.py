"""Imports go down only: the floors of the design, kept by reading every import."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "caveat"
FLOORS = (
    {"errors", "units"},
    {"facts", "figures", "workload"},
    {"measure"},
    {"loadgen", "simulator", "importers", "ledger", "compare"},
    {"caveats", "plan", "loopback"},
    {"publish"},
    {"web"},
    {"cli"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Rooms of caveat that a module imports, at any depth of its code."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("caveat."):
            rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "caveat":
            rooms.update(alias.name for alias in node.names if alias.name in FLOOR_OF)
        elif isinstance(node, ast.Import):
            rooms.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("caveat."))
    return rooms


def test_every_folder_of_the_package_is_a_room_of_the_design():
    """A new folder needs a floor."""
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(FLOOR_OF)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_floors_below(path: Path):
    """Rooms of one floor do not know each other."""
    room = room_of(path)
    for imported in imports_of(path) - {room}:
        assert FLOOR_OF[imported] < FLOOR_OF[room], f"{path.relative_to(SOURCE)} imports caveat.{imported}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_another_room_is_entered_by_its_front_door(path: Path):
    """`from caveat.figures import Run`, not `from caveat.figures.run import Run`."""
    room = room_of(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("caveat."):
            _, other, *inner = node.module.split(".")
            assert other == room or not inner, f"{path.relative_to(SOURCE)} imports {node.module}"


def test_nobody_imports_the_command_line():
    """cli stands on top."""
    assert [p for p in MODULES if room_of(p) != "cli" and "cli" in imports_of(p)] == []
