"""Truth: what really happened to every request, by the server's own clock, for comparison with what a client tells.

The clock is CLOCK_MONOTONIC, which all processes of a machine share. A write is stamped right before its bytes are
handed to the kernel, so nothing can be received earlier than it was written.

log format history
    caveat-loopback-log/1   first version
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence

import msgspec

LOG_FORMAT = "caveat-loopback-log/1"
CLOCK = "CLOCK_MONOTONIC"
LAGS_KEPT = 1 << 17

now_ns = time.monotonic_ns


class Lag(msgspec.Struct, frozen=True, gc=False):
    """How long writes left after their deadlines. Percentiles are observed values, of rank ceil(q n)."""

    writes: int
    p50_ns: int
    p99_ns: int
    max_ns: int


class Truth(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request. Times in nanoseconds; what did not happen is None.

    arrival_ns        the last byte of the request was read
    head_ns           the first byte of the answer was written
    first_due_ns      deadline of the first token, first_write_ns: when it was written; last_ likewise
    end_ns            the request was over
    outcome           "done", "gone" (the client left), "http 429" or the name of the fault that ended it
    fault             the fault that was meant for it, also where the answer ended well
    """

    number: int
    path: str
    stream: bool
    connection: int
    arrival_ns: int
    end_ns: int
    outcome: str
    head_ns: int | None = None
    first_due_ns: int | None = None
    first_write_ns: int | None = None
    last_due_ns: int | None = None
    last_write_ns: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    sent_tokens: int = 0
    fault: str | None = None
    lag: Lag | None = None


class Witness:
    """Notes the writes of one answer as they happen."""

    __slots__ = ("first_due_ns", "first_write_ns", "head_ns", "lags", "last_due_ns", "last_write_ns")

    def __init__(self) -> None:
        self.head_ns: int | None = None
        self.first_due_ns: int | None = None
        self.first_write_ns: int | None = None
        self.last_due_ns: int | None = None
        self.last_write_ns: int | None = None
        self.lags: list[int] = []

    def note(self, due_ns: int) -> None:
        """Tokens that were due at `due_ns` are about to be written."""
        write_ns = now_ns()
        if self.first_due_ns is None:
            self.first_due_ns = due_ns
            self.first_write_ns = write_ns
            self.head_ns = self.head_ns or write_ns
        self.last_due_ns = due_ns
        self.last_write_ns = write_ns
        self.lags.append(write_ns - due_ns)


class TruthLog:
    """The newest requests, and the lags of the newest writes of all of them."""

    def __init__(self, room: int) -> None:
        self._kept: deque[Truth] = deque(maxlen=room)
        self._lags: deque[int] = deque(maxlen=LAGS_KEPT)
        self.total = 0
        self.outcomes: Counter[str] = Counter()

    def add(self, truth: Truth, lags: Sequence[int] = ()) -> None:
        """A request is over."""
        self._kept.append(truth)
        self._lags.extend(lags)
        self.total += 1
        self.outcomes[truth.outcome] += 1

    def clear(self) -> None:
        """Forget requests and lags; the numbers go on."""
        self._kept.clear()
        self._lags.clear()
        self.total = 0

    def kept(self) -> tuple[Truth, ...]:
        """The requests that are held, oldest first. May be called from any thread."""
        return tuple(self._kept.copy())

    def lag(self) -> Lag | None:
        """Over the newest writes; None before the first."""
        return lag_of(self._lags.copy())

    def lines(self) -> bytes:
        """JSON lines: a head that says the format, the clock and what is held, then a line a request."""
        kept = self.kept()
        head = {"format": LOG_FORMAT, "clock": CLOCK, "requests": self.total, "kept": len(kept), "lag": self.lag()}
        encode = msgspec.json.encode
        return b"".join(encode(record) + b"\n" for record in (head, *kept))


def lag_of(lags: Iterable[int]) -> Lag | None:
    """Median, 99th percentile and maximum; None of nothing."""
    ordered = sorted(lags)
    count = len(ordered)
    if not count:
        return None
    return Lag(count, ordered[math.ceil(0.5 * count) - 1], ordered[math.ceil(0.99 * count) - 1], ordered[-1])


def read_log(lines: bytes) -> tuple[Truth, ...]:
    """The requests of a log that was read from /loopback/log, oldest first."""
    _, *records = lines.splitlines()
    return tuple(msgspec.json.decode(record, type=Truth) for record in records)
