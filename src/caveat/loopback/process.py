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
from typing import IO

import msgspec

from caveat.errors import CaveatError, InputError
from caveat.loopback.behaviour import Behaviour
from caveat.loopback.running import run

READY_S = 60.0
STOP_S = 10.0


class _Wanted(msgspec.Struct, frozen=True):
    behaviour: Behaviour
    port: int


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


def start_process(behaviour: Behaviour | None = None, port: int = 0) -> Process:
    """Start an endpoint on 127.0.0.1 in a process of its own; returns when connections are taken.

    Raises InputError where the process cannot serve, or says nothing within a minute.
    """
    child = subprocess.Popen([sys.executable, "-m", "caveat.loopback"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(msgspec.json.encode(_Wanted(behaviour or Behaviour(), port)) + b"\n")
    child.stdin.flush()
    said = _heard(child.stdout)
    if not said.url:
        _end(child)
        raise InputError(f"loopback: the process did not begin to serve: {said.error or 'no word from it'}")
    return Process(child, said.url)


def serve_child() -> None:
    """The child's side: serve what standard input asks for until standard input ends."""
    wanted = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Wanted)

    def ready(url: str, stop: Callable[[], None]) -> None:
        _say(_Said(url=url))
        threading.Thread(target=_stop_at_end, args=(sys.stdin.buffer, stop), daemon=True).start()

    try:
        run(wanted.behaviour, port=wanted.port, ready=ready)
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
