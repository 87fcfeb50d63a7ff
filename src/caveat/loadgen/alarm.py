"""Alarm: wakes the loop at an instant. The loop's own timers are a millisecond coarse; Linux has better ones."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from caveat.units import NS_PER_S

_TFD_NONBLOCK, _TFD_CLOEXEC, _TFD_TIMER_ABSTIME = 0o4000, 0o2000000, 1


class Alarm(Protocol):
    """One instant at a time; a new one replaces it."""

    def at(self, instant_ns: int) -> None:
        """Call back at an instant of `time.monotonic_ns`, or at once where it has passed. Never early."""
        ...

    def close(self) -> None:
        """Never call back again."""
        ...


def alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """The best alarm of this system: late by some 0.1 ms with timerfd, by 1 ms otherwise."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            return TimerFd(loop, ring)
    return LoopTimer(loop, ring)


class _Timespec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class TimerFd:
    """timerfd_create(2) on CLOCK_MONOTONIC, watched by the loop. `os` has it from Python 3.13 on."""

    __slots__ = ("_fd", "_loop", "_ring", "_set", "_spec")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        libc: Any = ctypes.CDLL(None, use_errno=True)
        self._fd: int = libc.timerfd_create(time.CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._loop, self._ring = loop, ring
        self._set = libc.timerfd_settime
        self._spec = _TimerSpec()
        loop.add_reader(self._fd, self._rung)

    def at(self, instant_ns: int) -> None:
        """Arm it; an instant in the past fires at once (0 would disarm)."""
        self._spec.value.s, self._spec.value.ns = divmod(max(instant_ns, 1), NS_PER_S)
        self._set(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(self._spec), None)

    def _rung(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # armed anew since it fired
            return
        self._ring()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


class LoopTimer:
    """The loop's own timer, for systems without timerfd; it may fire early and is then set again."""

    __slots__ = ("_due_ns", "_handle", "_loop", "_ring")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop, self._ring = loop, ring
        self._handle: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def at(self, instant_ns: int) -> None:
        """Arm it."""
        self.close()
        self._due_ns = instant_ns
        wait_ns = max(0, instant_ns - time.monotonic_ns())
        self._handle = self._loop.call_later(wait_ns / NS_PER_S, self._rung)

    def _rung(self) -> None:
        if time.monotonic_ns() < self._due_ns:
            self.at(self._due_ns)
        else:
            self._ring()

    def close(self) -> None:
        """Disarm it."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
