"""The bytes of a request: rendered once around two gaps, so that making one is joining five pieces.

How long the answer may be is said by `Decoding`; everything in it is a condition of the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from caveat.errors import UsageError
from caveat.loadgen.answers import PROMPT, Dialect
from caveat.loadgen.dialects import DIALECTS
from caveat.loadgen.endpoint import Endpoint

USER_AGENT = "caveat"
_TOKENS = 987654321987654321  # stands for the number of tokens while the body is rendered


class Decoding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the server is to generate.

    limit_field    name under which the wanted length goes; None where the plan's length is not sent at all
    exact_length   also `min_tokens` and `ignore_eos`: engines that know them answer with exactly that length
    temperature    and seed: None leaves the server's default
    """

    limit_field: str | None = "max_tokens"
    exact_length: bool = True
    temperature: float | None = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.limit_field not in ("max_tokens", "max_completion_tokens", None):
            found = str(self.limit_field)[:80]
            raise UsageError(f"decoding.limit_field: found {found!r}, expected max_tokens or max_completion_tokens")
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise UsageError(f"decoding.temperature: found {self.temperature}, expected 0 or more")
        if self.exact_length and self.limit_field is None:
            raise UsageError("decoding: found exact_length without a limit_field, expected a length to be exact about")

    def fields(self) -> dict[str, object]:
        """The body's fields; lengths are still gaps."""
        lengths: dict[str, object] = {} if self.limit_field is None else {self.limit_field: _TOKENS}
        if self.exact_length:
            lengths |= {"min_tokens": _TOKENS, "ignore_eos": True}
        chosen = {"temperature": self.temperature, "seed": self.seed}
        return lengths | {key: value for key, value in chosen.items() if value is not None}

    def describe(self) -> str:
        """As the condition `decoding` says it: `temperature 0, exact length`."""
        parts = [
            "server's temperature" if self.temperature is None else f"temperature {self.temperature:g}",
            f"seed {self.seed}" if self.seed is not None else "",
            "exact length asked for" if self.exact_length else "" if self.limit_field else "no limit sent",
        ]
        return ", ".join(part for part in parts if part)


class RequestBytes:
    """Makes the bytes of each request of one endpoint.

    The prompt must be given as the inside of a JSON string (see `escaped`). Raises UsageError where `extra_body`
    names a field that the plan decides.
    """

    __slots__ = ("_after", "_before", "_head", "_middle")

    def __init__(self, endpoint: Endpoint, decoding: Decoding, environ: Mapping[str, str] | None = None) -> None:
        dialect = DIALECTS[endpoint.dialect]
        body = msgspec.json.encode(_body(endpoint, dialect, decoding))
        before, _, after = body.partition(escaped(PROMPT))
        # Dicts keep their order: first the prompt, then the lengths (none, one or two), then what the user adds.
        lengths = list(decoding.fields().values()).count(_TOKENS)
        first, *others = after.split(b"%d" % _TOKENS, lengths)
        self._head = _head(endpoint, dialect, environ)
        self._before, self._middle = before, first
        self._after = tuple(others)

    def make(self, prompt: bytes, output_tokens: int) -> bytes:
        """Head and body of one request."""
        tokens = b"%d" % output_tokens
        tail = b"".join([tokens + piece for piece in self._after])
        size = len(self._before) + len(prompt) + len(self._middle) + len(tail)
        return b"".join((self._head, b"%d\r\n\r\n" % size, self._before, prompt, self._middle, tail))


def escaped(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON string."""
    return msgspec.json.encode(text)[1:-1]


def _body(endpoint: Endpoint, dialect: Dialect, decoding: Decoding) -> dict[str, object]:
    fields = decoding.fields()
    taken = [key for key in endpoint.extra_body if key in dialect.controlled or key in fields]
    if taken:
        raise UsageError(
            f"endpoint.extra_body: found {', '.join(sorted(taken))}, which the plan and the decoding decide",
            next="leave it out, or change the workload or the decoding",
        )
    streaming: dict[str, object] = {"stream": endpoint.stream}
    if endpoint.stream:
        streaming["stream_options"] = {"include_usage": True}
    return {"model": endpoint.model, **streaming, **dialect.body(), **fields, **endpoint.extra_body}


def _head(endpoint: Endpoint, dialect: Dialect, environ: Mapping[str, str] | None) -> bytes:
    address = endpoint.address()
    headers = {
        "host": address.host_header,
        "user-agent": USER_AGENT,
        "accept": "text/event-stream" if endpoint.stream else "application/json",
        "content-type": "application/json",
    }
    key = endpoint.key(environ)
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    headers |= {name.lower(): value for name, value in endpoint.headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {address.base}{dialect.path} HTTP/1.1\r\n{lines}content-length: ".encode("latin-1")
