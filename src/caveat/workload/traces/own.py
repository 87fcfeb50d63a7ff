"""Our own trace file, caveat-trace-rows/1: JSONL, nanoseconds, one head line that says what follows.

    {"format": "caveat-trace-rows/1", "block_tokens": 512, "source": "...", "transformations": ["..."]}
    {"t_ns": 0, "input_tokens": 6758, "output_tokens": 500, "session": 3, "turn": 0, "blocks": [0, 1, 2]}

Nothing is lost that a recording holds; `session`, `turn` and `blocks` are left out where they were not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np

from caveat.workload.plan import NO_REQUEST
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import JsonFields, first_object, raw_of, rows_of
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw

FORMAT = "caveat-trace-rows/1"
"""Version 1: the first."""

_FIELDS = JsonFields(
    time="t_ns", input="input_tokens", output="output_tokens", session="session", turn="turn", blocks="blocks"
)


class OwnHead(msgspec.Struct, frozen=True):
    """The first line."""

    format: str = ""
    block_tokens: int = 0
    grid_ns: int = 0
    transformations: tuple[str, ...] = ()


def head_line(head: bytes) -> OwnHead:
    """The first line of a file; all defaults if it is not ours."""
    try:
        return msgspec.convert(first_object(head), OwnHead)
    except msgspec.ValidationError:
        return OwnHead()


def _recognises(head: Head) -> bool:
    return head.fields.get("format") == FORMAT


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    head = head_line(file.head())
    fields = _FIELDS if head.block_tokens > 0 else msgspec.structs.replace(_FIELDS, blocks=None)
    for lines, rows in rows_of(fields, file, findings):
        if head.format == FORMAT and len(lines) and lines[0] == 1:
            lines, rows = lines[1:], rows[1:]
        if rows:
            raw = raw_of(fields, lines, rows)
            assert raw.session is not None
            recorded = bool(np.any(raw.session != NO_REQUEST))
            yield raw if recorded else replace(raw, session=None, turn=None)


OWN = Format(
    name="caveat", title="caveat's own JSONL of requests", recognises=_recognises, read=_read, time="t_ns", unit="ns"
)
