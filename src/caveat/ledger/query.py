"""Filters: what `KEY OPERATOR VALUE` means, and the SQL it becomes.

Identifiers come from our own tables only; whatever a person wrote is a bound parameter. An unknown value is
unknown: it satisfies no comparison except `KEY=undisclosed`, not even `KEY!=something`.
"""

from __future__ import annotations

import difflib
import math
import re
from typing import Literal, cast, get_args

import msgspec

from caveat.errors import UsageError
from caveat.figures import LENGTH_STATISTICS, METRICS, TABLE, Condition, printable

Operator = Literal["=", "!=", ">=", "<=", ">", "<", "~"]
Sort = Literal["text", "number", "flag", "start"]

ABSENT = ("undisclosed", "not applicable")
_PATTERN = re.compile(r"([^=!<>~]+)(!=|>=|<=|=|>|<|~)(.*)", re.DOTALL)
_FLAGS = {"yes": True, "true": True, "no": False, "false": False}


class Column(msgspec.Struct, frozen=True):
    """Where the values of one key stand: an SQL expression with its own parameters, and how they compare.

    `of_figure` marks what belongs to one metric of a run, `condition` the key whose absence may be asked for,
    `allowed` every word that may occur (empty: any).
    """

    sql: str
    sort: Sort
    parameters: tuple[str, ...] = ()
    of_figure: bool = False
    condition: Condition | None = None
    allowed: tuple[str, ...] = ()


# Keys beside the conditions. `id=` matches the start of a run's id.
SPECIAL: dict[str, Column] = {
    "id": Column("id", "start"),
    "subject": Column("subject", "text"),
    "origin": Column("origin", "text", allowed=("measured", "simulated", "imported", "derived")),
    "metric": Column("figure.metric", "text", of_figure=True, allowed=tuple(METRICS)),
    "value": Column("figure.value", "number", of_figure=True),
    "outcome": Column("figure.outcome", "text", of_figure=True, allowed=("pass", "fail", "unknown", "not applicable")),
    "primary": Column("coalesce(figure.metric = primary_metric, false)", "flag", of_figure=True),
}
CONDITIONS: dict[str, Condition] = {row.key: row for row in TABLE}
KEYS: tuple[str, ...] = (*SPECIAL, *CONDITIONS)


class Where(msgspec.Struct, frozen=True):
    """One filter. `value` holds the alternatives with commas between; UsageError where it could never match."""

    key: str
    operator: Operator
    value: str

    def __post_init__(self) -> None:
        condition_sql(self)

    @property
    def of_figure(self) -> bool:
        """Whether it asks about single metrics (metric, value, outcome, primary) and not about runs."""
        return column_of(self.key).of_figure

    def __str__(self) -> str:
        return printable(f"{self.key}{self.operator}{self.value}")


