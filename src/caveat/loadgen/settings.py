"""Settings of the generator that are not the endpoint's and not the plan's."""

from __future__ import annotations

import msgspec

from caveat.errors import UsageError
from caveat.units import NS_PER_S

MAX_PROCESSES = 64


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one request and habits of the client. Times in seconds, sizes in bytes.

    timeout_s         from the moment a request is taken up (connecting included) to its end
    connect_timeout_s until the connection stands, TLS included
    idle_s            without a byte once the answer has begun
    drain_s           for what is in flight when the run is cancelled
    warmup_s          requests that are ready before this are of phase "warmup"
    connections       opened before the start; None: as many as a closed loop keeps in flight, else 8
    reuse_s           a connection idle for longer is not used again, since servers close theirs after 5 s or more
    chunk_times       keep the time of every delta
    max_event_bytes   one event of a stream
    max_answer_bytes  one whole answer
    """

    timeout_s: float = 600.0
    connect_timeout_s: float = 10.0
    idle_s: float = 120.0
    drain_s: float = 30.0
    warmup_s: float = 0.0
    connections: int | None = None
    reuse_s: float = 4.0
    chunk_times: bool = False
    max_event_bytes: int = 4 << 20
    max_answer_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for name in ("timeout_s", "connect_timeout_s", "idle_s"):
            if not 0 < getattr(self, name) <= 1e6:
                raise UsageError(f"settings.{name}: found {getattr(self, name)!r}, expected more than 0 s")
        for name in ("drain_s", "warmup_s", "reuse_s"):
            if not 0 <= getattr(self, name) <= 1e6:
                raise UsageError(f"settings.{name}: found {getattr(self, name)!r}, expected 0 s or more")
        for name in ("max_event_bytes", "max_answer_bytes"):
            if not 1024 <= getattr(self, name) <= 1 << 34:
                raise UsageError(f"settings.{name}: found {getattr(self, name)!r}, expected at least 1,024 bytes")
        if self.connections is not None and not 0 <= self.connections <= 100_000:
            raise UsageError(f"settings.connections: found {self.connections}, expected 0 to 100,000")


def check_processes(processes: int) -> None:
    """UsageError for a number of generator processes that cannot be."""
    if not 1 <= processes <= MAX_PROCESSES:
        raise UsageError(f"processes: found {processes}, expected 1 to {MAX_PROCESSES}")


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * NS_PER_S)
