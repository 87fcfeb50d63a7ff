"""Chat completions: POST /v1/chat/completions.

What counts as a token: a delta whose content, reasoning, refusal or tool calls are not empty. The first chunk of
most servers has a role and empty or null content, the last has a finish reason or usage: none of these is one.
`reasoning_content` (DeepSeek, SGLang, older vLLM) and `reasoning` (vLLM, OpenRouter) are the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from caveat.loadgen.answers import PROMPT, Dialect, Text, Usage, joined


class Delta(msgspec.Struct, frozen=True):
    """What one event adds, or the message of a whole answer."""

    content: Text = None
    reasoning_content: Text = None
    reasoning: Text = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None


class EventChoice(msgspec.Struct, frozen=True):
    """One choice of an event."""

    delta: Delta | None = None
    finish_reason: str | None = None


class Event(msgspec.Struct, frozen=True):
    """One event; servers without choices leave them out or send null."""

    choices: list[EventChoice] | None = None
    usage: Usage | None = None
    error: Any = None


class WholeChoice(msgspec.Struct, frozen=True):
    """One choice of an answer that was not streamed; it must have a message."""

    message: Delta
    finish_reason: str | None = None

    @property
    def delta(self) -> Delta:
        """The message, under the name it has in an event."""
        return self.message


class Whole(msgspec.Struct, frozen=True):
    """An answer that was not streamed; without choices it must have an error."""

    choices: list[WholeChoice] | None = None
    usage: Usage | None = None
    error: Any = None


def says(answer: Event | Whole) -> bool:
    """Whether there is anything in it that a reader would see arrive."""
    for choice in answer.choices or ():
        delta = choice.delta
        if delta is not None and (
            delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls or delta.refusal
        ):
            return True
    return False


def text(answer: Event | Whole) -> str:
    """Reasoning and content of every choice. Tool calls are left out: how a server spells them is not known."""
    deltas = [choice.delta for choice in answer.choices or () if choice.delta is not None]
    return "".join(joined(d.reasoning_content) or joined(d.reasoning) for d in deltas) + "".join(
        joined(d.content) or d.refusal or "" for d in deltas
    )


def body() -> Mapping[str, object]:
    """One message of the user holds the whole prompt."""
    return {"messages": [{"role": "user", "content": PROMPT}]}


CHAT = Dialect(
    name="openai-chat",
    path="/v1/chat/completions",
    event=msgspec.json.Decoder(Event).decode,
    whole=msgspec.json.Decoder(Whole).decode,
    says=says,
    text=text,
    body=body,
    controlled=("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "min_tokens"),
)