def parse_where(text: str) -> Where:
    """A filter from its text: `round=v6.0,v6.1`, `accelerators>=8`, `system~GB300`, `engine=undisclosed`.

    `=` and `~` (contains) ignore case. Raises UsageError: no operator, unknown key, or a value that does not fit.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"not a filter: {text!r}, expected KEY, one of {' '.join(get_args(Operator))}, VALUE",
            next="for instance round=v6.1, accelerators>=8 or system~GB300",
        )
    key, operator, value = match.groups()
    return Where(key.strip(), cast(Operator, operator), value.strip())


def column_of(key: str) -> Column:
    """The column of a key. Parts of distributions follow a dot: `output_tokens.mean`. UsageError if unknown."""
    if key in SPECIAL:
        return SPECIAL[key]
    name, _, part = key.partition(".")
    row = CONDITIONS.get(name)
    if row is None:
        near = difflib.get_close_matches(name.lower(), KEYS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "see docs/conditions.md"
        raise UsageError(f"no key is called {key!r}", next=hint)
    if row.kind in ("lengths", "numbers"):
        return _part_column(row, part)
    if part:
        raise UsageError(f"{row.key} has no parts: found {key!r}", next=f"write {row.key}")
    allowed = ("on", "off") if row.kind == "technique" else row.allowed
    return Column(f'"{row.key}"', _sort(row), condition=row, allowed=allowed)


def _sort(row: Condition) -> Sort:
    if row.kind == "flag":
        return "flag"
    return "number" if row.kind in ("number", "count", "seconds") else "text"


def _part_column(row: Condition, part: str) -> Column:
    if row.kind == "lengths" and part and part not in LENGTH_STATISTICS:
        raise UsageError(f"{row.key} has no part {part!r}", next=f"it has {', '.join(LENGTH_STATISTICS)}")
    if not part:  # without a part only its absence can be asked for
        return Column(f'"{row.key}"', "number", condition=row)
    return Column(f'"{row.key}"[?]', "number", (part,), condition=row)


def condition_sql(where: Where) -> tuple[str, tuple[object, ...]]:
    """The filter as an SQL condition and the parameters to bind, over a row of `documents` and its `figure`."""
    column = column_of(where.key)
    if where.operator not in get_args(Operator):
        raise UsageError(f"no operator is called {where.operator!r}", next=f"one of {' '.join(get_args(Operator))}")
    tests = [_test(where, column, text) for text in _alternatives(where, column)]
    parameters = tuple(value for _, values in tests for value in values)
    if where.operator == "!=":
        return "(" + " AND ".join(f"NOT {sql}" for sql, _ in tests) + ")", parameters
    return "(" + " OR ".join(sql for sql, _ in tests) + ")", parameters


def _alternatives(where: Where, column: Column) -> tuple[str, ...]:
    """What stands between the commas; for free text also the whole, since values may hold commas (`fp16,bf16`)."""
    parts = tuple(part.strip() for part in where.value.split(","))
    if not all(parts):
        raise UsageError(f"{where}: a value is missing", next=f"for what is not known write {where.key}=undisclosed")
    whole_too = column.sort == "text" and not column.allowed
    return tuple(dict.fromkeys((where.value, *parts))) if whole_too else parts


def _test(where: Where, column: Column, text: str) -> tuple[str, tuple[object, ...]]:
    if where.operator in ("=", "!="):
        if column.condition and text.lower() in ABSENT:
            return _absence(column, column.condition, text.lower())
        return _equality(where, column, text)
    if where.operator == "~":
        if column.sort not in ("text", "start"):
            raise UsageError(f"{where}: ~ looks into text, and {where.key} is none", next=f"write {where.key}={text}")
        return f"contains(lower({column.sql}), lower(?))", (text,)
    if column.sort != "number":
        raise UsageError(f"{where}: {where.key} has no order", next=f"list the values: {where.key}={text},...")
    if "," in where.value:
        raise UsageError(f"{where}: {where.operator} takes one number", next="write it without commas")
    return f"({column.sql} {where.operator} ?)", (*column.parameters, _number(where, column, text))


def _absence(column: Column, row: Condition, text: str) -> tuple[str, tuple[object, ...]]:
    if text == "not applicable":
        return "list_contains(not_applicable, ?)", (row.key,)
    return f"({column.sql} IS NULL AND NOT list_contains(not_applicable, ?))", (*column.parameters, row.key)


def _equality(where: Where, column: Column, text: str) -> tuple[str, tuple[object, ...]]:
    if column.sort == "number":
        return f"({column.sql} = ?)", (*column.parameters, _number(where, column, text))
    if column.sort == "flag":
        if text.lower() not in _FLAGS:
            raise UsageError(f"{where}: found {text!r}, expected yes or no")
        return f"({column.sql} = ?)", (_FLAGS[text.lower()],)
    if column.sort == "start":
        return f"starts_with({column.sql}, lower(?))", (text,)
    _check_allowed(where, column, text)
    return f"(lower({column.sql}) = lower(?))", (text,)


def _number(where: Where, column: Column, text: str) -> float:
    row = column.condition
    if row and row.kind in ("lengths", "numbers") and not column.parameters:
        example = "mean" if row.kind == "lengths" else "NAME"
        raise UsageError(f"{where}: {row.key} is several numbers", next=f"name one: {row.key}.{example}")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(
            f"{where}: found {text!r}, expected a number" + (f" in {row.unit}" if row and row.unit else "")
        )
    return number


def _check_allowed(where: Where, column: Column, text: str) -> None:
    """A word outside a closed list would select nothing for ever: more likely it is misspelt."""
    if not column.allowed or text.lower() in column.allowed:
        return
    near = difflib.get_close_matches(text.lower(), column.allowed, n=3, cutoff=0.4)
    words = near if len(column.allowed) > 10 else column.allowed
    hint = f"one of {', '.join(words)}" if words else "see docs/metrics.md"
    raise UsageError(f"{where}: {where.key} is never {text!r}", next=hint)
