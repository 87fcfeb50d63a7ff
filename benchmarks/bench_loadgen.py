"""What the generator costs and how true its times are, beside a bare client that keeps nothing.

Run from the root of the checkout: `python -m benchmarks.bench_loadgen`. The server is the loopback endpoint in a
process of its own on the last core, each client a fresh process on the first. On a shared machine take the ratios.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.loopback import Behaviour, Fixed, Process, start_process

TOKENS = 16
MODEL = "loopback"


@dataclass(frozen=True)
class Case:
    """A server and a load."""

    what: str
    behaviour: Behaviour
    requests: int
    concurrency: int | None = None
    rate: float = 0.0
    repeats: int = 1


CASES = (
    Case("64 streams, one write each event", Behaviour(), 12_000, concurrency=64, repeats=3),
    Case("64 streams, one write each answer", Behaviour(one_write=True), 30_000, concurrency=64, repeats=3),
    Case("1,000/s, first token after 100 ms", Behaviour(ttft_s=Fixed(0.1)), 4_000, rate=1_000),
    Case("20/s, first token after 100 ms", Behaviour(ttft_s=Fixed(0.1)), 200, rate=20, repeats=5),
)


Run = tuple[float | None, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], float, float]
"""Lateness in ms; due, first token and end of each request in ns; CPU seconds; peak memory in MB."""


class Told(msgspec.Struct):
    """What one client tells of one run."""

    rate: float
    cpu_ms: float
    peak_mb: float
    start_s: float
    ttft_mean_ms: float
    ttft_p99_ms: float
    late_p99_ms: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=5, metavar=("CLIENT", "PORT", "REQUESTS", "CONCURRENCY", "RATE"))
    parser.add_argument("--only", type=int, help="number of one case, from 0")
    asked = parser.parse_args()
    if asked.child:
        client, *numbers = asked.child
        _child(client, int(numbers[0]), int(numbers[1]), int(numbers[2]) or None, float(numbers[3]))
        return
    print(f"{'case':36}{'client':8}{'req/s':>9}{'CPU ms/req':>12}{'peak MB':>9}{'start s':>9}{'TTFT mean/p99 ms':>20}")
    for case in CASES if asked.only is None else (CASES[asked.only],):
        with start_process(case.behaviour) as server:
            _pin(server.pid, -1)
            _show(case, server)


def _show(case: Case, server: Process) -> None:
    """Both clients, interleaved; medians."""
    told: dict[str, list[Told]] = {"bare": [], "caveat": []}
    for _ in range(case.repeats):
        for client, runs in told.items():
            runs.append(_measured(client, case, server.url))
    for client, runs in told.items():
        middle = {name: float(np.median([getattr(run, name) for run in runs])) for name in Told.__struct_fields__[:-1]}
        late = [run.late_p99_ms for run in runs if run.late_p99_ms is not None]
        times = f"{middle['ttft_mean_ms']:.2f} / {middle['ttft_p99_ms']:.2f}"
        said = f"  sent late p99 {np.median(late):.2f} ms" if late and case.rate else ""
        print(
            f"{case.what:36}{client:8}{middle['rate']:9,.0f}{middle['cpu_ms']:12.3f}{middle['peak_mb']:9.0f}"
            f"{middle['start_s']:9.2f}{times:>20}{said}"
        )


def _measured(client: str, case: Case, url: str) -> Told:
    numbers = (url.rpartition(":")[2], case.requests, case.concurrency or 0, case.rate)
    command = [sys.executable, "-m", "benchmarks.bench_loadgen", "--child", client, *map(str, numbers)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300)
    return msgspec.json.decode(done.stdout, type=Told)


def _child(client: str, port: int, requests: int, concurrency: int | None, rate: float) -> None:
    """In a fresh process: run one client, and tell what it cost."""
    _pin(0, 0)
    run = _bare if client == "bare" else _caveat
    late_ms, due_ns, first_ns, end_ns, cpu_s, peak_mb = run(port, requests, concurrency, rate)
    ttft_ms = (first_ns - due_ns) / 1e6
    # Open loop: what was delivered shows in the first tokens, which all come equally late.
    span_s = float(np.ptp(first_ns) if rate else end_ns.max() - due_ns.min()) / 1e9
    told = Told(
        rate=(requests - 1) / span_s if rate else requests / span_s,
        cpu_ms=1e3 * cpu_s / requests,
        peak_mb=peak_mb,
        start_s=_born_s(due_ns.min()),
        ttft_mean_ms=float(ttft_ms.mean()),
        ttft_p99_ms=float(np.quantile(ttft_ms, 0.99)),
        late_p99_ms=late_ms,
    )
    sys.stdout.buffer.write(msgspec.json.encode(told))


def _bare(port: int, requests: int, concurrency: int | None, rate: float) -> Run:
    from benchmarks.bare_client import run

    before_s = time.process_time()
    times = run(port, requests, model=MODEL, tokens=TOKENS, concurrency=concurrency, rate=rate)
    due_ns, first_ns, end_ns = (np.asarray(values) for values in (times.due_ns, times.first_ns, times.end_ns))
    return None, due_ns, first_ns, end_ns, time.process_time() - before_s, _peak_mb()


def _caveat(port: int, requests: int, concurrency: int | None, rate: float) -> Run:
    """With full samples, written to Parquet as a measured run does."""
    import tempfile

    import pyarrow.parquet as pq

    from caveat.loadgen import Endpoint, HttpTarget, WallClock
    from caveat.loadgen.client_calibration import EqualRequests
    from caveat.measure import ParquetSink

    target = HttpTarget(Endpoint(url=f"http://127.0.0.1:{port}", model=MODEL))
    clock = WallClock()
    before_s = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        target.offer(EqualRequests(requests, round(1e9 / rate) if rate else 0, concurrency), ParquetSink(path), clock)
        cpu_s, peak_mb = time.process_time() - before_s, _peak_mb()
        table = pq.read_table(path)
    assert table.num_rows == requests and table.column("error_class").null_count == requests
    start_ns = clock.start_ns or 0
    names = ("ready_ns", "first_token_ns", "end_ns")
    due_ns, first_ns, end_ns = (table.column(name).to_numpy() + start_ns for name in names)
    assert target.health is not None
    return 1e3 * (target.health.late_p99_s or 0.0), due_ns, first_ns, end_ns, cpu_s, peak_mb


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _born_s(first_ns: int) -> float:
    """Seconds from the start of this process to an instant of the monotonic clock (Linux)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return float(first_ns) / 1e9 - ticks / os.sysconf("SC_CLK_TCK")


def _pin(pid: int, place: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(pid, {cores[place]} if len(cores) > 1 else set(cores))


if __name__ == "__main__":
    main()
