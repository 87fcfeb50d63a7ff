"""How true the generator's times are, beside the bare client's: what each tells against what the server did.

Run from the root of the checkout: `python -m benchmarks.bench_truth [--mock MOCK_SERVER.py]`. An error is the told mean
(or p99) of times to first token less the server's own, from its reading of a request to its first write: the way
through two kernels and two event loops is inside it.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.peers.servers import CHUNKS, Answers, serve
from benchmarks.results import Result, keep, machine
from caveat.loadgen import Endpoint, HttpTarget, WallClock
from caveat.loopback import Behaviour, Fixed, start_process
from caveat.measure import Kept
from caveat.workload import Concurrency, Constant, Limits, Separate, Workload
from caveat.workload import Fixed as FixedTokens

TTFT_S, RATE = 0.1, 20.0
SHARE_OF_CEILING = 0.7
LADDER, LADDER_S = (500.0, 1_000.0, 2_000.0, 3_000.0, 4_000.0), 4.0  # at which rate times cease to be true
IN_FLIGHT = 800  # with 100 ms to the first token: up to 8,000 requests/s
MEAN_SLACK_MS, P99_SLACK_MS, BUSY_MS = 0.2, 0.5, 5.0
STALL_S, STALL_RATE, STALL_RUN_S = 2.0, 20.0, 6.0
CLIENTS = ("bare", "caveat")

Floats = npt.NDArray[np.float64]


class Error(msgspec.Struct, frozen=True):
    """Told less true, in milliseconds."""

    mean_ms: float
    p99_ms: float


class Stall(msgspec.Struct, frozen=True):
    """A run through a stall: requests that were due in it, and how far their latencies lie from what had to be."""

    due: int
    too_short: int
    worst_ms: float
    median_ms: float


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mock", type=Path, help="a mock server to use in place of the loopback endpoint")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a quiet run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where the result is kept")
    parser.add_argument("--child", nargs=5, metavar=("CLIENT", "PORT", "REQUESTS", "CONCURRENCY", "RATE"))
    asked = parser.parse_args(arguments if arguments is not None else [])
    if asked.child:
        told_by_child(*asked.child)
        return
    quiet = errors(asked.mock, round(RATE * asked.seconds), dict.fromkeys(CLIENTS, RATE), asked.repeats)
    ceilings = {client: ceiling(client, asked.mock) for client in CLIENTS}
    rates = {client: SHARE_OF_CEILING * rate for client, rate in ceilings.items()}
    busy = errors(asked.mock, 8_000, rates, min(3, asked.repeats))
    ladder = {
        f"{rate:g}": errors(asked.mock, round(LADDER_S * rate), dict.fromkeys(CLIENTS, rate), min(3, asked.repeats))
        for rate in LADDER
    }
    stall = through_a_stall()
    found = {"quiet": quiet, "busy": busy, "ceilings": ceilings, "ladder": ladder, "stall": stall}
    report(quiet, busy, ceilings, ladder, stall)
    if asked.json is not None:
        notes = {"server": asked.mock.stem if asked.mock else "loopback", "repeats": str(asked.repeats)}
        keep(asked.json, Result("truth", machine(), notes, msgspec.to_builtins(found)))


def errors(mock: Path | None, requests: int, rates: dict[str, float], repeats: int) -> dict[str, Error]:
    """The median error of each client over runs in turns, at its rate."""
    runs: dict[str, list[Error]] = {client: [] for client in rates}
    for _ in range(repeats):
        for client, rate in rates.items():
            with serve(Answers(ttft_s=TTFT_S), mock) as server:
                told_ms = told(client, server.port, requests, None, rate)["ttft_ms"]
                seen = server.seen()
            runs[client].append(error(told_ms, 1e3 * (seen.first_s - seen.arrived_s)))
    return {
        client: Error(*(float(np.median([getattr(one, name) for one in of_one])) for name in Error.__struct_fields__))
        for client, of_one in runs.items()
    }


def error(told_ms: Floats, true_ms: Floats) -> Error:
    """Of the mean and of the 99th percentile."""
    p99 = np.quantile(told_ms, 0.99) - np.quantile(true_ms, 0.99)
    return Error(float(told_ms.mean() - true_ms.mean()), float(p99))


def ceiling(client: str, mock: Path | None) -> float:
    """Requests a second of the same answers, with as many in flight as a client can use: the better of two runs.

    Of the same answers, since a first token that comes alone costs more than one that comes with the rest.
    """
    with serve(Answers(ttft_s=TTFT_S), mock) as server:
        return max(float(told(client, server.port, 12_000, IN_FLIGHT, 0.0)["per_s"][0]) for _ in range(2))


def told(client: str, port: int, requests: int, concurrency: int | None, rate: float) -> dict[str, Floats]:
    """What a client tells, from a process of its own."""
    numbers = map(str, (port, requests, concurrency or 0, rate))
    command = [sys.executable, "-m", "benchmarks.bench_truth", "--child", client, *numbers]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300)
    return {name: np.array(values) for name, values in json.loads(done.stdout).items()}


def told_by_child(client: str, port: str, requests: str, concurrency: str, rate: str) -> None:
    """The child: run, and say the times to first token and the rate."""
    run = bare if client == "bare" else caveat
    due_ns, first_ns, end_ns = run(int(port), int(requests), int(concurrency) or None, float(rate))
    per_s = len(due_ns) * 1e9 / float(end_ns.max() - due_ns.min())
    print(json.dumps({"ttft_ms": ((first_ns - due_ns) / 1e6).tolist(), "per_s": [per_s]}))


Times = tuple[npt.NDArray[np.int64], ...]


def bare(port: int, requests: int, concurrency: int | None, rate: float) -> Times:
    """Due, first and end of every request by the bare client."""
    from benchmarks.bare_client import run

    times = run(port, requests, model="mock-model", tokens=CHUNKS, concurrency=concurrency, rate=rate)
    return tuple(np.array(column) for column in (times.due_ns, times.first_ns, times.end_ns))


def caveat(port: int, requests: int, concurrency: int | None, rate: float) -> Times:
    """The same by ours; closed loops count from sending."""
    kept, _ = offered(f"http://127.0.0.1:{port}", requests, concurrency, rate)
    return tuple(kept.table().column(name).to_numpy() for name in ("ready_ns", "first_token_ns", "end_ns"))


def offered(url: str, requests: int, concurrency: int | None, rate: float) -> tuple[Kept, WallClock]:
    """An offer, and when its time 0 was."""
    workload = Workload(
        arrivals=Concurrency(requests=concurrency) if concurrency else Constant(rate_qps=rate),
        lengths=Separate(input=FixedTokens(value=32), output=FixedTokens(value=CHUNKS)),
        limits=Limits(requests=requests),
    )
    sink, clock = Kept(), WallClock()
    HttpTarget(Endpoint(url=url, model="mock-model")).offer(workload.plan(), sink, clock)
    return sink, clock


def through_a_stall() -> Stall:
    """Open loop against a server that stands still for two seconds: nobody waits less than until its end."""
    with start_process(Behaviour(ttft_s=Fixed(0.02), default_output_tokens=1)) as server:
        began: list[tuple[int, int]] = []
        timer = threading.Timer(STALL_S, lambda: began.append(stalled(server.url)))
        timer.start()
        kept, clock = offered(server.url, round(STALL_RATE * STALL_RUN_S), None, STALL_RATE)
        timer.join()
    table = kept.table()
    due_ns = table.column("scheduled_ns").to_numpy() + (clock.start_ns or 0)
    latency_ns = table.column("first_token_ns").to_numpy() + (clock.start_ns or 0) - due_ns
    (before_ns, after_ns), length_ns = began[0], round(STALL_S * 1e9)
    inside = (due_ns > after_ns) & (due_ns < before_ns + length_ns)
    least_ns = before_ns + length_ns - due_ns[inside]  # had the stall begun when it was asked for
    over_ms = (latency_ns[inside] - least_ns) / 1e6
    return Stall(int(inside.sum()), int((over_ms < 0).sum()), float(over_ms.max()), float(np.median(over_ms)))


def stalled(url: str) -> tuple[int, int]:
    """Ask for the stall; the instants between which it began."""
    before_ns = time.monotonic_ns()
    body = json.dumps({"seconds": STALL_S}).encode()
    with urlopen(Request(f"{url}/loopback/stall", body, method="POST"), timeout=10) as answer:
        answer.read()
    return before_ns, time.monotonic_ns()


def report(
    quiet: dict[str, Error],
    busy: dict[str, Error],
    ceilings: dict[str, float],
    ladder: dict[str, dict[str, Error]],
    stall: Stall,
) -> None:
    """Print it."""
    loads = {f"{RATE:g}/s": quiet} | {f"{rate}/s": found for rate, found in ladder.items()}
    for what, found in (loads | {f"{SHARE_OF_CEILING:.0%} of the ceiling": busy}).items():
        for client, one in found.items():
            print(f"{what:24} {client:8} error of the mean {one.mean_ms:+.2f} ms, of p99 {one.p99_ms:+.2f} ms")
    print("ceilings: " + ", ".join(f"{client} {rate:,.0f}/s" for client, rate in ceilings.items()))
    print(
        f"stall of {STALL_S:g} s: {stall.due} requests were due in it, {stall.too_short} with less latency than until "
        f"its end, {stall.median_ms:.2f} ms over it at the median, {stall.worst_ms:.2f} at most"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
