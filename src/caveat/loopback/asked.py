"""Asked: what a completion request wants, read from its JSON body, or why it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from caveat.loopback.behaviour import Behaviour
from caveat.loopback.engine import LENGTH_DRAW
from caveat.loopback.laws import draw, uniform
from caveat.loopback.wire import ApiError
from caveat.loopback.words import prompt_words


class _Part(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class _Body(msgspec.Struct):
    """The members that both routes know; others are ignored, as real servers do."""

    n: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    min_tokens: int | None = None
    ignore_eos: bool | None = None


class _Chat(_Body, kw_only=True):
    messages: list[_Message]
    max_completion_tokens: int | None = None


class _Text(_Body, kw_only=True):
    prompt: str | list[str | int]


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A request that can be served.

    `words` are those of the prompt; ids of tokens count one each. `output_tokens` is the length of the answer that is
    going to be given, and `finish_reason` why it ends there.
    """

    chat: bool
    stream: bool
    words: Sequence[str | int]
    output_tokens: int
    finish_reason: Literal["stop", "length"]
    include_usage: bool = False
    continuous_usage: bool = False


_CHAT = msgspec.json.Decoder(_Chat)
_TEXT = msgspec.json.Decoder(_Text)


def read_asked(body: bytes, chat: bool, number: int, behaviour: Behaviour) -> Asked | ApiError:
    """What request number `number` asks for, with the length that its answer is going to have."""
    decoder: msgspec.json.Decoder[_Chat] | msgspec.json.Decoder[_Text] = _CHAT if chat else _TEXT
    try:
        read = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        where = re.search(r"\$\.(\w+)", str(error))
        return ApiError(400, str(error), where[1] if where else None)
    if read.n not in (None, 1):
        return ApiError(400, f"n: found {read.n}, expected 1: one answer a request", "n")
    words = list(_words(read))
    ends = _length(read, number, behaviour)
    if isinstance(ends, ApiError):
        return ends
    count, reason = ends
    if len(words) + count > behaviour.context_tokens:
        return ApiError(
            400,
            f"found {len(words)} + {count} tokens of prompt and answer, expected at most {behaviour.context_tokens}",
            "messages" if chat else "prompt",
        )
    options = read.stream_options or _StreamOptions()
    asked_usage = bool(options.include_usage)
    return Asked(
        chat,
        bool(read.stream),
        words,
        count,
        reason,
        asked_usage,
        asked_usage and bool(options.continuous_usage_stats),
    )


def _words(read: _Chat | _Text) -> Sequence[str | int]:
    if isinstance(read, _Chat):
        return prompt_words(_texts(read.messages))
    if isinstance(read.prompt, str):
        return read.prompt.split()
    # a list is one prompt here: token ids, or texts that follow each other
    return [word for part in read.prompt for word in (part.split() if isinstance(part, str) else (part,))]


def _texts(messages: list[_Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message.content, str):
            yield message.content
        else:
            yield from (part.text for part in message.content or () if part.text)


def _length(read: _Chat | _Text, number: int, behaviour: Behaviour) -> tuple[int, Literal["stop", "length"]] | ApiError:
    """Tokens of the answer and its finish reason.

    The length that an answer has of its own is raised to min_tokens and cut at max_tokens; ignore_eos goes on to
    max_tokens. Without any of them the answer has the default length.
    """
    most = read.max_tokens
    if isinstance(read, _Chat) and read.max_completion_tokens is not None:
        most = read.max_completion_tokens
    least = read.min_tokens or 0
    for name, value in (("max_tokens", most), ("min_tokens", least or None)):
        if value is not None and value < 1:
            return ApiError(400, f"{name}: found {value}, expected at least 1", name)
    if most is not None and least > most:
        return ApiError(400, f"min_tokens: found {least}, expected at most max_tokens, {most}", "min_tokens")
    own = _own_length(number, behaviour)
    if own is None or read.ignore_eos:
        if most is not None:
            return most, "length"
        own = own or behaviour.default_output_tokens
    own = max(own, least)
    return (own, "stop") if most is None or own < most else (most, "length")


def _own_length(number: int, behaviour: Behaviour) -> int | None:
    """The length drawn for the request, at least 1; None where answers have no length of their own."""
    law = behaviour.output_tokens
    return None if law is None else max(1, round(draw(law, uniform(behaviour.seed, LENGTH_DRAW, number))))
