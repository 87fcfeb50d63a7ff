"""The process of one official run: LoadGen in the main thread, the client's event loop in another.

It ends at once when its parent does, which it notices by its standard input. Ctrl-C is the parent's affair.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from caveat.errors import CaveatError
from caveat.loadgen.frames import FAILURE, ORDER, READY, REPORT, read_frame, write_frame
from caveat.loadgen.generator import calm
from caveat.loadgen.official.bridge import IssueCallback, LoadgenHarness, start_test
from caveat.loadgen.official.client import Client
from caveat.loadgen.official.folder import SAMPLES, write_order
from caveat.loadgen.official.process import PROGRESS, OfficialOrder, OfficialProgress, Told, loadgen
from caveat.loadgen.official.texts import Texts
from caveat.loadgen.selfcheck import process_report
from caveat.loadgen.worker import Failure
from caveat.loadgen.writer import Writer, into
from caveat.measure import ParquetSink
from caveat.workload import loadgen_schedule

_ORPHAN = 3
_TELL_S = 1.0


def main() -> int:
    """Run one order. Returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming = sys.stdin.buffer
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever LoadGen prints must not end up between frames
    try:
        frame = read_frame(incoming)
        if frame is None or frame[0] != ORDER:
            return 1
        order = msgspec.json.decode(frame[1], type=OfficialOrder)
        threading.Thread(target=_end_with, args=(incoming,), name="caveat-parent", daemon=True).start()
        told = _run(order, outgoing)
    except CaveatError as error:
        failure = Failure(message=error.message, code=error.code, next=error.next)
        write_frame(outgoing, FAILURE, msgspec.json.encode(failure))
        return 1
    write_frame(outgoing, REPORT, msgspec.json.encode(told))
    return 0


def _end_with(parent: BinaryIO) -> None:
    """Body of the watching thread. LoadGen cannot be stopped, so the process is."""
    while os.read(parent.fileno(), 1):  # not `parent.read`, whose lock would be held when the interpreter ends
        pass
    os._exit(_ORPHAN)


def _run(order: OfficialOrder, outgoing: BinaryIO) -> Told:
    lg = loadgen()
    folder = Path(order.folder)
    os.chdir(folder)  # a new folder: no audit.config of anybody's lies in it
    texts = Texts(order.settings, order.endpoint, None)
    harness = LoadgenHarness(lg)
    tokens = order.settings.token_latencies and order.settings.scenario != "offline"
    with ClientThread(order, texts, harness) as thread:
        issue = IssueCallback(thread.client.take, harness, token_latencies=tokens)
        write_frame(outgoing, READY)
        with _telling(outgoing, thread.client), calm():
            start_test(lg, order.settings, folder, issue, texts)
    write_order(folder, order.settings, issue.order)
    return _told(thread.client, issue)


def _told(client: Client, issue: IssueCallback) -> Told:
    return Told(
        counts=client.counting.as_dict() | {"issued": len(issue.order)},
        start_spread_s=client.start_spread.seconds(),
        client=process_report(client.tally, client.watch.lag, client.opened()),
        errors=tuple(issue.errors),
    )


class ClientThread:
    """The client's event loop, from a thread of its own; a context manager that leaves nothing running."""

    def __init__(self, order: OfficialOrder, texts: Texts, harness: LoadgenHarness) -> None:
        self._order, self._texts, self._harness = order, texts, harness
        self._ready: Future[tuple[Client, Callable[[], None]]] = Future()
        self._thread = threading.Thread(target=self._main, name="caveat-client", daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> ClientThread:
        self._thread.start()
        self.client, self._stop = self._ready.result()
        return self

    def __exit__(self, *what: Any) -> None:
        with suppress(RuntimeError):  # its loop is gone: the failure says why
            self._stop()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _main(self) -> None:
        import pyarrow.parquet  # noqa: F401  (loading it takes 0.1 s, which must not fall into the run)
        import uvloop

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # raised again in the main thread
            self._failure = error
            if not self._ready.done():
                self._ready.set_exception(error)

    async def _serve(self) -> None:
        order = self._order
        scheduled = order.settings.schedule()
        arrivals_ns = None if scheduled is None else loadgen_schedule(scheduled)
        sink = ParquetSink(Path(order.folder) / SAMPLES)
        writer = Writer(into(sink), None)
        secrets = order.endpoint.secrets()
        client = Client(order, self._texts.make, self._harness, writer, arrivals_ns, secrets)
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        try:
            await client.open()
            self._ready.set_result((client, lambda: _set(loop, over)))
            await over.wait()
        finally:
            await client.close()
            writer.close()
            sink.close()


def _set(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


@contextmanager
def _telling(outgoing: BinaryIO, client: Client) -> Iterator[None]:
    """Progress from a thread of its own: a parent that does not read must not hold up anything."""
    over = threading.Event()
    began_s = time.monotonic()

    def tell() -> None:
        while not over.wait(_TELL_S):
            counted = client.counting
            said = OfficialProgress(
                elapsed_s=time.monotonic() - began_s,
                issued=counted.issued,
                completed=counted.completed,
                failed=counted.failed,
            )
            write_frame(outgoing, PROGRESS, msgspec.json.encode(said))

    teller = threading.Thread(target=tell, name="caveat-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
