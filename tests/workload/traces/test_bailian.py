"""Chains of chats become conversations."""

from typing import Any

from caveat.workload import read_trace
from tests.workload.traces.samples import codes, jsonl, rows


def chat(number: int, parent: int, second: float) -> dict[str, Any]:
    return {
        "chat_id": number,
        "parent_chat_id": parent,
        "timestamp": second,
        "input_length": 40,
        "output_length": 5,
        "type": "text",
        "turn": 1,
        "hash_ids": [number],
    }


def test_a_conversation_is_the_chain_of_its_parents(tmp_path):
    """Also where two chats continue the same one; a parent outside the file begins a new conversation."""
    path = tmp_path / "trace.jsonl"
    path.write_text(jsonl([chat(1, -1, 0), chat(2, 1, 1), chat(3, 99, 2), chat(4, 2, 3), chat(5, 1, 4), chat(6, 3, 5)]))
    read = read_trace(path)
    assert [row[3] for row in rows(read.recording)] == [0, 0, 1, 0, 0, 1]
    assert [row[4] for row in rows(read.recording)] == [0, 1, 0, 2, 3, 1]
    assert codes(read.problems)["parent-unknown"] == [3]
