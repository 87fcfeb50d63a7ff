"""How a run looks while it goes: a line on a terminal, or JSON lines for a machine, on standard error."""

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

EVERY_S = 0.5
WIDTH = 100
FORMAT = "caveat-progress/1"


class Interrupt:
    """Ctrl-C (or SIGTERM) once: stop feeding and drain. Twice: leave at once."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def requested(self) -> bool:
        """Whether somebody asked."""
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Let the time pass, or less where somebody asks; whether somebody has."""
        return self._asked.wait(seconds)

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
    """Shows a watched run from a thread of its own until it is stopped.

    `expected` is how many requests there will be, where it is known before the plan is read (a run says it as soon as
    its own is). `lasts_s` is how long requests arrive. None where nobody knows.
    """

    def __init__(self, *, expected: int | None, lasts_s: float | None, as_json: bool) -> None:
        self._expected, self._lasts_s, self._as_json = expected, lasts_s, as_json
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, watched: Watched) -> None:
        """Begin to show; nothing where nobody looks."""
        if self._expected is None:
            self._expected = watched.requests
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
        while not self._done.wait(EVERY_S):
            now_s = watched.clock.now_ns() / NS_PER_S
            view = watched.live.view(watched.clock.now_ns())
            if self._as_json:
                text = json.dumps(progress_json(view, now_s, expected=self._expected, lasts_s=self._lasts_s)) + "\n"
            else:
                text = f"\r\x1b[K{progress_line(view, now_s, expected=self._expected, lasts_s=self._lasts_s)}"
            sys.stderr.write(text)
            sys.stderr.flush()


def progress_line(view: LiveView, now_s: float, *, expected: int | None, lasts_s: float | None) -> str:
    """One look as one line of at most 100 columns: what matters most stands first."""
    of = f"/{expected:,}" if expected else ""
    left = "" if lasts_s is None else f"  {format_seconds(max(0.0, lasts_s - now_s))} left"
    flying = "" if view.in_flight is None else f"  {view.in_flight:,} in flight"
    return (
        f"{format_seconds(now_s)}{left}  {view.ended:,}{of} done{flying}  {view.failed:,} failed{_certain(view)}  "
        f"{view.rate_per_s:.3g}/s  p50/99: TTFT {_times(view.ttft_s)}  TPOT {_times(view.tpot_s)}"
    )[:WIDTH]


def progress_json(view: LiveView, now_s: float, *, expected: int | None, lasts_s: float | None) -> dict[str, Any]:
    """One look for a machine; null is what is not known. Percentiles are p50, p90 and p99."""
    return {
        "format": FORMAT,
        "at_s": round(now_s, 3),
        "lasts_s": lasts_s,
        "expected": expected,
        "ended": view.ended,
        "in_flight": view.in_flight,
        "failed": view.failed,
        "more_queries": view.more_queries,
        "errors": view.errors,
        "rate_per_s": view.rate_per_s,
        "output_tokens": view.output_tokens,
        "ttft_s": [None if math.isnan(time_s) else time_s for time_s in view.ttft_s],
        "tpot_s": [None if math.isnan(time_s) else time_s for time_s in view.tpot_s],
    }


def _certain(view: LiveView) -> str:
    """How far a scenario is from being certified."""
    if view.more_queries is None:
        return ""
    return f"  {view.more_queries:,} more to certify" if view.more_queries else "  certified so far"


def _times(values: tuple[float, ...]) -> str:
    """`100/500 ms`, the first and the last of them; a unit that both have stands once."""
    words = ["-" if math.isnan(value) else format_seconds(value) for value in (values[0], values[-1])]
    units = {word.rpartition(" ")[2] for word in words}
    if len(units) != 1 or "-" in units:
        return "/".join(words)
    unit = units.pop()
    return f"{'/'.join(word.removesuffix(f' {unit}') for word in words)} {unit}"
