"""Behaviour: everything that the endpoint is told to be, in one frozen record, and how it is read from TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from caveat.errors import InputError
from caveat.loopback.laws import Fixed, Law, parse_law
from caveat.workload import explained

Usage = Literal["asked", "own-chunk", "with-choices", "continuous", "never"]
FirstChunk = Literal["plain", "role", "null-content"]
FaultKind = Literal[
    "refuse",
    "reset-before-first-byte",
    "reset-after-first-token",
    "http",
    "wrong-content-type",
    "malformed",
    "truncated",
    "no-done",
    "stall",
    "slow-start",
    "missing-usage",
    "huge-line",
    "awkward-chunks",
]

_LAWS = ("ttft_s", "itl_s", "output_tokens")


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that goes wrong, for the requests of these numbers and for a share `rate` of all others.

    Requests are numbered from 0 in order of arrival, completions only.

    kind           refuse: no connection is taken for a while; reset-before-first-byte, reset-after-first-token: the
                   connection is torn down; http: an error's status; wrong-content-type: a page in place of an answer;
                   malformed: half-way an event's JSON lacks a bracket; truncated: the stream ends inside a line;
                   no-done: without its last event; stall: silence inside an event; slow-start: before the first;
                   missing-usage: nobody counts tokens; huge-line: a word as long as a book; awkward-chunks: the bytes
                   come in pieces of one to seven
    rate           share of the requests that it befalls, drawn from the behaviour's seed
    requests       numbers of those that it befalls for certain
    seconds        how long: stall, slow-start, refuse
    status         http: the status of the answer; 429 and 503 carry Retry-After of `seconds`, rounded up
    size_bytes     huge-line: length of the line
    """

    kind: FaultKind
    rate: float = 0.0
    requests: tuple[int, ...] = ()
    seconds: float = 1.0
    status: int = 500
    size_bytes: int = 10_000_000

    def __post_init__(self) -> None:
        _check("rate", self.rate, 0, 1)
        _check("seconds", self.seconds, 0, 3_600)
        _check("status", self.status, 400, 599)
        _check("size_bytes", self.size_bytes, 1, 1 << 28)


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the endpoint does. The default answers at once, in one event a token, without a fault.

    model                  name in every answer; requests may ask for any
    seed                   of every draw: delays, lengths, faults
    ttft_s                 from the start of service to the first token
    prefill_s_per_token    added to it for every prompt token that the prefix cache does not hold
    itl_s                  from one token to the next; drawn anew for each
    slots                  requests served at a time, the others wait in order of arrival; 0 is without limit
    output_tokens          length that an answer has of its own; None: as long as it may be
    default_output_tokens  length where neither the behaviour nor the request says one
    tokens_per_chunk       tokens in one event; it leaves when the first of them is due
    one_write              the whole stream in one write, when its last chunk is due
    early_head             the head of a streamed answer, and the first chunk without tokens, leave on arrival
    first_chunk            chat: the role comes with the first token, or before it with empty or null content
    reasoning_tokens       chat: so many first tokens come as `reasoning_field`
    tool_call_tokens       chat: so many last tokens come as arguments of a tool call
    usage                  "asked" does what stream_options asks for; the others do it always
    prefix_cache_blocks    blocks of 16 words that the prefix cache holds; 0 is without a cache
    context_tokens         a request whose prompt and answer are longer is refused
    body_bytes             a longer request body is refused
    log_requests           requests that the truth log holds, the newest
    loading_s              so long after the start everything but /loopback answers 503
    metrics_prefix         first word of the names on /metrics
    """

    model: str = "loopback"
    seed: int = 0
    ttft_s: Law = Fixed(0.0)
    prefill_s_per_token: float = 0.0
    itl_s: Law = Fixed(0.0)
    slots: int = 0
    output_tokens: Law | None = None
    default_output_tokens: int = 16
    tokens_per_chunk: int = 1
    one_write: bool = False
    early_head: bool = False
    first_chunk: FirstChunk = "plain"
    reasoning_tokens: int = 0
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    tool_call_tokens: int = 0
    usage: Usage = "asked"
    prefix_cache_blocks: int = 0
    context_tokens: int = 131_072
    body_bytes: int = 16 << 20
    log_requests: int = 100_000
    loading_s: float = 0.0
    metrics_prefix: str = "loopback"
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            _check(name, getattr(self, name), low, high)
        if "#" in self.model or not self.model:
            raise InputError(f"behaviour: model: found {self.model[:80]!r}, expected a name without '#'")
        if not (self.metrics_prefix.isascii() and self.metrics_prefix.isidentifier()):
            raise InputError(f"behaviour: metrics_prefix: found {self.metrics_prefix[:80]!r}, expected one plain word")


# field, smallest, largest value
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("seed", 0, (1 << 63) - 1),
    ("prefill_s_per_token", 0, 3_600),
    ("slots", 0, 1 << 20),
    ("default_output_tokens", 1, 1 << 20),
    ("tokens_per_chunk", 1, 1 << 20),
    ("reasoning_tokens", 0, 1 << 20),
    ("tool_call_tokens", 0, 1 << 20),
    ("prefix_cache_blocks", 0, 1 << 24),
    ("context_tokens", 2, 1 << 20),
    ("body_bytes", 1, 1 << 30),
    ("log_requests", 1, 1 << 24),
    ("loading_s", 0, 3_600),
)


def behaviour_of(values: Mapping[str, Any]) -> Behaviour:
    """The behaviour that plain values ask for: of a TOML table or of the command line.

    A law is a number, a text as in `parse_law`, or a table with its name under `law`. Raises InputError.
    """
    plain = dict(values)
    for name in _LAWS:
        if isinstance(plain.get(name), int | float | str):
            plain[name] = msgspec.to_builtins(parse_law(plain[name]))
    try:
        return msgspec.convert(plain, Behaviour)
    except msgspec.ValidationError as error:
        said = explained(error, plain, Behaviour)
        raise InputError(f"behaviour: {said}", next="docs/loopback.md has every name with its meaning") from None


def read_behaviour(path: Path) -> Behaviour:
    """The behaviour in a TOML file. Raises InputError, with the path."""
    try:
        return behaviour_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:  # TOML's and UTF-8's errors are ValueErrors
        raise InputError(f"{path}: {error}", next="give a readable TOML file") from None
    except InputError as error:
        raise InputError(f"{path}: {error.message}", next=error.next) from None


def _check(name: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"behaviour: {name}: found {value}, expected {low} to {high}")
