"""Crew: several processes on one plan, started at one instant. The parent deals out rows and merges samples."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import BinaryIO, cast

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
    pack_slice,
    read_frame,
    unpack_parcel,
    write_frame,
)
from caveat.loadgen.generator import Setup, start_clock
from caveat.loadgen.rows import batch
from caveat.loadgen.selfcheck import ProcessReport
from caveat.loadgen.split import split
from caveat.loadgen.tickets import Slice
from caveat.loadgen.worker import Failure, WorkerOrder
from caveat.measure import Clock, Sink
from caveat.workload import Plan

LEAD_NS = 200_000_000
SPARING = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""A pool of Arrow's own keeps 10 MB in every process for batches of 200 kB."""
READY_WITHIN_S = 60.0
_LOOK_S = 0.05
_END_SLACK_S = 10.0


class Worker:
    """One process, seen from the parent. Its frames go to a queue that all share; an empty kind says it is gone."""

    def __init__(self, order: WorkerOrder, inbox: Inbox, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "caveat.loadgen.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**env, **SPARING},
        )
        self.report: ProcessReport | None = None
        self.flying: int | None = None  # requests under way, when it last said so
        self._inbox = inbox
        self._stdin, self._stdout = cast(BinaryIO, self.process.stdin), cast(BinaryIO, self.process.stdout)
        self._thread = threading.Thread(target=self._read, name="caveat-worker", daemon=True)
        self._thread.start()
        self.tell(ORDER, msgspec.json.encode(order))

    def tell(self, kind: bytes, payload: bytes = b"") -> None:
        """Send a frame; a process that is gone is found out about by its silence."""
        with suppress(BrokenPipeError):
            write_frame(self._stdin, kind, payload)

    def _read(self) -> None:
        while (frame := read_frame(self._stdout)) is not None:
            self._inbox.put((self, *frame))
        self._inbox.put((self, b"", b""))

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self.process.kill()
        self.process.wait()
        self._thread.join()

    def close(self) -> None:
        """Close the pipes; nobody writes any more."""
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


Inbox = queue.SimpleQueue[tuple[Worker, bytes, bytes]]


def offer_with_crew(
    setup: Setup,
    processes: int,
    plan: Plan,
    sink: Sink,
    clock: Clock,
    cancelled: Callable[[], bool],
    environ: Mapping[str, str] | None,
    flying: Callable[[int], None] = lambda _: None,
) -> list[ProcessReport]:
    """Offer a plan with several processes; returns what each noted about itself. Does not close the sink.

    `flying` is told about twice a second how many requests are under way in all of them. Raises CaveatError where a
    process died or failed, and what the plan or the sink raised.
    """
    if plan.concurrency is not None:
        processes = min(processes, plan.concurrency)
    crew = _Crew(sink, cancelled, setup.settings.drain_s, flying)
    try:
        for number in range(processes):
            places = _share(plan.concurrency, number, processes)
            order = WorkerOrder(setup=setup, block_tokens=plan.block_tokens, concurrency=places)
            crew.hire(order, os.environ if environ is None else environ)
        return crew.run(split(plan.blocks(), processes), clock)
    finally:
        crew.end()


def _share(concurrency: int | None, number: int, processes: int) -> int | None:
    """Places of one process: they add up to the whole."""
    if concurrency is None:
        return None
    return concurrency // processes + (number < concurrency % processes)


