"""What this machine's generator can do at most: measured against a server that answers at once, kept for a day.

The server is given by whoever calls (the loopback endpoint): what it adds itself is inside the result, which is
therefore a floor for the rate and a ceiling for the time added.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt
import platformdirs

from caveat.loadgen.clock import WallClock
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.generator import HttpTarget
from caveat.units import NS_PER_S
from caveat.workload import PlanBlock

if TYPE_CHECKING:
    import pyarrow as pa

Int64 = npt.NDArray[np.int64]

FORMAT = "caveat-client-calibration/1"
GOOD_FOR_S = 24 * 3600
_BUSY_REQUESTS, _BUSY_CONCURRENCY = 4_000, 64
_IDLE_REQUESTS, _IDLE_RATE = 100, 50


class ClientCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. Rates in requests a second, times in seconds; `at_s` is Unix time.

    ttft_added_* is the time to first token of a server that answers at once, at 50 requests a second.
    """

    format: str = FORMAT
    machine: str
    version: str
    processes: int
    at_s: float
    requests_per_s: float
    ttft_added_p50_s: float
    ttft_added_p99_s: float
    ttft_added_busy_p99_s: float

    def sentence(self) -> str:
        """For people."""
        return (
            f"this client can send {self.requests_per_s:,.0f} requests/s and adds "
            f"{1e3 * self.ttft_added_p50_s:.2g} ms to a first token (p99 {1e3 * self.ttft_added_p99_s:.2g} ms)"
        )


def calibration(
    measure: Callable[[], ClientCalibration], *, version: str, processes: int, now_s: float, again: bool = False
) -> ClientCalibration:
    """The one kept for this machine, version and number of processes, if it is not older than a day; else a new one."""
    path = cache_path(version, processes)
    kept = None if again else _kept(path)
    if kept is not None and 0 <= now_s - kept.at_s < GOOD_FOR_S:
        return kept
    fresh = measure()
    _keep(path, fresh)
    return fresh


def cache_path(version: str, processes: int) -> Path:
    """Where it is kept: under the user's cache folder, which honours XDG_CACHE_HOME."""
    name = hashlib.sha256(f"{machine()} {version} {processes}".encode()).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("caveat")) / "client" / f"{name}.json"


def machine() -> str:
    """This machine as far as speed goes; no name of it."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return f"{system} {os.cpu_count()} cpus Python {platform.python_version()}"


def measure_client(
    endpoint: Endpoint,
    *,
    version: str,
    processes: int = 1,
    now_s: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> ClientCalibration:
    """Measure against a fast endpoint, in some three seconds: at full speed, then nearly idle."""
    target = HttpTarget(endpoint, processes=processes, environ=environ)
    busy, idle = _Times(), _Times()
    target.offer(EqualRequests(_BUSY_REQUESTS, 0, _BUSY_CONCURRENCY), busy, WallClock())
    target.offer(EqualRequests(_IDLE_REQUESTS, NS_PER_S // _IDLE_RATE, None), idle, WallClock())
    return ClientCalibration(
        machine=machine(),
        version=version,
        processes=processes,
        at_s=time.time() if now_s is None else now_s,
        requests_per_s=busy.rate(),
        ttft_added_p50_s=idle.ttft_s(0.50),
        ttft_added_p99_s=idle.ttft_s(0.99),
        ttft_added_busy_p99_s=busy.ttft_s(0.99),
    )


def _kept(path: Path) -> ClientCalibration | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=ClientCalibration)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.format == FORMAT else None


def _keep(path: Path, found: ClientCalibration) -> None:
    """Written whole or not at all; a cache folder that cannot be written is no reason to fail."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(msgspec.json.encode(found))
        temporary.replace(path)
    except OSError:
        return


@dataclass(frozen=True)
class EqualRequests:
    """A plan of equal short requests."""

    count: int
    gap_ns: int
    concurrency: int | None
    block_tokens: int = 0

    def blocks(self) -> Iterator[PlanBlock]:
        """One block."""
        numbers = np.arange(self.count, dtype=np.int64)
        yield PlanBlock(
            at_ns=numbers * self.gap_ns,
            input_tokens=np.full(self.count, 32, np.int64),
            output_tokens=np.full(self.count, 16, np.int64),
        )

    def describe(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        """Nothing: no figure is made of it."""
        return {}


@dataclass
class _Times:
    """A sink that keeps three columns."""

    parts: list[tuple[Int64, ...]] = field(default_factory=list)

    def take(self, batch: pa.RecordBatch) -> None:
        """Successes only: a calibration in which requests fail has fewer of them and is slower, never faster."""
        good = batch.filter(batch.column("error_class").is_null())
        names = ("sent_ns", "first_token_ns", "end_ns")
        self.parts.append(tuple(good.column(name).to_numpy(zero_copy_only=False) for name in names))

    def close(self) -> None:
        """Nothing to close."""

    def _columns(self) -> list[Int64]:
        return [np.concatenate(column) for column in zip(*self.parts, strict=True)]

    def rate(self) -> float:
        """Requests a second, from the first sending to the last end."""
        sent, _, end = self._columns()
        return float(len(end) * NS_PER_S / max(1, end.max() - sent.min())) if len(end) else 0.0

    def ttft_s(self, share: float) -> float:
        """A percentile of the times from sending to first token."""
        sent, first, _ = self._columns()
        return float(np.quantile(first - sent, share) / NS_PER_S) if len(first) else float("nan")
