"""Peak search against plain bisection, in virtual time on M/D/n queues whose peak is known, and on a real endpoint.

Two bisections, both doubling from the same first guess and then halving the bracket until it is as wide as the search's
interval; a run passes where its share over the limit is at most the allowed one. `short` has runs of 24,576 queries,
the set of an MLPerf LLM server run; `equal` has runs so long that its bracket holds the truth at least as often as the
nominal confidence: the fair peer. Also shown: 600 s of a 10 ms service, the rules' minimum duration.

    python -m benchmarks.bench_peak [--seeds 200] [--loopback]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from tests.measure.mdn import peak_load, probe_of, waits

from caveat.loadgen import Endpoint, Spec, find_peak, goal_of
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import Peak, PeakAsk, PeakGoal, Slo, find_peak_with, peak_sentences
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload

CASES = tuple((servers, limit) for servers in (1, 4, 16, 64) for limit in (1.5, 2.0, 3.0, 5.0))
SHARE, WIDTH, CONFIDENCE = 0.01, 0.06, 0.90
LENGTHS = (24_576, 49_152, 98_304, 196_608, 393_216)
SERVICE_S = 0.01


def start_of(seed: int, truth: float) -> float:
    """A first guess from a quarter to twice of the peak."""
    return float(truth * 2 ** np.random.default_rng(seed + 999).uniform(-2, 1))


def bisection(servers: int, limit: float, start: float, length: int, seed: int) -> tuple[float, float, int]:
    """(low, high, queries) of doubling and bisecting with runs of one length."""
    rng = np.random.default_rng(seed)
    low, high, at, runs = 0.0, np.inf, start, 0
    while not (low and high < np.inf and high - low <= WIDTH * (low + high) / 2):
        waited, _ = waits(at, servers, length, rng)
        runs += 1
        if (waited > limit - 1).mean() <= SHARE:
            low = at
        else:
            high = at
        at = at * 2 if high == np.inf else at / 2 if not low else (low + high) / 2
    return low, high, runs * length


def share_inside(ends: list[tuple[float, float]], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in ends]))


def searched(servers: int, limit: float, truth: float, seeds: int, most: int) -> list[Peak]:
    goals = (PeakGoal(start_qps=start_of(s, truth), seed=s, most_queries=most, full_s=1e-9) for s in range(seeds))
    return [find_peak_with(goal, probe_of(servers, limit)) for goal in goals]


def case(servers: int, limit: float, seeds: int, few: int, most: int) -> str:
    """One line of the table."""
    truth = peak_load(servers, limit) * servers
    began = time.perf_counter()
    peaks = searched(servers, limit, truth, seeds, most)
    each_s = (time.perf_counter() - began) / seeds
    inside = share_inside([(peak.low_qps, peak.high_qps or np.inf) for peak in peaks], truth)
    cost = np.array([peak.queries for peak in peaks])
    confirm = np.mean([peak.confirm_queries for peak in peaks])
    certified = [peak.certified.rate_qps / truth for peak in peaks if peak.certified]
    widths = np.array([peak.width or np.inf for peak in peaks])
    plain = {}
    for length in LENGTHS:
        found = [bisection(servers, limit, start_of(s, truth), length, s) for s in range(few)]
        hits = share_inside([(low, high) for low, high, _ in found], truth)
        plain[length] = (hits, float(np.mean([queries for *_, queries in found])))
        if hits >= CONFIDENCE:
            break
    short, (equal, (hits, queries)) = plain[LENGTHS[0]], list(plain.items())[-1]
    runs = short[1] / LENGTHS[0]
    rules = runs * max(24_576, 600 / SERVICE_S * truth)
    return (
        f"| {servers} | {limit:g} | {truth / servers:.4f} | {inside:.1%} | {np.median(widths):.1%} | "
        f"{np.mean(widths <= WIDTH):.0%} | {np.median(cost):,.0f} | {cost.mean():,.0f} | {confirm:,.0f} | "
        f"{np.median(certified):.3f} | {np.mean(np.array(certified) > 1):.1%} | {short[0]:.0%} | "
        f"{cost.mean() / short[1]:.0%} | {equal:,} ({hits:.0%}) | {cost.mean() / queries:.0%} | "
        f"{cost.mean() / rules:.1%} | {each_s:.2f} |"
    )


def on_loopback(folder: Path, seed: int) -> tuple[Peak, float]:
    """A search on four slots of 20 ms, a limit of 40 ms: (what was found, the truth)."""
    workload = Workload(
        arrivals=Poisson(rate_qps=50.0),
        lengths=Separate(input=Fixed(value=4), output=Fixed(value=1)),
        limits=Limits(requests=100),
    )
    behaviour = behaviour_of({"ttft_s": 0.02, "itl_s": 0.0, "slots": 4})
    with Loopback(behaviour).start() as server:
        there = Endpoint(url=server.url, model="m")
        spec = Spec(endpoint=there, workload=workload, slo=Slo(latency_s=0.04), calibrated=False)

        def folder_of(ask: PeakAsk) -> tuple[Path, str]:
            return folder / f"{ask.number:03d}", f"measured/{ask.seed:032x}"

        found = find_peak(
            spec,
            goal_of(spec, start_qps=60.0, seed=seed, most_s=900.0, confirm=False),
            folder_of,
            version="benchmark",
            now=lambda: datetime.now(UTC).isoformat(),
            rng=random.Random(seed),
        )
    return found, peak_load(4, 2.0) * 4 / 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--few", type=int, default=60, help="seeds of the bisections")
    parser.add_argument("--most", type=int, default=600_000, help="budget of a search in queries")
    parser.add_argument("--loopback", type=int, default=0, help="searches on a real endpoint, some 10 minutes each")
    parser.add_argument("--case", action="append", help="servers,limit: only these")
    asked = parser.parse_args()
    chosen = [(int(s), float(x)) for s, x in (text.split(",") for text in asked.case)] if asked.case else CASES
    print(
        "| n | limit | load | inside | width | <= 6 % | median | mean | confirm | certified | above | short inside |",
        end="",
    )
    print(" of short | equal length (inside) | of equal | of 600 s | s each |")
    for servers, limit in chosen:
        print(case(servers, limit, asked.seeds, asked.few, asked.most), flush=True)
    for seed in range(asked.loopback):
        with tempfile.TemporaryDirectory() as folder:
            found, truth = on_loopback(Path(folder), seed)
        print(f"loopback, seed {seed}: truth {truth:.4g} requests/s.", *peak_sentences(found), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
