"""Process: an endpoint in a process of its own, so that it shares no interpreter with whoever measures it.

The two talk in JSON lines: the child reads what it is to be from its standard input, says where it is reached, and
ends when the input does, so that none is left over when its parent dies.
"""

from __future__ import annotations

import select
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING

import msgspec

from caveat.errors import CaveatError, InputError
from caveat.loopback.behaviour import Behaviour
from caveat.loopback.engine import FixedEngine
from caveat.loopback.modelled import check_behaviour, modelled
from caveat.loopback.running import MakeEngine, run

if TYPE_CHECKING:
    from caveat.simulator import Model

READY_S = 60.0
STOP_S = 10.0


class _Wanted(msgspec.Struct, frozen=True):
    behaviour: Behaviour
    port: int
    model: str = ""  # the document; none for fixed delays
    draw: int | None = None
    max_num_seqs: int | None = None

    def engine(self) -> MakeEngine:
        """What drives the endpoint."""
        if not self.model:
            return FixedEngine
        from caveat.simulator import decode_model

        return modelled(decode_model(self.model), draw=self.draw, max_num_seqs=self.max_num_seqs)


class _Said(msgspec.Struct, frozen=True):
    url: str = ""
    error: str = ""


class Process:
    """A loopback endpoint in a process. A context manager: it stops at the end of the block."""

    def __init__(self, child: subprocess.Popen[bytes], url: str) -> None:
        self._child = child
        self.url = url
        self.pid = child.pid

    def stop(self) -> None:
        """Let the process end and wait for it; kill it where it does not. A second time is no error."""
        _end(self._child)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_process(
    behaviour: Behaviour | None = None,
    port: int = 0,
    *,
    model: Model | None = None,
    draw: int | None = None,
    max_num_seqs: int | None = None,
) -> Process:
    """Start an endpoint on 127.0.0.1 in a process of its own; returns when connections are taken.

    A `model` drives it in place of fixed delays; `draw` and `max_num_seqs` are choices in it, see `modelled`. Raises
    UsageError for a behaviour that says what the model says, InputError where the process cannot serve, or says
    nothing within a minute.
    """
    wanted = _wanted(behaviour or Behaviour(), port, model, draw, max_num_seqs)
    child = subprocess.Popen([sys.executable, "-m", "caveat.loopback"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(msgspec.json.encode(wanted) + b"\n")
    child.stdin.flush()
    said = _heard(child.stdout)
    if not said.url:
        _end(child)
        raise InputError(f"loopback: the process did not begin to serve: {said.error or 'no word from it'}")
    return Process(child, said.url)


def _wanted(
    behaviour: Behaviour, port: int, model: Model | None, draw: int | None, max_num_seqs: int | None
) -> _Wanted:
    if model is None:
        return _Wanted(behaviour, port)
    from caveat.simulator import encode_model

    check_behaviour(behaviour)
    return _Wanted(behaviour, port, encode_model(model).decode(), draw, max_num_seqs)


def serve_child() -> None:
    """The child's side: serve what standard input asks for until standard input ends."""
    wanted = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Wanted)

    def ready(url: str, stop: Callable[[], None]) -> None:
        _say(_Said(url=url))
        threading.Thread(target=_stop_at_end, args=(sys.stdin.buffer, stop), daemon=True).start()

    try:
        run(wanted.behaviour, port=wanted.port, engine=wanted.engine(), ready=ready)
    except CaveatError as error:
        _say(_Said(error=error.message))


def _stop_at_end(source: IO[bytes], stop: Callable[[], None]) -> None:
    source.read()
    stop()


def _say(said: _Said) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
    sys.stdout.buffer.flush()


def _heard(source: IO[bytes]) -> _Said:
    """What the child says, once it does. It says one short line, so that all of it is there with its first byte."""
    readable, _, _ = select.select([source], [], [], READY_S)
    line = source.readline() if readable else b""
    return msgspec.json.decode(line, type=_Said) if line else _Said()


def _end(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.close()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()
