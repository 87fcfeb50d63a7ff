"""Answer: one answer on its way. It takes the tokens that the engine says are due, and writes them.

`SoundAnswer` serves nearly all requests and is the hot path; `FaultyAnswer` serves those that a fault befalls inside
the answer. The endpoint holds one of them for each request from its arrival to its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from caveat.loopback.behaviour import Behaviour, Fault
from caveat.loopback.connection import Connection
from caveat.loopback.events import Shape, body, events, framed, numbered, opening
from caveat.loopback.faults import End, Hold, Part, Step, steps
from caveat.loopback.truth import Witness, now_ns
from caveat.loopback.wire import CHUNKED_HEAD, JSON, LAST_FRAME, STREAM_HEAD, frame, response
from caveat.units import NS_PER_S

_JSON_HEAD = CHUNKED_HEAD.format(JSON).encode()

Over = Callable[[int, str], None]
"""Told the number and the outcome when an answer is over, before its last bytes leave: who has read the end of an
answer finds it in the log."""

Later = Callable[[float, Callable[[], None]], None]
"""Calls something back after so many seconds."""


class Answer(Protocol):
    """What the endpoint knows of an answer."""

    connection: Connection
    witness: Witness

    @property
    def sent_tokens(self) -> int:
        """Tokens written so far."""
        ...

    def open(self) -> None:
        """Write what can be written before the first token is due."""
        ...

    def found(self, cached_tokens: int) -> None:
        """So much of the prompt was cached, which is known with the first tokens and told in the usage record."""
        ...

    def emit(self, due_ns: int, tokens: int) -> None:
        """Write the next tokens, which were due at `due_ns`; the last ones end the answer."""
        ...


class SoundAnswer:
    """An answer as it should be."""

    __slots__ = ("_each", "_number", "_opened", "_over", "_sent", "_shape", "_stream", "connection", "witness")

    def __init__(
        self, connection: Connection, number: int, shape: Shape, stream: bool, behaviour: Behaviour, over: Over
    ) -> None:
        self.connection = connection
        self.witness = Witness()
        self._number = number
        self._shape = shape
        self._stream = stream
        self._each = behaviour.tokens_per_chunk if behaviour.one_write else 0
        self._over = over
        self._opened = False
        self._sent = 0

    @property
    def sent_tokens(self) -> int:
        """Tokens written so far."""
        return self._sent

    def open(self) -> None:
        """Write the head, and the event without tokens where there is one."""
        if self._stream:
            self._opened = True
            first = b"".join(map(frame, opening(self._shape)))
            self.witness.head_ns = now_ns()
            self.connection.send(STREAM_HEAD + numbered(first, self._number))

    def found(self, cached_tokens: int) -> None:
        """So much of the prompt was cached."""
        self._shape = self._shape._replace(cached_tokens=cached_tokens)

    def emit(self, due_ns: int, tokens: int) -> None:
        """Write the next tokens; the last ones end the answer."""
        start = self._sent
        self._sent = stop = start + tokens
        data = self._events(start, stop) if self._stream else response(200, body(self._shape))
        data = numbered(data, self._number)
        self.witness.note(due_ns)
        if stop < self._shape.output_tokens:
            self.connection.send(data)
            return
        self._over(self._number, "done")
        self.connection.send(data)
        self.connection.finish()

    def _events(self, start: int, stop: int) -> bytes:
        each = self._each or stop - start
        data = framed(self._shape, start, stop, each, opened=self._opened)
        if start == 0 and not self._opened:
            data = STREAM_HEAD + data
        return data + LAST_FRAME if stop == self._shape.output_tokens else data


class FaultyAnswer:
    """An answer that a fault befalls: a queue of steps, which a step may hold up.

    Always chunked, also without streaming, and its head leaves with its first bytes. The deadline of what was held up
    on purpose is the end of that hold, so that the lag stays what the server did not mean.
    """

    def __init__(
        self,
        connection: Connection,
        number: int,
        shape: Shape,
        stream: bool,
        behaviour: Behaviour,
        over: Over,
        fault: Fault,
        later: Later,
    ) -> None:
        self.connection = connection
        self.witness = Witness()
        self._number = number
        self._shape = shape
        self._stream = stream
        self._behaviour = behaviour
        self._over = over
        self._fault = fault
        self._later = later
        self._passed = 0
        self._parts = 0
        self._queue: deque[tuple[int, int, Step | None]] = deque()  # deadline, tokens then sent, step or the end
        self._held_to_ns: int | None = None
        self._not_before_ns = 0
        self.sent_tokens = 0

    def open(self) -> None:
        """Nothing: the head waits for the first bytes."""

    def found(self, cached_tokens: int) -> None:
        """So much of the prompt was cached."""
        self._shape = self._shape._replace(cached_tokens=cached_tokens)

    def emit(self, due_ns: int, tokens: int) -> None:
        """Queue what becomes of the next tokens, and carry out what is not held up."""
        start = self._passed
        self._passed = stop = start + tokens
        part = Part(self._data(start, stop), self._stream, self._number, self._parts)
        self._parts += 1
        total = self._shape.output_tokens
        todo = steps(self._fault, part, self._behaviour.seed, start, stop, total)
        told = start if End.CLOSE in todo else stop  # the tokens of a part that is cut are not whole
        self._queue.extend((due_ns, told, step) for step in todo)
        if stop == total:
            self._queue.append((due_ns, stop, None))
        self._work()

    def _data(self, start: int, stop: int) -> bytes:
        if not self._stream:
            return numbered(body(self._shape), self._number)
        each = self._behaviour.tokens_per_chunk if self._behaviour.one_write else stop - start
        return numbered(b"".join(events(self._shape, start, stop, each)), self._number)

    def _work(self) -> None:
        while self._queue and self._held_to_ns is None and self.connection.is_open:
            due_ns, tokens, step = self._queue.popleft()
            if step is None:
                self._end("done")
            elif isinstance(step, End):
                self._end(self._fault.kind, step)
            elif isinstance(step, Hold):
                self._hold(max(due_ns, now_ns()), step.seconds)
            else:
                self._write(due_ns, tokens, step)

    def _hold(self, from_ns: int, seconds: float) -> None:
        self._held_to_ns = from_ns + round(seconds * NS_PER_S)
        self._later(seconds, self._resume)

    def _resume(self) -> None:
        assert self._held_to_ns is not None
        self._not_before_ns, self._held_to_ns = self._held_to_ns, None
        self._work()

    def _write(self, due_ns: int, tokens: int, data: bytes) -> None:
        is_first = self.witness.head_ns is None
        head = (STREAM_HEAD if self._stream else _JSON_HEAD) if is_first else b""
        self.witness.note(max(due_ns, self._not_before_ns))
        self.sent_tokens = tokens
        self.connection.send(head + frame(data))

    def _end(self, outcome: str, end: End | None = None) -> None:
        self._queue.clear()
        self._over(self._number, outcome)
        if end is End.RESET:
            self.connection.reset()
        elif end is End.CLOSE:
            self.connection.close()
        else:
            self.connection.send(LAST_FRAME)
            self.connection.finish()
