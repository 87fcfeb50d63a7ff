"""Timer: calls back at a moment of the monotonic clock, to some 50 microseconds on Linux.

The timers of an event loop count in whole milliseconds, which would show in every time to a first token. Linux has
timers that are files (timerfd), which a loop can wait for like for a socket and which cost nothing while they run.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Protocol

from caveat.units import NS_PER_S

_ABSOLUTE = 1  # TFD_TIMER_ABSTIME


class Timer(Protocol):
    """One moment at a time. It may call early, or once too often: the caller looks at the clock."""

    def arm(self, at_ns: int) -> None:
        """Call back at `at_ns` of time.monotonic_ns(), in place of any earlier wish."""
        ...

    def close(self) -> None:
        """Call back no more."""
        ...


def make_timer(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> Timer:
    """The best timer that this system has."""
    return FileTimer(loop, callback) if sys.platform == "linux" else LoopTimer(loop, callback)


class FileTimer:
    """A timerfd. ctypes, because Python knows them only from 3.13 on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._loop = loop
        self._callback = callback
        self._armed_ns = 0
        loop.add_reader(self._fd, self._ring)

    def arm(self, at_ns: int) -> None:
        """Set the timer, unless it is set to this moment."""
        at_ns = max(1, at_ns)  # zero would stop it
        if at_ns != self._armed_ns:
            self._armed_ns = at_ns
            self._libc.timerfd_settime(self._fd, _ABSOLUTE, struct.pack("4l", 0, 0, *divmod(at_ns, NS_PER_S)), None)

    def close(self) -> None:
        """Give the file back."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _ring(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # armed anew since it was ready
            return
        self._armed_ns = 0
        self._callback()


class LoopTimer:
    """The loop's own timer, where there is nothing better."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, at_ns: int) -> None:
        """Set the timer anew."""
        self.close()
        self._handle = self._loop.call_later(max(0, at_ns - time.monotonic_ns()) / NS_PER_S, self._callback)

    def close(self) -> None:
        """Forget the wish."""
        if self._handle is not None:
            self._handle.cancel()
