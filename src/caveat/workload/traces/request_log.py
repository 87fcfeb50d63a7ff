"""Logs of OpenAI-style requests as JSONL: usage, creation time, messages. Text is measured and dropped at once.

Lengths are those of `usage`; without it they are estimated from the text and said to be. What prompts share is seen
by hashing the running text every 512 bytes under a key made for this reading: the hashes tell equal beginnings, and
cannot be tried against guesses afterwards, for the key is gone and the ids are numbered anew.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from caveat.workload.traces.clock import Times
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import times_column
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw, block_columns, names_column, tokens_column

BYTES_A_TOKEN = 4
BLOCK_TOKENS = 128
_BLOCK_BYTES = BYTES_A_TOKEN * BLOCK_TOKENS
_MAX_BLOCKS = 8192

_TIMES = ("created", "created_at", "timestamp", "time", "start_time", "ts")
_SESSIONS = ("session_id", "conversation_id", "thread_id")
_INPUT_COUNTS = ("prompt_tokens", "input_tokens")
_OUTPUT_COUNTS = ("completion_tokens", "output_tokens")
_PARTS = ("request", "response", "body", "payload")


def _recognises(head: Head) -> bool:
    merged = _merged(head.fields)
    return ("messages" in merged or "usage" in merged or "prompt" in merged) and any(t in merged for t in _TIMES)


def _merged(line: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line and of the request and response inside it; the outer ones win."""
    inner: dict[str, Any] = {}
    for part in _PARTS:
        value = line.get(part)
        if isinstance(value, dict):
            inner.update({**value.get("body", {}), **value} if isinstance(value.get("body"), dict) else value)
    return {**inner, **line}


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    key = secrets.token_bytes(16)
    for piece in file.pieces():
        rows = list(_rows(piece.data.split(b"\n"), piece.first_line, decoder, key, findings))
        if rows:
            yield _raw(rows)


class _Measured(msgspec.Struct, frozen=True):
    line: int
    time: Any
    session: Any
    input_tokens: Any
    output_tokens: Any
    blocks: list[int]


def _rows(
    lines: Iterable[bytes], first: int, decoder: msgspec.json.Decoder[dict[str, Any]], key: bytes, findings: Findings
) -> Iterator[_Measured]:
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            fields = _merged(decoder.decode(line.decode("utf-8", "replace")))
        except (msgspec.DecodeError, RecursionError):
            findings.add("line-malformed", number)  # the decoder's words may quote the line
            continue
        yield _measured(number, fields, key, findings)


def _measured(number: int, fields: Mapping[str, Any], key: bytes, findings: Findings) -> _Measured:
    usage = fields.get("usage") if isinstance(fields.get("usage"), dict) else {}
    assert isinstance(usage, dict)
    prompt = _prompt_bytes(fields)
    answer = _answer_bytes(fields)
    if prompt or answer:
        findings.add("text-dropped", number)
    input_tokens, output_tokens = _first(usage, _INPUT_COUNTS), _first(usage, _OUTPUT_COUNTS)
    if (input_tokens is None and prompt) or (output_tokens is None and answer):
        findings.add("tokens-estimated", number)
    return _Measured(
        line=number,
        time=_first(fields, _TIMES),
        session=_first(fields, _SESSIONS),
        input_tokens=input_tokens if input_tokens is not None else _estimate(prompt),
        output_tokens=output_tokens if output_tokens is not None else _estimate(answer),
        blocks=_hashes(prompt, key, input_tokens),
    )


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _estimate(text: bytes) -> int | None:
    return -(-len(text) // BYTES_A_TOKEN) if text else None


def _prompt_bytes(fields: Mapping[str, Any]) -> bytes:
    prompt = fields.get("prompt")
    if isinstance(prompt, str):
        return prompt.encode("utf-8", "replace")
    messages = fields.get("messages")
    return b"".join(_message_bytes(message) for message in messages) if isinstance(messages, list) else b""


def _message_bytes(message: Any) -> bytes:
    if not isinstance(message, dict):
        return b""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    text = "".join(text for text in texts if isinstance(text, str))
    return f"{message.get('role')}\n{text}\n".encode("utf-8", "replace")


def _answer_bytes(fields: Mapping[str, Any]) -> bytes:
    choices = fields.get("choices")
    found = []
    for choice in choices if isinstance(choices, list) else []:
        message = choice.get("message") if isinstance(choice, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        text = choice.get("text") if text is None and isinstance(choice, dict) else text
        if isinstance(text, str):
            found.append(text.encode("utf-8", "replace"))
    return b"".join(found)


def _hashes(prompt: bytes, key: bytes, tokens: object) -> list[int]:
    """A hash for each whole block, of it and all before it; no more than the prompt has tokens for."""
    count = min(len(prompt) // _BLOCK_BYTES, _MAX_BLOCKS)
    if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
        count = min(count, tokens // BLOCK_TOKENS)
    running = hashlib.blake2b(key=key, digest_size=8)
    found = []
    for place in range(count):
        running.update(prompt[place * _BLOCK_BYTES : (place + 1) * _BLOCK_BYTES])
        found.append(int.from_bytes(running.digest(), "little") >> 1)
    return found


def _raw(rows: list[_Measured]) -> Raw:
    times: Times = times_column([row.time for row in rows])
    ends, blocks = block_columns([row.blocks for row in rows])
    return Raw(
        line=np.array([row.line for row in rows], np.int64),
        time=times,
        input_tokens=tokens_column([row.input_tokens for row in rows]),
        output_tokens=tokens_column([row.output_tokens for row in rows]),
        session=names_column(row.session for row in rows),
        ends=ends,
        blocks=blocks,
    )


def name_of_time(head: Head) -> str:
    """The field of times in this file."""
    merged = _merged(head.fields)
    return next((name for name in _TIMES if name in merged), _TIMES[0])


REQUEST_LOG = Format(
    name="request-log",
    title="OpenAI-style request log JSONL (messages, usage, created)",
    recognises=_recognises,
    read=_read,
    time="created",
    block_tokens=BLOCK_TOKENS,
)
