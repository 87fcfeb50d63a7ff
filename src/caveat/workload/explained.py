"""What is wrong with a document, in words: which kinds or fields are known at the place, and on which line it stands.

msgspec says what it stumbled over and where. The records say what could have stood there; both are joined here.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

PAGE = "docs/workloads.md"
Step = str | int


def explained(error: msgspec.ValidationError, plain: object, root: type, text: str = "") -> str:
    """`workload.arrivals.kind: found 'gama', expected one of constant, poisson, ... (line 9)`.

    `plain` is the document as decoded to plain values, `root` the record that it should be, `text` its source, in
    which the line is looked for; it is said only where it is sure.
    """
    what, place = _taken_apart(str(error))
    path = _steps(place)
    said = _in_words(what, path, plain, root)
    line = _line(text, path, what)
    return f"{place + ': ' if place else ''}{said}{f' (line {line})' if line else ''}"


def fields_of(record: type) -> tuple[list[str], list[str]]:
    """Names of the fields that must be given, and of those that may."""
    if dataclasses.is_dataclass(record):
        every = [(field.name, _needed(field)) for field in dataclasses.fields(record)]
    else:
        every = [(field.encode_name, field.required) for field in msgspec.structs.fields(record)]
    return [name for name, needed in every if needed], [name for name, needed in every if not needed]


def records_in(hint: Any) -> list[type]:
    """The records among the alternatives of a type, whatever stands around them."""
    if isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or dataclasses.is_dataclass(hint)):
        return [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [record for each in typing.get_args(hint) for record in records_in(each)]
    return []


def kind_of(record: type) -> str:
    """The word under which a record stands in a document; empty for one that is the only one at its place."""
    config = getattr(record, "__struct_config__", None)
    return str(config.tag) if config is not None and config.tag is not None else ""


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _taken_apart(message: str) -> tuple[str, str]:
    """msgspec's ``what - at `$.a.b` `` as (what, `a.b`)."""
    what, at, place = message.rpartition(" - at ")
    return (what, place.strip("`").removeprefix("$").removeprefix(".")) if at else (message, "")


def _steps(place: str) -> list[Step]:
    return [int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place)]


def _in_words(what: str, path: Sequence[Step], plain: object, root: type) -> str:
    """msgspec's own words where the records have nothing to add."""
    if found := re.fullmatch(r"Invalid value (.+)", what):
        kinds = [kind_of(record) for record in records_in(_reached(path[:-1], plain, root)[0])]
        return f"found {found[1]}, {_one_of(kinds, found[1])}" if any(kinds) else what
    if found := re.fullmatch(r"Invalid enum value (.+)", what):
        names = [str(name) for name in _literals(_reached(path, plain, root)[0])]
        return f"found {found[1]}, {_one_of(names, found[1])}" if names else what
    hint, here = _reached(path, plain, root)
    record = _chosen(hint, here)
    if found := re.fullmatch(r"Object missing required field `(.+)`", what):
        kinds = [name for each in records_in(hint) if (name := kind_of(each))]
        if kinds and found[1] == _tag_field(records_in(hint)):
            return f"found no {found[1]}, {_one_of(kinds, '')}"
        return f"found no {found[1]}{_takes(record)}"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", what):
        return f"found the field {found[1]!r}{_takes(record)}"
    return what


def _one_of(names: Sequence[str], found: str) -> str:
    near = difflib.get_close_matches(found.strip("'"), names, n=1)
    return f"expected one of {', '.join(names)}" + (f"; {near[0]} is near" if near else "")


def _takes(record: type | None) -> str:
    """`; gamma takes rate_qps, cv`, and what else it may have."""
    if record is None:
        return ""
    needed, free = fields_of(record)
    said = [f"takes {', '.join(needed)}"] if needed else []
    said += [f"may have {', '.join(free)}"] if free else []
    return f"; {kind_of(record) or record.__name__.lower()} {', and '.join(said) or 'takes no fields'}"


def _reached(path: Sequence[Step], plain: object, root: Any) -> tuple[Any, object]:
    """The type and the value at a place of the document; (None, None) beyond what the records know."""
    hint, here = root, plain
    for step in path:
        if isinstance(step, int):
            inside = [each for each in _alternatives(hint) if typing.get_origin(each) in (tuple, list)]
            hint = typing.get_args(inside[0])[0] if inside else None
            here = here[step] if isinstance(here, list) and step < len(here) else None
            continue
        record = _chosen(hint, here)
        hint = typing.get_type_hints(record).get(step) if record is not None else None
        here = here.get(step) if isinstance(here, dict) else None
    return hint, here


def _chosen(hint: Any, here: object) -> type | None:
    """The record that a value wants to be: by its kind, or the only one there is."""
    records = records_in(hint)
    if len(records) == 1:
        return records[0]
    kind = here.get(_tag_field(records)) if isinstance(here, dict) else None
    return next((record for record in records if kind_of(record) == kind), None)


def _tag_field(records: Sequence[type]) -> str:
    """The field that tells them apart: `kind`, nearly always."""
    config = getattr(records[0], "__struct_config__", None) if records else None
    return str(config.tag_field) if config is not None else "kind"


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _literals(hint: Any) -> Iterator[object]:
    for each in _alternatives(hint):
        if typing.get_origin(each) is typing.Literal:
            yield from typing.get_args(each)


def _line(text: str, path: Sequence[Step], what: str) -> int | None:
    """The line of the field that is meant. None where it is not named, or stands more than once."""
    name = re.search(r"unknown field `(.+)`", what)
    key = name[1] if name else next((step for step in reversed(path) if isinstance(step, str)), "")
    value = re.match(r"Invalid (?:enum )?value '(.*)'", what)
    wanted = re.compile(rf'\b{re.escape(key)}"?\s*[=:]' + (rf'\s*["\']{re.escape(value[1])}["\']' if value else ""))
    lines = [number for number, line in enumerate(text.splitlines(), 1) if wanted.search(line)]
    return lines[0] if key and len(lines) == 1 else None
