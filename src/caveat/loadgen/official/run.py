"""official_run: the parent's side. Starts the process, passes on its progress, ends it where it does not end itself."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec

from caveat.errors import CaveatError, UsageError
from caveat.loadgen.address import refuse_proxy
from caveat.loadgen.crew import SPARING
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.frames import FAILURE, ORDER, READY, REPORT, read_frame, write_frame
from caveat.loadgen.official import folder as files
from caveat.loadgen.official.outcome import OfficialCounts, OfficialRun, problems_of, read_detail, verdict_of
from caveat.loadgen.official.process import PROGRESS, OfficialOrder, OfficialProgress, Told, loadgen
from caveat.loadgen.official.settings import OfficialSettings
from caveat.loadgen.selfcheck import health_of, limit_sentences
from caveat.loadgen.worker import Failure

READY_WITHIN_S = 120.0
GRACE_S = 15.0
"""LoadGen cannot be stopped: where it still goes so long after the deadline, its process is ended without a result."""
_TAIL_BYTES = 4096
_GONE_S = 10.0

Progress = Callable[[OfficialProgress], None]


def require_loadgen() -> None:
    """Raises UsageError, saying how to install it, where the package is missing."""
    loadgen()


def official_run(
    settings: OfficialSettings,
    endpoint: Endpoint,
    folder: Path,
    *,
    deadline_s: float,
    environ: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> OfficialRun:
    """Run one scenario through LoadGen and leave its logs, samples and sample order in `folder`, which must be new.

    `deadline_s` counts from the start of the test: what is in flight then is told to be over, and counted. What goes
    wrong in the run stands in the result. Raises UsageError where the package is missing, a proxy stands in the way or
    the deadline cannot be, RefusedError where the folder holds anything, InputError for a missing key or a disk.
    """
    require_loadgen()
    if not 0 < deadline_s <= 1e6:
        raise UsageError(f"official.deadline_s: found {deadline_s}, expected more than 0 s")
    if not endpoint.stream and settings.token_latencies and settings.scenario != "offline":
        raise UsageError("official: found an endpoint without streaming, expected streamed answers for token_latencies")
    refuse_proxy(endpoint.address(), environ)
    secrets = endpoint.secrets(environ)
    files.new_folder(folder, settings, endpoint)
    order = OfficialOrder(settings=settings, endpoint=endpoint, folder=str(folder.absolute()), deadline_s=deadline_s)
    with tempfile.TemporaryFile() as words:
        process = _Process(order, os.environ if environ is None else environ, words)
        try:
            process.follow(deadline_s, progress)
        finally:
            process.end()
        last = _tail(words, secrets)
    return _run_of(settings, folder, process, last)


class _Process:
    """The process of one run, seen from the parent."""

    def __init__(self, order: OfficialOrder, environ: Mapping[str, str], words: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "caveat.loadgen.official"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            env={**environ, **SPARING},
        )
        self.told: Told | None = None
        self.late = ""
        self._gone = False
        self._inbox: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        self._stdin, self._stdout = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        self._thread = threading.Thread(target=self._read, name="caveat-official", daemon=True)
        self._thread.start()
        with suppress(BrokenPipeError):
            write_frame(self._stdin, ORDER, msgspec.json.encode(order))

    def _read(self) -> None:
        while (frame := read_frame(self._stdout)) is not None:
            self._inbox.put(frame)
        self._inbox.put((b"", b""))

    def follow(self, deadline_s: float, progress: Progress | None) -> None:
        """Until it has reported or is gone, or its time is over. Raises what it raised on purpose."""
        until_s, late = time.monotonic() + READY_WITHIN_S, f"It was not ready within {READY_WITHIN_S:g} s."
        while True:
            try:
                kind, payload = self._inbox.get(timeout=max(0.0, until_s - time.monotonic()))
            except queue.Empty:
                self.late = late
                return
            if kind == READY:
                until_s = time.monotonic() + deadline_s + GRACE_S
                late = f"LoadGen had not ended {GRACE_S:g} s after the deadline of {deadline_s:g} s; it was stopped."
            elif kind == PROGRESS and progress is not None:
                progress(msgspec.json.decode(payload, type=OfficialProgress))
            elif kind == REPORT:
                self.told = msgspec.json.decode(payload, type=Told)
            elif kind == FAILURE:
                failure = msgspec.json.decode(payload, type=Failure)
                raise CaveatError(failure.message, code=failure.code, next=failure.next)
            elif not kind:
                self._gone = True
                return

    def end(self) -> None:
        """Leave no process, thread or pipe behind."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S if self._gone else 0)  # it has closed its pipe: its own status is wanted
        self._process.kill()
        self.exit = self._process.wait()
        self._thread.join()
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


def _tail(words: IO[bytes], secrets: tuple[str, ...]) -> str:
    """The end of what the process said on its way out."""
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - _TAIL_BYTES))
    lines = words.read().strip().splitlines()
    return readable(lines[-1], secrets) if lines else ""


def _run_of(settings: OfficialSettings, folder: Path, process: _Process, last: str) -> OfficialRun:
    told = process.told
    said = read_detail(folder / files.DETAIL)
    counts = msgspec.convert(told.counts, OfficialCounts) if told else None
    health = health_of([told.client]) if told else None
    problems = problems_of(settings, said, counts, told.errors if told else ())
    if process.late:
        problems = (process.late, *problems)
    elif process.exit or told is None:
        problems = (f"LoadGen's process ended with status {process.exit}{': ' if last else ''}{last}.", *problems)
    return OfficialRun(
        folder=folder,
        verdict=verdict_of(said) if told else None,
        exit=process.exit,
        counts=counts,
        start_spread_s=told.start_spread_s if told else None,
        health=health,
        summary=folder / files.SUMMARY,
        detail=folder / files.DETAIL,
        accuracy=folder / files.ACCURACY,
        order=folder / files.ORDER,
        samples=folder / files.SAMPLES,
        problems=problems,
        client_limits=limit_sentences(health) if health else (),
    )
