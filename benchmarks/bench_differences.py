"""How often two runs are told apart: pairs that are equal, and pairs of which one server is 5 % slower.

Run from the root of the checkout: `python -m benchmarks.bench_differences [--pairs 40]`. The server is the loopback
endpoint with log-normal times and a queue, half busy; every run has its own arrivals and its own draws.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.results import Result, keep, machine
from caveat.loadgen import Endpoint, HttpTarget, WallClock
from caveat.loopback import Behaviour, Lognormal, start_process
from caveat.measure import ParquetSink, difference
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload

PAIRS = 40
RATE_QPS, SECONDS = 600.0, 2.5
MEDIAN_S, SIGMA, SLOTS = 0.05, 0.3, 60
SLOWER = 1.05
METRICS = ("caveat-latency.mean", "caveat-ttft.mean", "caveat-latency.p50", "caveat-latency.p90")
ASKED = METRICS[0]
MOST_FALSE, LEAST_FOUND = 6, 36  # of 40, for the metric that is asked about


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--json", type=Path, help="where the result is kept")
    asked = parser.parse_args(arguments if arguments is not None else [])
    equal, slower = dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0)
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(asked.pairs):
            one, same, slow = (
                run(Path(folder) / f"{pair}-{place}", seed=3 * pair + place, factor=factor)
                for place, factor in enumerate((1.0, 1.0, SLOWER))
            )
            for metric in METRICS:
                equal[metric] += difference(one, same, metric).different is True
                slower[metric] += difference(one, slow, metric).different is True
    print(f"{asked.pairs} pairs of runs of {SECONDS:g} s at {RATE_QPS:g}/s")
    for metric in METRICS:
        print(f"  {metric:24} equal told apart {equal[metric]:3}   5 % slower told apart {slower[metric]:3}")
    print(f"aimed at, {ASKED}: at most {MOST_FALSE} of {PAIRS}, at least {LEAST_FOUND} of {PAIRS}")
    if asked.json is not None:
        notes = {"pairs": str(asked.pairs), "run": f"{SECONDS:g} s at {RATE_QPS:g}/s"}
        keep(asked.json, Result("differences", machine(), notes, {"equal": equal, "slower": slower}))


def run(path: Path, *, seed: int, factor: float) -> Path:
    """The samples of one run against a server of its own."""
    service = Lognormal(MEDIAN_S * factor, SIGMA)
    behaviour = Behaviour(ttft_s=service, slots=SLOTS, one_write=True, seed=seed)
    workload = Workload(
        arrivals=Poisson(rate_qps=RATE_QPS),
        lengths=Separate(input=Fixed(value=16), output=Fixed(value=4)),
        limits=Limits(duration_s=SECONDS),
        seed=seed,
    )
    with start_process(behaviour) as server:
        target = HttpTarget(Endpoint(url=server.url, model="loopback"))
        target.offer(workload.plan(), ParquetSink(path), WallClock())
    return path


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
