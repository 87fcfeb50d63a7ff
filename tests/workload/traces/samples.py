"""Small traces of every format, recordings from few words, and the public traces where they are at hand."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat.workload import Recording, TraceSource, read_trace
from tests.builders import SHARED

TRACES = SHARED / "data" / "traces"
MOONCAKE = TRACES / "mooncake-fast25" / "conversation_trace.jsonl"
AZURE = TRACES / "azure-llm-2023" / "AzureLLMInferenceTrace_conv.csv"
needs_traces = pytest.mark.skipif(not MOONCAKE.exists(), reason="the public traces are not beside the checkout")

SECOND = 10**9


def jsonl(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FILES: dict[str, tuple[str, str]] = {
    "mooncake": (
        "mooncake.jsonl",
        jsonl(
            [
                {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]},
                {"timestamp": 1500, "input_length": 1600, "output_length": 6, "hash_ids": [7, 8, 9, 10]},
                {"timestamp": 2750, "input_length": 500, "output_length": 7, "hash_ids": [11]},
            ]
        ),
    ),
    "bailian": (
        "qwen.jsonl",
        jsonl(
            [
                {
                    "chat_id": 41,
                    "parent_chat_id": -1,
                    "timestamp": 10.0,
                    "input_length": 1000,
                    "output_length": 5,
                    "type": "text",
                    "turn": 1,
                    "hash_ids": [7, 8],
                },
                {
                    "chat_id": 42,
                    "parent_chat_id": 41,
                    "timestamp": 11.5,
                    "input_length": 1600,
                    "output_length": 6,
                    "type": "text",
                    "turn": 2,
                    "hash_ids": [7, 8, 9, 10],
                },
                {
                    "chat_id": 43,
                    "parent_chat_id": -1,
                    "timestamp": 12.75,
                    "input_length": 500,
                    "output_length": 7,
                    "type": "file",
                    "turn": 1,
                    "hash_ids": [11],
                },
            ]
        ),
    ),
    "azure": (
        "azure.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:17:03.9799600,1000,5\n"
        "2023-11-16 18:17:05.4799600,1600,6\n"
        "2023-11-16 18:17:06.7299600,500,7\n",
    ),
    "azure 2024": (
        "azure24.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-05-10 23:59:59.250000+00:00,1000,5\n"
        "2024-05-11 00:00:00.750000+00:00,1600,6\n"
        "2024-05-11 00:00:02+00:00,500,7\n",
    ),
    "burstgpt": (
        "BurstGPT.csv",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,1000,5,1005,Conversation log\n"
        "6.5,GPT-4,1600,6,1606,API log\n"
        "7.75,ChatGPT,500,7,507,Conversation log\n",
    ),
    "bench-jsonl": (
        "aiperf.jsonl",
        jsonl(
            [
                {"session_id": "a", "timestamp": 0, "input_length": 1000, "output_length": 5},
                {"session_id": "a", "delay": 1500, "input_length": 1600, "output_length": 6},
                {"session_id": "b", "timestamp": 2750, "input_length": 500, "output_length": 7},
            ]
        ),
    ),
    "request-log": (
        "gateway.jsonl",
        jsonl(
            [
                {"created": 1700000000, "usage": {"prompt_tokens": 1000, "completion_tokens": 5}, "messages": []},
                {"created": 1700000001.5, "response": {"usage": {"prompt_tokens": 1600, "completion_tokens": 6}}},
                {"created": 1700000002.75, "usage": {"input_tokens": 500, "output_tokens": 7}},
            ]
        ),
    ),
    "generic csv": (
        "mine.csv",
        "arrival_ms;Input Tokens;output_tokens\n100;1000;5\n1600;1600;6\n2850;500;7\n",
    ),
    "generic jsonl": (
        "mine.jsonl",
        jsonl(
            [
                {"start_time_s": 3, "prompt_tokens": 1000, "completion_tokens": 5},
                {"start_time_s": 4.5, "prompt_tokens": 1600, "completion_tokens": 6},
                {"start_time_s": 5.75, "prompt_tokens": 500, "completion_tokens": 7},
            ]
        ),
    ),
    "caveat": (
        "own.jsonl",
        jsonl(
            [
                {"format": "caveat-trace-rows/1", "block_tokens": 512, "grid_ns": 0, "transformations": ["first 9 s"]},
                {"t_ns": 0, "input_tokens": 1000, "output_tokens": 5, "session": 0, "turn": 0, "blocks": [7, 8]},
                {
                    "t_ns": 1500000000,
                    "input_tokens": 1600,
                    "output_tokens": 6,
                    "session": 0,
                    "turn": 1,
                    "blocks": [7, 8, 9, 10],
                },
                {"t_ns": 2750000000, "input_tokens": 500, "output_tokens": 7, "session": 1, "turn": 0, "blocks": [11]},
            ]
        ),
    ),
}
"""One file for each format, all of the same three requests, the first two a conversation where the format has them."""


def written(folder: Path, name: str) -> Path:
    """A file of FILES in a folder."""
    path = folder / FILES[name][0]
    path.write_text(FILES[name][1])
    return path


def recording(
    t_ns: Sequence[int],
    input_tokens: Sequence[int] | None = None,
    output_tokens: Sequence[int] | None = None,
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    sessions: Sequence[int] | None = None,
    block_tokens: int = 16,
    grid_ns: int = 0,
) -> Recording:
    """A recording from plain lists; lengths are 100 and 10 unless given."""
    count = len(t_ns)
    columns = {"t_ns": np.array(t_ns, np.int64)}
    columns["input_tokens"] = np.array(input_tokens if input_tokens is not None else [100] * count, np.int64)
    columns["output_tokens"] = np.array(output_tokens if output_tokens is not None else [10] * count, np.int64)
    if blocks is not None:
        columns["prefix_ends"] = np.cumsum([len(some) for some in blocks]).astype(np.int64)
        columns["prefix_blocks"] = np.array([one for some in blocks for one in some], np.int64)
    if sessions is not None:
        columns["session"] = np.array(sessions, np.int64)
        columns["turn"] = np.array([list(sessions[:place]).count(s) for place, s in enumerate(sessions)], np.int64)
    source = TraceSource(name="test", format="test", grid_ns=grid_ns)
    return Recording(**columns, block_tokens=block_tokens if blocks is not None else 0, source=source)


def rows(trace: Recording) -> list[tuple[Any, ...]]:
    """Every request: time, input, output, session, turn, blocks; None where not recorded."""
    count = len(trace)
    ends = trace.prefix_ends.tolist()
    ids = trace.prefix_blocks.tolist()
    lists = [ids[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)] if ends else [None] * count
    sessions = trace.session.tolist() or [None] * count
    turns = trace.turn.tolist() or [None] * count
    columns = (trace.t_ns.tolist(), trace.input_tokens.tolist(), trace.output_tokens.tolist())
    return list(zip(*columns, sessions, turns, lists, strict=True))


def mooncake() -> Recording:
    """The public conversation trace."""
    return read_trace(MOONCAKE).recording


def codes(problems: Iterable[Any]) -> dict[str, list[int | None]]:
    """Lines by code of problem."""
    found: dict[str, list[int | None]] = {}
    for problem in problems:
        found.setdefault(problem.code, []).append(problem.line)
    return found
