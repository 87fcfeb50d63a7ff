"""Faults: which request one befalls, and what it makes of the bytes of the answer.

Two kinds. Some faults take the place of the answer (see endpoint.py): refuse, reset-before-first-byte, http,
wrong-content-type. The others befall one part of an answer that is otherwise served, and are pure functions here: from
the bytes of that part to the steps that are carried out in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from caveat.loopback.behaviour import Behaviour, Fault
from caveat.loopback.engine import FAULT_DRAW, SPLIT_DRAW
from caveat.loopback.laws import uniform

INSTEAD = frozenset({"refuse", "reset-before-first-byte", "http", "wrong-content-type"})
HTML = b"<!doctype html><title>Sign in</title><p>Please sign in to continue.</p>\n"


# up to the first word of a text that is not empty, in an event or a body
_TEXT_START = re.compile(rb'"(?:content|reasoning_content|reasoning|text|arguments)":"(?:\{\\"words\\":\\")? ?(?=[^"])')


class Hold(NamedTuple):
    """Write nothing for this answer for so long."""

    seconds: float


class End(Enum):
    """The connection ends here."""

    RESET = "the peer sees a reset"
    CLOSE = "the peer sees the end of the stream"


Step = bytes | Hold | End
"""What is done in turn: bytes are written in one piece, as one chunk of the body."""


class Place(Enum):
    """The part of an answer that a fault befalls: one write of tokens."""

    FIRST = "the first"
    MIDDLE = "the one in which half of the tokens are passed"
    LAST = "the last"
    EVERY = "every one"


class Part(NamedTuple):
    """The bytes of one write, before they are framed; `is_stream` where they are events."""

    data: bytes
    is_stream: bool
    number: int
    place: int


def fault_of(behaviour: Behaviour, number: int) -> Fault | None:
    """The first fault of the behaviour that befalls request `number`."""
    for place, fault in enumerate(behaviour.faults):
        if number in fault.requests:
            return fault
        if fault.rate and uniform(behaviour.seed, FAULT_DRAW, place, number) < fault.rate:
            return fault
    return None


def _slow_start(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    return Hold(fault.seconds), part.data


def _stall(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    """Half of an event, silence, the other half."""
    cut = _inside_a_line(part.data)
    return part.data[:cut], Hold(fault.seconds), part.data[cut:]


def _reset(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    return part.data, End.RESET


def _truncated(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    return part.data[: _inside_a_line(part.data)], End.CLOSE


def _malformed(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    """The JSON of the first event loses its last bracket; the lines around it stay whole."""
    if part.is_stream:
        return (part.data.replace(b"}\n\n", b"\n\n", 1),)
    return (part.data.removesuffix(b"}"),)


def _no_done(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    """HTTP ends well, the stream of events does not. An answer in one body is as it was."""
    return (part.data.removesuffix(b"data: [DONE]\n\n"),)


def _huge_line(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    """A word of the answer becomes as long as the fault says: still one word, in one line."""
    text = _TEXT_START.search(part.data)
    at = text.end() if text else 0
    return (part.data[:at] + b"a" * fault.size_bytes + part.data[at:],)


def _awkward(fault: Fault, part: Part, seed: int) -> Sequence[Step]:
    """Pieces of one to seven bytes, cutting lines, escapes and characters."""
    pieces: list[Step] = []
    at = 0
    while at < len(part.data):
        size = 1 + int(7 * uniform(seed, SPLIT_DRAW, part.number, part.place, at))
        pieces.append(part.data[at : at + size])
        at += size
    return pieces


# kind, the part that it befalls, what becomes of it. missing-usage changes the rendering instead: no usage is told.
WITHIN: dict[str, tuple[Place, Callable[[Fault, Part, int], Sequence[Step]]]] = {
    "slow-start": (Place.FIRST, _slow_start),
    "reset-after-first-token": (Place.FIRST, _reset),
    "stall": (Place.MIDDLE, _stall),
    "truncated": (Place.MIDDLE, _truncated),
    "malformed": (Place.MIDDLE, _malformed),
    "huge-line": (Place.MIDDLE, _huge_line),
    "no-done": (Place.LAST, _no_done),
    "awkward-chunks": (Place.EVERY, _awkward),
}


def steps(fault: Fault, part: Part, seed: int, start: int, stop: int, total: int) -> Sequence[Step]:
    """What is done in place of writing the part with tokens `start` to `stop` of `total`."""
    place, befall = WITHIN[fault.kind]
    here = {
        Place.FIRST: start == 0,
        Place.MIDDLE: start <= total // 2 < stop,
        Place.LAST: stop == total,
        Place.EVERY: True,
    }[place]
    return befall(fault, part, seed) if here else (part.data,)


def _inside_a_line(data: bytes) -> int:
    """A place inside the first line, past its middle, so that a part of the JSON is there."""
    end = data.find(b"\n")
    return max(1, (len(data) if end < 0 else end) * 2 // 3)
