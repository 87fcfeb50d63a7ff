"""How fast plans are drawn, beside the least that NumPy could do: times and two lengths from its own generator.

Run from the root of the checkout: `python -m benchmarks.bench_plans`. The bound: 10 million Poisson requests in 3 s,
in memory that does not grow with them.
"""

import resource
import time

import numpy as np

from caveat.workload import (
    Client,
    Fixed,
    Gamma,
    Geometric,
    Limits,
    Lognormal,
    Poisson,
    Prefixes,
    Separate,
    Sessions,
    Superposition,
    Workload,
)

FIXED = Separate(input=Fixed(512), output=Fixed(128))
CHAT = Separate(input=Lognormal(mean=500.0, cv=1.2), output=Lognormal(p50=100.0, p90=400.0))
TIED = Separate(input=CHAT.input, output=CHAT.output, correlation=0.5)
TEN_MILLION = Limits(requests=10_000_000)
MILLION = Limits(requests=1_000_000)

CASES: dict[str, Workload] = {
    "poisson, fixed lengths": Workload(arrivals=Poisson(1000.0), lengths=FIXED, limits=TEN_MILLION),
    "poisson, log-normal lengths": Workload(arrivals=Poisson(1000.0), lengths=CHAT, limits=TEN_MILLION),
    "gamma cv 3, correlated lengths": Workload(arrivals=Gamma(1000.0, cv=3.0), lengths=TIED, limits=MILLION),
    "100 clients": Workload(
        arrivals=Superposition(tuple(Client(Gamma(float(n), cv=2.0)) for n in range(1, 101))),
        lengths=CHAT,
        limits=MILLION,
    ),
    "sessions of 4 turns, 10 prompts": Workload(
        arrivals=Poisson(50.0),
        lengths=CHAT,
        limits=Limits(requests=200_000),
        sessions=Sessions(Geometric(4.0), context_max=32_768),
        prefixes=Prefixes(prompts=10),
    ),
}


def main() -> None:
    for name, workload in CASES.items():
        began_s = time.perf_counter()
        requests = sum(len(block) for block in workload.plan().blocks())
        took_s = time.perf_counter() - began_s
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"plans: {name}: {requests:,} requests in {took_s:.2f} s, {requests / took_s:,.0f}/s; "
            f"{took_s / requests / _plain_numpy_s():.1f} times NumPy alone; peak memory so far {peak_mb:,.0f} MB"
        )


def _plain_numpy_s() -> float:
    """Seconds a request: exponential gaps and two log-normal lengths, in blocks, kept by nobody."""
    random = np.random.default_rng(0)
    began_s = time.perf_counter()
    for _ in range(100):
        np.cumsum(np.rint(random.exponential(1e6, 8192)).astype(np.int64))
        np.rint(random.lognormal(6.0, 1.0, 8192)).astype(np.int64)
        np.rint(random.lognormal(5.0, 1.0, 8192)).astype(np.int64)
    return (time.perf_counter() - began_s) / (100 * 8192)


if __name__ == "__main__":
    main()
