"""M/D/n exactly, and simulated: the truth for the search of the peak. Times in units of the service time.

Number in system: N' = max(N - n, 0) + Poisson(load) from one service time to the next (Crommelin 1932). The wait:
P(W <= x) = sum over j < kn of Q(kn - 1 - j) Poisson(j; load (k - x)) for k - 1 <= x < k, with Q(m) = P(N <= n + m)
(Franx, A simple solution for the M/D/c waiting time distribution, 2001). All terms are positive.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from caveat.measure import PeakAsk, PeakProbe

Floats = npt.NDArray[np.float64]


def number_in_system(load: float, servers: int) -> Floats:
    """p_0, p_1, ... of the number in system, cut off where the rest is below 1e-12 or at 1,200 waiting."""
    free = 1 - load / servers
    size = int(servers + load + 8 * math.sqrt(load) + 20 + min(16 / free, 1200))
    arrivals = stats.poisson.pmf(np.arange(size), load)
    step = np.zeros((size, size))
    for k in range(size):
        left = max(k - servers, 0)
        step[left:, k] = arrivals[: size - left]
    step[-1] += 1 - step.sum(axis=0)
    balance = step - np.eye(size)
    balance[-1] = 1.0
    return np.asarray(np.linalg.solve(balance, np.eye(size)[-1]))


def wait_cdf(x: float, load: float, servers: int) -> float:
    """P(W <= x)."""
    at_most = np.cumsum(number_in_system(load, servers))
    k = math.floor(x) + 1
    j = np.arange(k * servers)
    places = np.minimum(servers + k * servers - 1 - j, len(at_most) - 1)
    return float((at_most[places] * stats.poisson.pmf(j, load * (k - x))).sum())


def peak_load(servers: int, limit: float, share: float = 0.01) -> float:
    """The load per server at which P(wait + service > limit) = share."""

    def above(rho: float) -> float:
        return math.log(max(1e-300, 1 - wait_cdf(limit - 1, rho * servers, servers))) - math.log(share)

    return float(optimize.brentq(above, 0.002, 0.997, xtol=1e-5))


def waits(load: float, servers: int, queries: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(waits, arrival times) of a first come, first served queue that starts empty.

    With one fixed service time requests end in their order, so request i waits for request i - n alone.
    """
    arrivals = np.cumsum(rng.exponential(1 / load, queries))
    padded = np.concatenate([arrivals, np.full(-queries % servers, np.inf)]).reshape(-1, servers)
    turns = np.arange(len(padded))[:, None]
    starts = np.maximum.accumulate(padded - turns, axis=0) + turns
    return starts.reshape(-1)[:queries] - arrivals, arrivals


def probe_of(servers: int, limit: float) -> Callable[[PeakAsk], PeakProbe]:
    """A probe of that queue in virtual time, which stops where the search says that it is hopeless."""

    def probe(ask: PeakAsk) -> PeakProbe:
        waited, at = waits(ask.rate_qps, servers, ask.queries, np.random.default_rng(ask.seed))
        over = waited > limit - 1
        counted = np.cumsum(over)
        cut = len(over)
        if ask.most_over is not None and counted[-1] > ask.most_over:
            cut = int(np.argmax(counted > ask.most_over)) + 1
        return PeakProbe(
            over=over[:cut],
            span_s=float(at[cut - 1] - at[0]),
            latency_s=float(np.median(waited[:cut])) + 1,
            wait_s=limit - 1,
        )

    return probe
