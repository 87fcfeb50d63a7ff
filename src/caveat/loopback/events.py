"""Events: the JSON of an answer, as server-sent events or in one body, with its usage record.

Events are rendered with a place for the request's number and kept, since the same words come again and again: what is
left for a request is to put its number in.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from caveat.loopback.wire import frame
from caveat.loopback.words import WORDS, answer_words

NUMBER = "#" * 12
"""Where the request's number goes, twelve digits wide so that no length changes."""

CACHED_EVENTS = 64
"""Events that one entry of the cache holds at most: some 16 kB."""

DONE = b"data: [DONE]\n\n"
ARGUMENTS_OPEN = '{"words":"'
ARGUMENTS_CLOSE = '"}'

Field = Literal["content", "reasoning_content", "reasoning", "tool_calls"]
UsageWay = Literal["own-chunk", "with-choices", "continuous", "never"]


class Shape(NamedTuple):
    """All that distinguishes the bytes of one answer from those of another, but for its number.

    `cached_tokens` is None where there is no prefix cache, so that nothing is said of it; where it is the engine's own,
    until the first tokens.
    """

    model: str
    created: int
    chat: bool
    prompt_tokens: int
    cached_tokens: int | None
    output_tokens: int
    finish_reason: str
    usage: UsageWay
    first_chunk: str
    reasoning_field: Field
    reasoning_tokens: int
    tool_call_tokens: int

    @property
    def is_plain(self) -> bool:
        """Whether all tokens are content, and no event depends on how many came before it."""
        return not (self.reasoning_tokens or self.tool_call_tokens or self.usage == "continuous")

    @property
    def end_reason(self) -> str:
        """The finish reason; an answer that ends in a tool call says so."""
        return "tool_calls" if self.tool_call_tokens else self.finish_reason

    def fields(self, start: int, stop: int) -> Iterator[tuple[Field, int, int]]:
        """What tokens `start` to `stop` of the answer are: (field, first, past the last)."""
        answer_from, call_from = self.reasoning_tokens, self.output_tokens - self.tool_call_tokens
        spans: tuple[tuple[Field, int, int], ...] = (
            (self.reasoning_field, 0, answer_from),
            ("content", answer_from, call_from),
            ("tool_calls", call_from, self.output_tokens),
        )
        for name, low, high in spans:
            if max(start, low) < min(stop, high):
                yield name, max(start, low), min(stop, high)


def framed(shape: Shape, start: int, stop: int, each: int, *, opened: bool = False) -> bytes:
    """The events as chunks of a chunked body. Plain answers, nearly all of them, come out of a cache."""
    if not shape.is_plain or stop - start > CACHED_EVENTS * each:
        return b"".join(map(frame, events(shape, start, stop, each, opened=opened)))
    role = start == 0 and shape.first_chunk == "plain"
    data = _framed_plain(
        shape.model, shape.created, shape.chat, role, start == 0, start % len(WORDS), stop - start, each
    )
    if start == 0 and not opened:
        data = b"".join(map(frame, opening(shape))) + data
    return data + _framed_closing(shape) if stop == shape.output_tokens else data


def events(shape: Shape, start: int, stop: int, each: int, *, opened: bool = False) -> Iterator[bytes]:
    """The events of tokens `start` to `stop`, `each` tokens in one, and what comes before and after all of them.

    A field of the answer that ends inside an event ends the event. `opened`: what comes before has been sent.
    """
    if start == 0 and not opened:
        yield from opening(shape)
    for low in range(start, stop, each):
        yield from deltas(shape, low, min(low + each, stop))
    if stop == shape.output_tokens:
        yield from closing(shape)


def opening(shape: Shape) -> Iterator[bytes]:
    """The event before the first token, if there is one: the role, with empty or null content."""
    if shape.chat and shape.first_chunk != "plain":
        content = "" if shape.first_chunk == "role" else None
        yield _event(shape.model, shape.created, True, _choice({"role": "assistant", "content": content}))


def deltas(shape: Shape, start: int, stop: int) -> Iterator[bytes]:
    """The events that carry the tokens."""
    for name, low, high in shape.fields(start, stop):
        opens = low in (0, shape.reasoning_tokens, shape.output_tokens - shape.tool_call_tokens)
        role = low == 0 and shape.first_chunk == "plain"
        ends = name == "tool_calls" and high == shape.output_tokens
        count = usage(shape, high) if shape.usage == "continuous" else None
        if count is None:
            yield _kept(shape.model, shape.created, shape.chat, name, low % len(WORDS), high - low, opens, role, ends)
        else:
            choice = _delta(shape.chat, name, low, high - low, opens, role, ends)
            yield _event(shape.model, shape.created, shape.chat, choice, count)


