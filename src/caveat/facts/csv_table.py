"""Reads the tables that this package ships as CSV files into records. An empty cell is None: unknown."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TypeVar

import msgspec

T = TypeVar("T")


def records(file_name: str, record: type[T]) -> tuple[T, ...]:
    """All rows of a CSV file of this room as records of the given type, in the file's order."""
    text = files("caveat.facts").joinpath(file_name).read_text(encoding="utf-8")
    rows = [{key: cell or None for key, cell in row.items()} for row in csv.DictReader(text.splitlines())]
    return msgspec.convert(rows, tuple[record, ...], strict=False)  # type: ignore[valid-type]
