"""Logs of requests: tokens from usage, text measured and dropped, shared beginnings seen without keeping them."""

from typing import Any

from caveat.workload import describe_trace, read_trace
from tests.workload.traces.samples import codes, jsonl, rows

SYSTEM = "You are the assistant of a bank with many branches. " * 60


def logged(second: int, *texts: str, **more) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"created": 1700000000 + second, "messages": [{"role": "system", "content": SYSTEM}, *messages]} | more


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def test_tokens_are_those_of_usage(tmp_path):
    """Whether at the top or in the response."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([logged(0, "a", **usage(900, 3)), logged(1, "b") | {"response": {"body": usage(901, 4)}}]))
    assert [row[1:3] for row in rows(read_trace(path).recording)] == [(900, 3), (901, 4)]


def test_without_usage_lengths_are_estimated_and_said_to_be(tmp_path):
    """Four bytes a token, prompt and answer."""
    answer = {"choices": [{"message": {"content": "x" * 40}}]}
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([{"created": 1700000000, "prompt": "y" * 401} | answer]))
    read = read_trace(path)
    assert [row[1:3] for row in rows(read.recording)] == [(101, 10)]
    assert codes(read.problems) == {"tokens-estimated": [1], "text-dropped": [1]}


def test_shared_beginnings_are_seen(tmp_path):
    """Requests with one system prompt have its blocks in common, and no others."""
    long = "tell me about this account: " * 40
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([logged(n, f"{n}{long}", **usage(1100, 3)) for n in range(3)]))
    shared = [row[5] for row in rows(read_trace(path).recording)]
    common = len(SYSTEM) // 512
    assert {tuple(ids[:common]) for ids in shared} == {tuple(shared[0][:common])}
    assert len({ids[common] for ids in shared}) == 3


def test_no_text_is_kept(tmp_path):
    """Not in the recording, and not as hashes that could be tried against guesses: two readings number alike."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([logged(n, "the secret word", **usage(900, 3)) for n in range(2)]))
    first, second = read_trace(path).recording, read_trace(path).recording
    assert "secret" not in repr(first)
    assert first.prefix_blocks.tolist() == second.prefix_blocks.tolist() == [*range(6), *range(6)]


def test_lines_of_any_shape_are_harmless(tmp_path):
    """Fields of the wrong kind give a length that is missing, or nothing."""
    strange = [
        {"created": 1700000000, "messages": "hello", "usage": []},
        {"created": 1700000001, "messages": [1, None, {"content": [{"text": 5}, "x"]}], **usage(5, 5)},
        {"created": 1700000002, "choices": [None, {"message": 3, "text": "abcd"}], "prompt": "abcd"},
        {"created": [], "request": {"body": 7}, **usage(5, 5)},
        {"created": 1700000003, "usage": {"prompt_tokens": True, "completion_tokens": "8"}},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl(strange))
    read = read_trace(path, format="request-log")
    assert [row[1:3] for row in rows(read.recording)] == [(5, 5), (1, 1)]
    assert codes(read.problems)["length-missing"] == [1, 5]
    assert codes(read.problems)["time-missing"] == [4]


def test_prompts_shorter_than_a_block_leave_reuse_unknown(tmp_path):
    """Unknown is not zero."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([{"created": 1700000000 + n, "prompt": "short", **usage(9, 3)} for n in range(4)]))
    described = describe_trace(read_trace(path).recording)
    assert described.prefixes is None
    assert "no prompt lists a block of 128 tokens, so reuse is unknown, not zero" in described.notes
