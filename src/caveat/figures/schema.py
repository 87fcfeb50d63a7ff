"""The JSON Schema of the Run document: the shape from the records, the words from the tables."""

from __future__ import annotations

from typing import Any

import msgspec

from caveat.figures.conditions import TABLE
from caveat.figures.kinds import COUNT_END, LENGTH_STATISTICS, TECHNIQUE_STATES, Condition, Kind
from caveat.figures.metrics import METRICS
from caveat.figures.provenance import SOURCE_KINDS
from caveat.figures.run import FORMAT, Run
from caveat.figures.validity import ASPECTS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "pattern": r"\S"}
_LENGTH: Schema = {"type": "number", "minimum": 0}
_KINDS: dict[Kind, Schema] = {
    "text": _TEXT,
    "number": {"type": "number"},
    "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": COUNT_END},
    "seconds": {"type": "number", "minimum": 0},
    "flag": {"type": "boolean"},
    "technique": {"enum": list(TECHNIQUE_STATES)},
    "lengths": {
        "type": "object",
        "minProperties": 1,
        "properties": dict.fromkeys(LENGTH_STATISTICS, _LENGTH),
        "additionalProperties": False,
    },
    "numbers": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": _TEXT,
        "additionalProperties": {"type": "number"},
    },
}


def json_schema() -> Schema:
    """JSON Schema (2020-12) of the Run document.

    It says all that JSON Schema can say. That source indices lie inside the sources, that a metric stands once and
    that a spread is low before high is known to `load` alone.
    """
    shape = msgspec.json.schema(Run)
    records = {name: {**record, **_WORDS.get(name, {})} for name, record in shape["$defs"].items()}
    for name, fields in _FIELDS.items():
        records[name]["properties"] = {**records[name]["properties"], **fields}
    records["Run"]["required"] = ["format", *records["Run"]["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:caveat:run:1",
        "title": FORMAT,
        "$ref": "#/$defs/Run",
        "$defs": {
            **records,
            "metric": {"enum": list(METRICS)},
            "condition": {"enum": [row.key for row in TABLE]},
        },
    }


def _value(row: Condition) -> Schema:
    meaning = f"{row.meaning} ({row.unit})" if row.unit else row.meaning
    return {**({"enum": list(row.allowed)} if row.allowed else _KINDS[row.kind]), "description": meaning}


def _by_key(values: dict[str, Schema]) -> Schema:
    return {"type": "object", "default": {}, "properties": values, "additionalProperties": False}


def _claims(row: Condition) -> Schema:
    narrow: Schema = {"properties": {"value": {"$ref": f"#/$defs/Conditions/properties/known/properties/{row.key}"}}}
    return {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/Claim"}, narrow]}}


def _where(origin: str, then: Schema) -> Schema:
    return {"if": {"properties": {"origin": {"const": origin}}}, "then": then}


_METRIC: Schema = {"$ref": "#/$defs/metric"}
_KEY: Schema = {"$ref": "#/$defs/condition"}
_ONE: Schema = {"minItems": 1}

_FIELDS: dict[str, Schema] = {
    "Run": {
        "format": {"const": FORMAT},
        "subject": _TEXT,
        "primary": {"anyOf": [_METRIC, {"type": "null"}], "default": None},
    },
    "Row": {
        "metric": _METRIC,
        "n": {"anyOf": [_KINDS["count"], {"type": "null"}], "default": None},
        "source": {"type": "integer", "minimum": 0, "default": 0},
    },
    "Spread": {"method": {"type": "string", "minLength": 1}},
    "Check": {
        "aspect": {"enum": list(ASPECTS)},
        "metrics": {"type": "array", "items": _METRIC, "default": []},
    },
    "Source": {"kind": {"enum": list(SOURCE_KINDS)}},
    "Conditions": {
        "known": _by_key({row.key: _value(row) for row in TABLE}),
        "not_applicable": {"type": "array", "items": _KEY, "default": []},
        "sources": {
            "type": "object",
            "default": {},
            "propertyNames": _KEY,
            "additionalProperties": {"type": "integer", "minimum": 0},
        },
        "claims": _by_key({row.key: _claims(row) for row in TABLE}),
    },
}

_WORDS: dict[str, Schema] = {
    "Provenance": {
        "allOf": [
            _where("imported", {"required": ["sources"], "properties": {"sources": _ONE}}),
            _where(
                "derived",
                {"required": ["formula", "inputs"], "properties": {"formula": {"minLength": 1}, "inputs": _ONE}},
            ),
        ]
    }
}
