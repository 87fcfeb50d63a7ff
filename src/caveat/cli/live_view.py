"""How a run looks while it goes: a few lines on a terminal, or JSON lines for a machine, on standard error."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from caveat.loadgen import Watched
from caveat.measure import LiveView
from caveat.units import NS_PER_S, format_seconds

_EVERY_S = 0.5


class Interrupt:
    """Ctrl-C once: stop feeding and drain. Twice: leave at once."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def requested(self) -> bool:
        """Whether somebody asked."""
        return self._asked.is_set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM while the block runs."""
        earlier = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()


class Progress:
    """Shows a watched run from a thread of its own until the block ends."""

    def __init__(self, *, expected: int | None, as_json: bool) -> None:
        self._expected, self._as_json = expected, as_json
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, watched: Watched) -> None:
        """Begin to show."""
        if self._as_json or sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, args=(watched,), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Show no more."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            if not self._as_json:
                sys.stderr.write("\r\x1b[K")

    def _show(self, watched: Watched) -> None:
        while not self._done.wait(_EVERY_S):
            now_ns = watched.clock.now_ns()
            view = watched.live.view(now_ns)
            text = self._line(view, now_ns / NS_PER_S)
            sys.stderr.write(text + "\n" if self._as_json else f"\r\x1b[K{text}")
            sys.stderr.flush()

    def _line(self, view: LiveView, now_s: float) -> str:
        if self._as_json:
            return json.dumps({"format": "caveat-progress/1", "at_s": round(now_s, 3), **_numbers(view)})
        of = f"/{self._expected:,}" if self._expected else ""
        return (
            f"{format_seconds(now_s)}  {view.ended:,}{of} done  {view.rate_per_s:.3g}/s  "
            f"TTFT {_times(view.ttft_s)}  TPOT {_times(view.tpot_s)}  {view.failed:,} failed"
        )[:100]


def _numbers(view: LiveView) -> dict[str, Any]:
    return {
        "ended": view.ended,
        "failed": view.failed,
        "errors": view.errors,
        "rate_per_s": view.rate_per_s,
        "output_tokens": view.output_tokens,
        "ttft_s": [None if math.isnan(t) else t for t in view.ttft_s],
        "tpot_s": [None if math.isnan(t) else t for t in view.tpot_s],
    }


def _times(values: tuple[float, ...]) -> str:
    return "/".join("-" if math.isnan(value) else format_seconds(value) for value in values)
