"""Text completions: POST /v1/completions. A token is a choice whose text is not empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from caveat.loadgen.answers import PROMPT, Dialect, Usage


class EventChoice(msgspec.Struct, frozen=True):
    """One choice of an event."""

    text: str | None = None
    finish_reason: str | None = None


class Event(msgspec.Struct, frozen=True):
    """One event; servers without choices leave them out or send null."""

    choices: list[EventChoice] | None = None
    usage: Usage | None = None
    error: Any = None


class WholeChoice(msgspec.Struct, frozen=True):
    """One choice of an answer that was not streamed; it must have a text."""

    text: str
    finish_reason: str | None = None


class Whole(msgspec.Struct, frozen=True):
    """An answer that was not streamed; without choices it must have an error."""

    choices: list[WholeChoice] | None = None
    usage: Usage | None = None
    error: Any = None


def says(answer: Event | Whole) -> bool:
    """Whether there is any text in it."""
    return any(choice.text for choice in answer.choices or ())


def text(answer: Event | Whole) -> str:
    """The text of every choice."""
    return "".join(choice.text or "" for choice in answer.choices or ())


def body() -> Mapping[str, object]:
    """The prompt stands as it is."""
    return {"prompt": PROMPT}


COMPLETIONS = Dialect(
    name="openai-completions",
    path="/v1/completions",
    event=msgspec.json.Decoder(Event).decode,
    whole=msgspec.json.Decoder(Whole).decode,
    says=says,
    text=text,
    body=body,
    controlled=("model", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "min_tokens"),
)
