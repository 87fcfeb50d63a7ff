"""Reads the JSON around the logs: system description, measurement description, model mapping of open submissions.

All of it is written by hand by vendors: types vary, fields are missing, templates stand unfilled. What is not
stated stays undisclosed. NaN and infinities count as not stated, of a repeated key the first value holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import InputError, Problem
from caveat.facts import accelerator_family, claimed_counts
from caveat.figures import Claim, Value
from caveat.importers.mlperf.bounded_file import read_small
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.stated_text import stated, stated_count
from caveat.importers.mlperf.techniques import multi_node_means, stated_techniques

AVAILABILITIES = ("available", "preview", "rdi")
SYSTEM_TYPES = ("datacenter", "edge", "datacenter,edge")

# our condition -> field of the system description whose text it takes as it is
TEXT_FIELDS: dict[str, str] = {
    "system": "system_name",
    "accelerator_stated": "accelerator_model_name",
    "accelerator_memory": "accelerator_memory_capacity",
    "accelerator_interconnect": "accelerator_interconnect",
    "host_processor": "host_processor_model_name",
    "host_memory": "host_memory_capacity",
    "host_network": "host_networking",
    "cooling": "cooling",
    "engine": "framework",
    "software": "other_software_stack",
    "operating_system": "operating_system",
}
_ACCELERATOR_KEYS = ("accelerator", "accelerator_stated", "accelerator_memory", "accelerator_interconnect")


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """One JSON description: what it says as conditions, claims and problems. `path` is the path as published."""

    path: str
    sha256: str = ""
    values: dict[str, Value] = {}
    claims: dict[str, tuple[Claim, ...]] = {}
    not_applicable: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_system(path: Path, shown: str, platform: str) -> Description:
    """The system description of one platform."""
    try:
        content = read_small(path)
        fields = _object(content)
    except InputError as error:
        return Description(path=shown, problems=(_unread(error, "system", path, shown),))
    counts, claims = _counts(fields, platform)
    bare = stated_count(fields.get("accelerators_per_node")) == 0
    values: dict[str, Value] = {key: text for key, field in TEXT_FIELDS.items() if (text := stated(fields.get(field)))}
    values.update({key: value for key, value in _choices(fields).items() if value is not None})
    return Description(
        path=shown,
        sha256=hashlib.sha256(content).hexdigest(),
        values={**values, **counts, **_stack(fields, counts)},
        claims=claims,
        not_applicable=tuple(key for key in (*_ACCELERATOR_KEYS, "accelerators") if bare and key not in values),
    )


def read_measurement(paths: Iterable[tuple[Path, str]], shown_folder: str) -> Description:
    """The first of several JSON files that is a measurement description: it has `weight_data_types`."""
    problems: list[Problem] = []
    for path, shown in paths:
        try:
            content = read_small(path)
            fields = _object(content)
        except InputError as error:
            problems.append(_unread(error, "measurement", path, shown))
            continue
        if "weight_data_types" in fields:
            precision = stated(fields["weight_data_types"])
            values: dict[str, Value] = {"weight_precision": precision.casefold()} if precision else {}
            return Description(path=shown, sha256=hashlib.sha256(content).hexdigest(), values=values)
    return Description(path=shown_folder, problems=(*problems, problem("measurement-missing", shown_folder)))


def read_model_mapping(path: Path, shown: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Official names of the models that an open submission files under names of its own; empty where there are none."""
    try:
        fields = _object(read_small(path))
    except InputError as error:
        return {}, (() if not path.exists() else (problem("mapping-bad-json", shown, detail=error.message),))
    return {name: official for name, official in fields.items() if isinstance(official, str)}, ()


def _counts(fields: Mapping[str, Any], platform: str) -> tuple[dict[str, Value], dict[str, tuple[Claim, ...]]]:
    """Nodes and accelerators; of several statements about the total every one is kept."""
    nodes, each = stated_count(fields.get("number_of_nodes")), stated_count(fields.get("accelerators_per_node"))
    values = {
        "nodes": nodes or None,
        "accelerators_per_node": each or None,
        "accelerators": nodes * each if nodes and each else None,
        "host_processors_per_node": stated_count(fields.get("host_processors_per_node")) or None,
    }
    known: dict[str, Value] = {key: value for key, value in values.items() if value is not None}
    claims = [Claim(known["accelerators"], "nodes x accelerators per node")] if nodes and each else []
    for words, text in (
        ("accelerator text", stated(fields.get("accelerator_model_name"))),
        ("system name", stated(fields.get("system_name"))),
        ("platform name", platform),
    ):
        claims += [Claim(count, words) for count in claimed_counts(text or "")]
    return known, {"accelerators": tuple(claims)} if len(claims) > 1 else {}


def _choices(fields: Mapping[str, Any]) -> dict[str, Value | None]:
    """Fields whose values come from a list."""
    status, kind = (str(fields.get(field)).strip().casefold() for field in ("status", "system_type"))
    return {
        "accelerator": accelerator_family(stated(fields.get("accelerator_model_name")) or ""),
        "availability": status if status in AVAILABILITIES else None,
        "system_type": kind if kind in SYSTEM_TYPES else None,
    }


def _stack(fields: Mapping[str, Any], counts: Mapping[str, Value]) -> dict[str, Value]:
    """Techniques and the means by which nodes act as one, from the fields that speak of software."""
    texts = tuple(
        text for field in ("framework", "other_software_stack", "sw_notes") if (text := stated(fields.get(field)))
    )
    nodes = counts.get("nodes")
    means = multi_node_means(texts) if isinstance(nodes, int) and nodes > 1 else None
    return {**stated_techniques(texts), **({"multi_node": means} if means else {})}


def _object(content: bytes) -> dict[str, Any]:
    """The JSON object in `content`. Raises InputError."""
    try:
        # not msgspec: it refuses NaN, and of a repeated key it keeps the last
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_first_wins, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", code="bad-json") from error
    if not isinstance(found, dict):
        raise InputError(f"found {type(found).__name__}, expected an object", code="bad-json")
    return found


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        fields.setdefault(key, value)
    return fields


def _unread(error: InputError, which: str, path: Path, shown: str) -> Problem:
    if error.code == "bad-json":
        return problem(f"{which}-bad-json", shown, detail=error.message)
    if not path.exists():
        return problem(f"{which}-missing", shown)
    return problem(error.code, shown, detail=error.message)
