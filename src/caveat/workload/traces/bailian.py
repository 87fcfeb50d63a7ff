"""Bailian (Qwen) JSONL: seconds, lengths, one id for each 16 tokens, and the chat that a chat continues.

A conversation is a chain of chats: it begins with one that has no parent, or one whose parent is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caveat.workload.plan import Int64
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import JsonFields, column, raw_of, rows_of
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw, number_of_name

_FIELDS = JsonFields(
    time="timestamp",
    input="input_length",
    output="output_length",
    turn="turn",
    blocks="hash_ids",
    others=("chat_id", "parent_chat_id"),
)
_ROOT = -1


def _recognises(head: Head) -> bool:
    return {"chat_id", "parent_chat_id", "timestamp", "input_length"} <= head.fields.keys()


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    first_chat: dict[int, int] = {}
    for lines, rows in rows_of(_FIELDS, file, findings):
        if rows:
            raw = raw_of(_FIELDS, lines, rows)
            sessions = _sessions(lines, rows, first_chat, findings)
            yield replace(raw, session=sessions)


def _sessions(lines: Int64, rows: Sequence[Any], first_chat: dict[int, int], findings: Findings) -> Int64:
    """The first chat of each row's conversation; `first_chat` knows it for every chat so far."""
    sessions = []
    for line, chat, parent in zip(lines, column(rows, "other_0"), column(rows, "other_1"), strict=True):
        mine = number_of_name(chat)
        first = mine
        if parent is not None and parent != _ROOT:
            known = first_chat.get(number_of_name(parent))
            if known is None:
                findings.add("parent-unknown", int(line))
            first = mine if known is None else known
        first_chat[mine] = first
        sessions.append(first)
    return np.array(sessions, np.int64)


BAILIAN = Format(
    name="bailian",
    title="Bailian JSONL (16-token hash blocks, parent chats)",
    recognises=_recognises,
    read=_read,
    unit="s",
    block_tokens=16,
)
