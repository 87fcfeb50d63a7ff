"""Settings of a model changed by key, as a command line gives them; each change is said in the model's provenance.

A model that was changed is another than the one that was validated: its validated range is empty. Saying a value that
the file leaves open (unknown, or a range that holds it) changes nothing of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from caveat.errors import CaveatError, InputError, UsageError
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.model_file import Model, Range, SchedulerTable, Validated

T = TypeVar("T", SchedulerTable, FleetTable)

TABLES = ("scheduler", "fleet", "overheads", "prefix_hit", "step_time")
"""What may be changed; the rest says what the model is and where it comes from."""

OPEN = ("scheduler.max_num_seqs", "prefix_hit")
NONE = "none"
_SHOWN = 60
_NEXT = "docs/models.md shows the keys and their values"


def changed(model: Model, settings: Mapping[str, str]) -> Model:
    """The model with values by dotted key: `fleet.replicas` = `8`, `prefix_hit` = `{low=0.1, high=0.3}`, `none` for no
    limit. Values are TOML; a bare word is a text. A key of a switch that is off, `fleet.autoscaling.min_replicas`,
    switches it on. UsageError for a key that there is not, InputError for a value that the model refuses.
    """
    if not settings:
        return model
    plain = _whole(model)
    before = {key: _at(plain, key) for key in settings}
    for key, text in settings.items():
        _set(plain, key, _value(text))
    made = _converted(plain, settings)
    kept = all(_answers(before[key], _at(plain, key)) for key in settings)
    notes = tuple(f"changed: {key} {_said(before[key])} -> {text[:_SHOWN]}" for key, text in settings.items())
    provenance = msgspec.structs.replace(made.provenance, note=(*made.provenance.note, *notes))
    return msgspec.structs.replace(made, provenance=provenance, validated=made.validated if kept else Validated())


def scheduler_of(settings: Mapping[str, str]) -> SchedulerTable:
    """A scheduler from its settings by key without the table's name, all else as engines usually have it.

    `max_num_seqs` that nobody gave is that of the slots, else unknown. UsageError for a key that there is not.
    """
    slots = _value(settings.get("static_slots", NONE))
    seats = slots if isinstance(slots, int) else "unknown"
    return _table("scheduler", SchedulerTable, {"max_num_seqs": seats}, settings)


def fleet_of(settings: Mapping[str, str]) -> FleetTable:
    """A fleet to calibrate on, from its settings by key; one replica where nobody said more. UsageError for a key that
    there is not, and for a switch: what a run showed is laid to alike replicas.
    """
    made = _table("fleet", FleetTable, {}, settings)
    if made.switches:
        raise UsageError(
            f"--set: found fleet.{made.switches[0]}, expected alike replicas to calibrate on",
            next="calibrate without it, and set it when simulating",
        )
    return made


def _table(name: str, kind: type[T], usual: Mapping[str, Any], settings: Mapping[str, str]) -> T:
    known = msgspec.structs.fields(kind)
    keys = [field.name for field in known]
    if wrong := [key for key in settings if key not in keys]:
        raise UsageError(f"--set: found {name}.{wrong[0][:_SHOWN]}, expected one of {', '.join(keys)}")
    try:
        return msgspec.convert({**usual, **{key: _value(text) for key, text in settings.items()}}, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {str(error)[:200]}", next=_NEXT) from error


def prefix_hit_of(text: str) -> float | Range | Literal["unknown"]:
    """A share, a range of shares, or "unknown", as a setting gives it."""
    try:
        hit: float | Range | Literal["unknown"] = msgspec.convert(_value(text), float | Range | Literal["unknown"])
    except msgspec.ValidationError as error:
        raise InputError(f"prefix_hit={text[:_SHOWN]}: {str(error)[:200]}", next=_NEXT) from error
    return hit


def _converted(plain: dict[str, Any], settings: Mapping[str, str]) -> Model:
    said = ", ".join(f"{key}={text[:_SHOWN]}" for key, text in settings.items())
    try:
        return msgspec.convert(plain, Model)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        why = cause.message if isinstance(cause, CaveatError) else str(error).replace("$.", "")
        raise InputError(f"{said}: {why}", next=_NEXT) from error


def _set(plain: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    table = plain
    for name in path:
        if table[name] is None:
            table[name] = {}
        table = table[name]
    table[last] = value


def _at(plain: dict[str, Any], key: str) -> Any:
    """The value of a key. UsageError where there is none, with the keys of the table where the path ends."""
    names = key.split(".")
    if names[0] not in TABLES:
        raise UsageError(f"--set: found {key[:_SHOWN]!r}, expected a key of {', '.join(TABLES)}")
    found: Any = plain
    kind: Any = Model
    for name in names:
        known = _keys(found, kind)
        if name not in known:
            said = ", ".join(known) or "no further keys"
            raise UsageError(f"--set: found {key[:_SHOWN]!r}, expected at {name[:_SHOWN]!r} one of: {said}")
        found, kind = (found or {}).get(name), _table_of(kind, name)
    return found


def _keys(found: Any, kind: Any) -> Sequence[str]:
    """The keys of a table; of one that is left out, those that it would have."""
    if isinstance(found, dict):
        return tuple(found)
    return tuple(field.name for field in msgspec.structs.fields(kind)) if found is None and kind is not None else ()


def _table_of(kind: Any, name: str) -> Any:
    """The record that a field of a record holds, or may hold; None where that is none, or not one alone."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)} if kind is not None else {}
    found = fields.get(name)
    choices = get_args(found) if get_origin(found) in (Union, UnionType) else (found,)
    records = [one for one in choices if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return records[0] if len(records) == 1 else None


def _value(text: str) -> Any:
    """As TOML; what is none is a text."""
    if text == NONE:
        return None
    try:
        return msgspec.toml.decode(f"value = {text}")["value"]
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text


def _answers(before: Any, after: Any) -> bool:
    """Whether the new value only says what the file leaves open."""
    if before == after or before == "unknown":
        return True
    if not (isinstance(before, dict) and set(before) == {"low", "high"}):
        return False
    ends = (after["low"], after["high"]) if isinstance(after, dict) else (after, after)
    return all(isinstance(end, int | float) and before["low"] <= end <= before["high"] for end in ends)


def _whole(value: Any) -> Any:
    """As plain values with every default in its place."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        kind = {config.tag_field: config.tag} if config.tag_field else {}
        return {**kind, **{name: _whole(getattr(value, name)) for name in value.__struct_fields__}}
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, tuple) else value


def _said(value: Any) -> str:
    return NONE if value is None else str(value)[:_SHOWN]
