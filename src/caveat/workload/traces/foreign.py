"""What a format is to the readers: its name, how it is recognised, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caveat.errors import InputError
from caveat.workload.traces.csvs import header_of
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.jsonl import first_object
from caveat.workload.traces.lines import LineFile, head_of
from caveat.workload.traces.raw import Raw


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file: the first JSON object in it, or the cells of its first line."""

    suffix: str
    fields: dict[str, Any]
    header: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of traces. `time` names the field of times, `unit` their unit where the format declares one.

    `timed` is false where it has no times: only lengths are read then.
    """

    name: str
    title: str
    recognises: Callable[[Head], bool]
    read: Callable[[LineFile, Findings], Iterator[Raw]]
    time: str = "timestamp"
    unit: str | None = None
    block_tokens: int = 0
    timed: bool = True


def look_at(path: Path) -> Head:
    """The head of a file. InputError if it cannot be read."""
    data = head_of(path)
    if not data.strip():
        raise InputError(
            f"{path.name}: found an empty file, expected requests", code="trace-empty", next="check how it was written"
        )
    if data.lstrip().startswith(b"[") and not first_object(data):
        raise InputError(
            f"{path.name}: found a JSON array, expected one object a line",
            code="trace-format-unknown",
            next="write one line for each request: jq -c '.[]' FILE > requests.jsonl",
        )
    fields = first_object(data) if data[:1].isascii() else {}
    return Head(path.suffix.lower(), fields, () if fields else tuple(header_of(data)[0]))
