"""One process of a crew: `python -m caveat.loadgen.worker`, started by crew.py, speaking frames on its pipes.

SIGTERM asks it to stop feeding and drain. Ctrl-C is the parent's affair: it reaches the whole group and is ignored.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import BinaryIO

import msgspec

from caveat.errors import CaveatError
from caveat.loadgen.frames import (
    FAILURE,
    FLYING,
    ORDER,
    READY,
    REPORT,
    ROWS,
    ROWS_END,
    SAMPLES,
    START,
    pack_parcel,
    read_frame,
    unpack_slice,
    write_frame,
)
from caveat.loadgen.generator import Setup, Share
from caveat.loadgen.rows import Parcel
from caveat.loadgen.tickets import Slice

_SLICES = 32
_SAY_S = 0.5


class WorkerOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is told."""

    setup: Setup
    block_tokens: int
    concurrency: int | None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error on its way to the parent."""

    message: str
    code: str = "internal"
    next: str = ""


class PipeSource:
    """The plan as it comes through the pipe, and the other things that the parent says."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._slices: queue.Queue[Slice] = queue.Queue(_SLICES)
        self._all_read = False
        self._start: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.cancelled = False

    def read_all(self) -> None:
        """Body of the reading thread. When the parent is gone, the run is cancelled."""
        while (frame := read_frame(self._pipe)) is not None:
            kind, payload = frame
            if kind == ROWS:
                self._slices.put(unpack_slice(payload))
            elif kind == ROWS_END:
                self._all_read = True
            elif kind == START:
                self._start.put(int(payload))
        self.cancelled = self._all_read = True
        self._start.put(0)

    def poll(self) -> Slice | None:
        """The next rows, if they have come."""
        try:
            return self._slices.get_nowait()
        except queue.Empty:
            return None

    def ended(self) -> bool:
        """Whether all have been given out."""
        return self._all_read and self._slices.empty()

    def start_ns(self) -> int:
        """Waits for the common start."""
        return self._start.get()

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """A signal handler."""
        self.cancelled = True


class PipeSink:
    """Sends samples to the parent, and twice a second how many requests are under way: a stall brings no samples."""

    def __init__(self, pipe: BinaryIO, in_flight: Callable[[], int | None]) -> None:
        self._pipe, self._in_flight = pipe, in_flight
        self._lock = threading.Lock()  # two threads write
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._say, name="caveat-flying", daemon=True)

    def start(self) -> None:
        """Begin to say it."""
        self._thread.start()

    def take(self, parcel: Parcel) -> None:
        """Samples, packed: the parent makes batches of them. A process without Arrow is 25 MB smaller."""
        payload = pack_parcel(parcel)
        with self._lock:
            write_frame(self._pipe, SAMPLES, payload)

    def _say(self) -> None:
        with suppress(BrokenPipeError):  # the parent is gone, and the reading thread finds out
            while not self._over.wait(_SAY_S):
                with self._lock:
                    write_frame(self._pipe, FLYING, b"%d" % (self._in_flight() or 0))

    def close(self) -> None:
        """The report comes last, and nothing beside it."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()


def main() -> int:
    """Run one share. Returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print must not end up between frames
    source = PipeSource(incoming)
    signal.signal(signal.SIGTERM, source.stop)
    try:
        frame = read_frame(incoming)
        if frame is None or frame[0] != ORDER:
            return 1
        write_frame(outgoing, REPORT, msgspec.json.encode(_run(frame[1], source, outgoing)))
    except CaveatError as error:
        failure = Failure(message=error.message, code=error.code, next=error.next)
        write_frame(outgoing, FAILURE, msgspec.json.encode(failure))
        return 1
    except Exception as error:  # told to the parent, which raises
        write_frame(outgoing, FAILURE, msgspec.json.encode(Failure(message=f"{type(error).__name__}: {error}")))
        return 1
    return 0


def _run(payload: bytes, source: PipeSource, outgoing: BinaryIO) -> object:
    order = msgspec.json.decode(payload, type=WorkerOrder)
    share = Share(order.setup, order.block_tokens, order.concurrency, None)
    threading.Thread(target=source.read_all, name="caveat-plan", daemon=True).start()
    sink = PipeSink(outgoing, share.in_flight)

    def start() -> int:
        write_frame(outgoing, READY)
        start_ns = source.start_ns()
        sink.start()
        return start_ns

    try:
        return share.offer(source, sink.take, start, lambda: source.cancelled)
    finally:
        sink.close()


if __name__ == "__main__":
    sys.exit(main())
