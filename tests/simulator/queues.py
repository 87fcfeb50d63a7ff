"""Exact values of queueing theory, and estimates with their error from simulated values."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

Floats = npt.NDArray[np.float64]


def within(values: Floats, truth: float, *, slack: float = 0.0, confidence: float = 0.999, batches: int = 20) -> None:
    """The mean of a stationary series is the truth, within the error of batch means at that confidence, and `slack`.

    The first tenth is warm-up. `slack` is for what the model has and theory has not, in the values' unit.
    """
    mean, half = estimate(values, confidence, batches)
    assert abs(mean - truth) <= half + slack, f"found {mean:.5g} ± {half:.2g}, expected {truth:.5g} ± {slack:.2g}"
    assert half <= 0.5 * abs(truth) + slack, f"± {half:.2g} is too wide to say anything of {truth:.5g}"


def estimate(values: Floats, confidence: float = 0.999, batches: int = 20) -> tuple[float, float]:
    """Mean of a stationary series and half the width of its interval, by batch means."""
    kept = values[len(values) // 10 :]
    means = np.array([part.mean() for part in np.array_split(kept, batches)])
    half = stats.t.ppf((1 + confidence) / 2, batches - 1) * means.std(ddof=1) / math.sqrt(batches)
    return float(kept.mean()), float(half)


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting in M/M/c."""
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def erlang_arrivals_wait(stages: int, load: float) -> float:
    """Mean wait of E_k/M/1 with service 1: s / (1 - s), s the root of s = (k load / (k load + 1 - s))^k below 1."""
    rate = stages * load
    root = optimize.brentq(lambda s: s - (rate / (rate + 1 - s)) ** stages, 0, 1 - 1e-9)
    return float(root / (1 - root))


def state_dependent(
    rate_per_s: float, tokens: float, step_s: float, sequence_s: float, cap: int, states: int = 3000
) -> tuple[float, float, float]:
    """Decode-only replica as a birth-death chain: (mean in system, mean waiting, P(in system >= cap))."""
    weight, weights = 1.0, [1.0]
    for n in range(1, states):
        k = min(n, cap)
        weight *= rate_per_s * tokens * (step_s + sequence_s * k) / k
        weights.append(weight)
    p = np.array(weights) / sum(weights)
    inside = np.arange(states)
    return float(p @ inside), float(p @ np.maximum(0, inside - cap)), float(p[cap:].sum())


def bulk_wait(load_per_batch: float, size: int, states: int = 250) -> float:
    """M/D[K]/1 with service 1: mean number that a departing batch leaves behind, from the embedded chain.

    X' = max(X - K, 0) + A, A Poisson arrivals of one service.
    """
    arrivals = stats.poisson(load_per_batch).pmf(np.arange(states))
    step = np.zeros((states, states))
    for x in range(states):
        kept = max(x - size, 0)
        step[x, kept:] = arrivals[: states - kept]
        step[x, -1] += 1 - step[x].sum()
    a = step.T - np.eye(states)
    a[-1] = 1.0  # instead of one of the balances, which follows from the others: probabilities sum to one
    p = np.linalg.solve(a, np.eye(states)[-1])
    return float(p @ np.arange(states))


def lindley(at_s: Floats, work_s: Floats) -> Floats:
    """Waits of a single server, first come first served, on one path."""
    walk = np.concatenate(([0.0], np.cumsum(work_s[:-1] - np.diff(at_s))))
    return walk - np.minimum.accumulate(walk)