class _Crew:
    """The parent's side of one run."""

    def __init__(
        self, sink: Sink, cancelled: Callable[[], bool], drain_s: float, flying: Callable[[int], None]
    ) -> None:
        self._sink, self._cancelled, self._drain_s, self._flying = sink, cancelled, drain_s, flying
        self._workers: list[Worker] = []
        self._inbox: Inbox = queue.SimpleQueue()
        self._stop_by_s: float | None = None
        self._plan_error: BaseException | None = None
        self._over = threading.Event()
        self._dealer: threading.Thread | None = None

    def hire(self, order: WorkerOrder, env: Mapping[str, str]) -> None:
        """Start a process."""
        self._workers.append(Worker(order, self._inbox, env))

    def run(self, slices: Iterator[list[Slice]], clock: Clock) -> list[ProcessReport]:
        """From the first frame to the last report."""
        first = next(slices, None)  # made before the start: the first requests are due right after it
        self._wait_until_ready()
        start_ns = start_clock(clock, LEAD_NS)
        for worker in self._workers:
            worker.tell(START, b"%d" % start_ns)
        dealt = chain([] if first is None else [first], slices)
        self._dealer = threading.Thread(target=self._deal, args=(dealt,), name="caveat-rows", daemon=True)
        self._dealer.start()
        while any(worker.report is None for worker in self._workers):
            self._look()
        return [worker.report for worker in self._workers if worker.report is not None]

    def end(self) -> None:
        """Leave no process, thread or pipe behind."""
        self._over.set()
        for worker in self._workers:
            worker.kill()
        if self._dealer is not None:
            self._dealer.join()
        for worker in self._workers:
            worker.close()

    def _wait_until_ready(self) -> None:
        until_s = time.monotonic() + READY_WITHIN_S
        waiting = set(self._workers)
        while waiting:
            if time.monotonic() > until_s:
                raise CaveatError(f"load: {len(waiting)} processes did not start within {READY_WITHIN_S:g} s")
            with suppress(queue.Empty):
                worker, kind, payload = self._inbox.get(timeout=_LOOK_S)
                if kind == READY:
                    waiting.discard(worker)
                else:
                    self._handle(worker, kind, payload)

    def _deal(self, slices: Iterator[list[Slice]]) -> None:
        """Body of the dealing thread: a full pipe holds it up, and that is the flow control."""
        try:
            for pieces in slices:
                if self._over.is_set():
                    return
                for worker, piece in zip(self._workers, pieces, strict=True):
                    if len(piece.block):
                        worker.tell(ROWS, pack_slice(piece))
            for worker in self._workers:
                worker.tell(ROWS_END)
        except Exception as error:  # the plan is foreign code; raised where `offer` was called
            self._plan_error = error

    def _look(self) -> None:
        with suppress(queue.Empty):
            self._handle(*self._inbox.get(timeout=_LOOK_S))
        if self._plan_error is not None:
            raise self._plan_error
        now_s = time.monotonic()
        if self._stop_by_s is None and self._cancelled():
            self._stop_by_s = now_s + self._drain_s + _END_SLACK_S
            for worker in self._workers:
                worker.process.terminate()  # asks it to drain
        if self._stop_by_s is not None and now_s > self._stop_by_s:
            raise CaveatError(f"load: a process did not end within {self._drain_s + _END_SLACK_S:g} s of being stopped")

    def _handle(self, worker: Worker, kind: bytes, payload: bytes) -> None:
        if kind == SAMPLES:
            self._sink.take(batch(unpack_parcel(payload)))
        elif kind == FLYING:
            self._note_flying(worker, int(payload))
        elif kind == REPORT:
            worker.report = msgspec.json.decode(payload, type=ProcessReport)
            self._note_flying(worker, 0)
        elif kind == FAILURE:
            failure = msgspec.json.decode(payload, type=Failure)
            raise CaveatError(failure.message, code=failure.code, next=failure.next)
        elif not kind and worker.report is None:
            raise CaveatError(
                f"load: process {worker.process.pid} ended with status {worker.process.wait()} and no report",
                next="its last words stand above; with one process (processes=1) errors come whole",
            )

    def _note_flying(self, worker: Worker, count: int) -> None:
        """Nothing is said until every process has spoken: part of a sum is no sum."""
        worker.flying = count
        counts = [one.flying for one in self._workers if one.flying is not None]
        if len(counts) == len(self._workers):
            self._flying(sum(counts))