def closing(shape: Shape) -> tuple[bytes, ...]:
    """The event with the finish reason, the usage where it is told, and the end of the stream."""
    last = _choice({}, shape.end_reason) if shape.chat else _text("", shape.end_reason)
    total = None if shape.usage == "never" else usage(shape, shape.output_tokens)
    with_choices = total if shape.usage in ("with-choices", "continuous") else None
    end = _event(shape.model, shape.created, shape.chat, last, with_choices)
    if shape.usage not in ("own-chunk", "continuous"):
        return end, DONE
    return end, _event(shape.model, shape.created, shape.chat, None, total), DONE


def body(shape: Shape) -> bytes:
    """The answer in one JSON body, as a request without `stream` gets it."""
    spans = {name: (low, high) for name, low, high in shape.fields(0, shape.output_tokens)}
    if shape.chat:
        choice = {"index": 0, "message": _message(spans), "finish_reason": shape.end_reason}
    else:
        choice = {"index": 0, "text": answer_words(0, shape.output_tokens), "finish_reason": shape.end_reason}
    record = _record("chat.completion" if shape.chat else "text_completion", shape.chat, shape.model, shape.created)
    record["choices"] = [choice]
    if shape.usage != "never":
        record["usage"] = usage(shape, shape.output_tokens)
    return msgspec.json.encode(record)


def usage(shape: Shape, told: int) -> dict[str, Any]:
    """The usage record after `told` tokens of the answer."""
    record: dict[str, Any] = {
        "prompt_tokens": shape.prompt_tokens,
        "completion_tokens": told,
        "total_tokens": shape.prompt_tokens + told,
    }
    if shape.cached_tokens is not None:
        record["prompt_tokens_details"] = {"cached_tokens": shape.cached_tokens}
    if shape.reasoning_tokens:
        record["completion_tokens_details"] = {"reasoning_tokens": min(told, shape.reasoning_tokens)}
    return record


def numbered(data: bytes, number: int) -> bytes:
    """Bytes of an answer with the request's number in place."""
    return data.replace(_NUMBER, b"%012d" % number)


_NUMBER = NUMBER.encode()


@lru_cache(maxsize=4096)
def _framed_closing(shape: Shape) -> bytes:
    return b"".join(map(frame, closing(shape)))


@lru_cache(maxsize=4096)
def _framed_plain(
    model: str, created: int, chat: bool, role: bool, opens: bool, word: int, count: int, each: int
) -> bytes:
    """Events of an answer without reasoning and tool calls, `count` words from word number `word` on."""
    parts = []
    for low in range(0, count, each):
        is_first = low == 0
        number, some = (word + low) % len(WORDS), min(each, count - low)
        parts.append(_kept(model, created, chat, "content", number, some, opens and is_first, role and is_first, False))
    return b"".join(map(frame, parts))


@lru_cache(maxsize=4096)
def _kept(
    model: str, created: int, chat: bool, name: Field, word: int, count: int, opens: bool, role: bool, ends: bool
) -> bytes:
    return _event(model, created, chat, _delta(chat, name, word, count, opens, role, ends))


def _delta(chat: bool, name: Field, word: int, count: int, opens: bool, role: bool, ends: bool) -> dict[str, Any]:
    """The choice that carries `count` words from word number `word` on, spaced but for the first of a field."""
    text = ("" if opens else " ") + answer_words(word, count)
    if not chat:
        return _text(text)
    delta: dict[str, Any] = {"role": "assistant"} if role else {}
    if name == "tool_calls":
        text = (ARGUMENTS_OPEN if opens else "") + text + (ARGUMENTS_CLOSE if ends else "")
        delta[name] = [_call(text) if opens else {"index": 0, "function": {"arguments": text}}]
    else:
        delta[name] = text
    return _choice(delta)


def _message(spans: dict[Field, tuple[int, int]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for name, (low, high) in spans.items():
        text = answer_words(low % len(WORDS), high - low)
        message[name] = [_call(ARGUMENTS_OPEN + text + ARGUMENTS_CLOSE)] if name == "tool_calls" else text
    return message


def _call(arguments: str) -> dict[str, Any]:
    function = {"name": "say", "arguments": arguments}
    return {"index": 0, "id": f"call-{NUMBER}", "type": "function", "function": function}


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _text(text: str, reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "text": text, "finish_reason": reason}


def _event(
    model: str, created: int, chat: bool, choice: dict[str, Any] | None, count: dict[str, Any] | None = None
) -> bytes:
    record = _record("chat.completion.chunk" if chat else "text_completion", chat, model, created)
    record["choices"] = [] if choice is None else [choice]
    if count is not None:
        record["usage"] = count
    return b"data: " + msgspec.json.encode(record) + b"\n\n"


def _record(kind: str, chat: bool, model: str, created: int) -> dict[str, Any]:
    return {"id": f"{'chatcmpl' if chat else 'cmpl'}-{NUMBER}", "object": kind, "created": created, "model": model}
