"""What the answers of the dialects have in common: usage, errors, and the typed reading of an event.

Events are decoded whole, by a typed decoder that builds only the fields named here. Measured on one event of 190
bytes: 0.34 µs; looking for substrings first cost 0.7 µs and could be fooled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
"""A server's count; what does not fit makes the event malformed."""

NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoders of a dialect raise at bytes that are not what it promises."""

Text = str | list[Any] | None
"""Most servers send a string, a few a list of parts."""


class PromptDetails(msgspec.Struct, frozen=True):
    """`usage.prompt_tokens_details`."""

    cached_tokens: Count | None = None


class CompletionDetails(msgspec.Struct, frozen=True):
    """`usage.completion_tokens_details`."""

    reasoning_tokens: Count | None = None


class Usage(msgspec.Struct, frozen=True):
    """The server's own counts of one answer."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def cached_tokens(self) -> int | None:
        """Prompt tokens from a cache, where the server says so."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None

    def reasoning_tokens(self) -> int | None:
        """Reasoning tokens, where the server says so."""
        return self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else None


class Choice(Protocol):
    """One choice of an answer, in any dialect."""

    @property
    def finish_reason(self) -> str | None:
        """Why it ended; None while it goes on."""
        ...


class Answer(Protocol):
    """One event, or a whole answer that was not streamed."""

    @property
    def choices(self) -> Any:
        """Choices, possibly none."""
        ...

    @property
    def usage(self) -> Usage | None:
        """Counts, where the server gives them."""
        ...

    @property
    def error(self) -> Any:
        """What the server reports to have gone wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API. To add one: a module that ends in such a record, and a line in dialects.py.

    path        below the endpoint's base path
    event       decodes one event of a stream; raises msgspec.MsgspecError
    whole       decodes an answer that was not streamed
    says        whether an event or answer holds any text, reasoning or tool call that is not empty
    text        that text, for a tokenizer of ours
    body        fields of the body around the prompt, whose place is marked by PROMPT
    controlled  fields that the plan decides and `extra_body` must not touch
    """

    name: str
    path: str
    event: Callable[[bytes], Answer]
    whole: Callable[[bytes], Answer]
    says: Callable[[Any], bool]
    text: Callable[[Any], str]
    body: Callable[[], Mapping[str, object]]
    controlled: tuple[str, ...]


PROMPT = "\x00prompt\x00"
"""Stands for the prompt in a body before its bytes are put in; a NUL cannot occur in one of ours."""


def joined(text: Text) -> str:
    """A text that may come in parts, as one string; parts without text count for nothing."""
    if isinstance(text, list):
        return "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    return text or ""
