"""Raw: rows of a foreign file in columns, as a format's module hands them on; still in the file's own units."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.workload.bounds import MAX_TOKENS
from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.clock import Times

UNKNOWN = -1
"""In columns of lengths: nothing that can be read as a number of tokens."""

IMPOSSIBLE = -2
"""In columns of lengths: a number that no length can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Rows of one piece of a file; optional columns are None where the format has none.

    line          number of the line (or row) in the file, from 1
    time          float64 in the file's unit, or int64 nanoseconds since 1970
    session       a number that stands for the session's name, or NO_REQUEST
    ends, blocks  ids of prompt blocks, concatenated, and where each request's end
    """

    line: Int64
    time: Times
    input_tokens: Int64
    output_tokens: Int64
    session: Int64 | None = None
    turn: Int64 | None = None
    ends: Int64 | None = None
    blocks: Int64 | None = None


def tokens_column(values: Sequence[object]) -> Int64:
    """Lengths from whatever a file holds: whole numbers, numbers as text; UNKNOWN or IMPOSSIBLE for the rest."""
    try:
        column = np.array(values)
    except (ValueError, OverflowError):
        column = np.empty(0, object)
    if column.dtype != np.int64 or len(column) != len(values):
        return np.array([_tokens(value) for value in values], np.int64)
    return np.where((column < 0) | (column > MAX_TOKENS), IMPOSSIBLE, column)


def float_column(values: Sequence[object]) -> Times:
    """Times as numbers; NaN for what is none."""
    return np.array([_number(value) for value in values], np.float64)


def names_column(values: Iterable[object]) -> Int64:
    """Numbers that stand for names; equal names get equal numbers, and the names are forgotten."""
    return np.array([number_of_name(value) for value in values], np.int64)


def number_of_name(value: object) -> int:
    """A small whole number as it is, anything else by a hash of 62 bits; NO_REQUEST for nothing."""
    if value is None or value == "":
        return NO_REQUEST
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
        return value
    digest = hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 2) | (1 << 31)


def block_columns(lists: Sequence[Sequence[object]]) -> tuple[Int64, Int64]:
    """Ends and ids of lists of block ids; ids that are no small whole numbers are replaced by hashes."""
    ends = np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)))
    flat = [one for some in lists for one in some]
    try:
        ids = np.array(flat, np.int64) if flat else np.empty(0, np.int64)
    except (ValueError, TypeError, OverflowError):
        ids = np.array([number_of_name(one) for one in flat], np.int64)
    return ends, ids


def _tokens(value: object) -> int:
    number = _number(value)
    if math.isnan(number):
        return UNKNOWN
    return int(number) if 0 <= number <= MAX_TOKENS and number == int(number) else IMPOSSIBLE


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    if isinstance(value, str) and len(value) > 40:
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
