"""Exact values of queueing theory, and estimates with their error from long paths.

An estimate may lean on controls: other means of the same path that are known exactly. Regression on them takes away
what the path has in common with them, so that a short path says as much as one ten or a hundred times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

Floats = npt.NDArray[np.float64]
Control = tuple[Floats, float]
"""A series beside the values, and its exact mean."""


def within(
    values: Floats,
    truth: float,
    *,
    controls: Sequence[Control] = (),
    slack: float = 0.0,
    notices: float = 0.03,
    confidence: float = 0.999,
) -> None:
    """The mean of a stationary series is the truth, within its error at that confidence and `slack`; and the test has
    power: were all values by a share of `notices` larger or smaller, it would fail.

    `slack` is for what the model has and theory has not, in the values' unit.
    """
    mean, half = estimate(values, controls, confidence)
    assert abs(mean - truth) <= half + slack, f"found {mean:.5g} ± {half:.2g}, expected {truth:.5g} ± {slack:.2g}"
    for bias in (1 - notices, 1 + notices):
        assert abs(mean * bias - truth) > half + slack, f"± {half + slack:.2g} hides {notices:.0%} of {truth:.5g}"


def estimate(
    values: Floats, controls: Sequence[Control] = (), confidence: float = 0.999, batches: int = 40
) -> tuple[float, float]:
    """Mean of a stationary series and half the width of its interval: batch means, regressed on those of the controls.

    The first twentieth is warm-up.
    """
    lines = [np.ones(batches), *(_means(series, batches) - known for series, known in controls)]
    design, means = np.column_stack(lines), _means(values, batches)
    fitted, _, rank, _ = np.linalg.lstsq(design, means, rcond=1e-9)
    free = batches - int(rank)
    variance = float(((means - design @ fitted) ** 2).sum()) / free
    spread = math.sqrt(variance * np.linalg.pinv(design.T @ design, rcond=1e-12)[0, 0])
    return float(fitted[0]), float(stats.t.ppf((1 + confidence) / 2, free)) * spread


def _means(values: Floats, batches: int) -> Floats:
    parts = np.array_split(values[len(values) // 20 :], batches)
    return np.array([part.mean() for part in parts])


def controls_of(rate_per_s: float, gaps_s: Floats, work_s: Floats, mean_s: float, square: float) -> list[Control]:
    """Of a Poisson stream: its gaps and work, and what one server that does all the work would come to.

    Its waits are Lindley's on the same path, their mean is Pollaczek and Khinchine's. `mean_s` is the exact mean of
    `work_s`, what that server needs for each request, and `square` the exact mean square over the square of that.
    """
    load = rate_per_s * mean_s
    waits_s = lindley(np.cumsum(gaps_s), work_s)
    wait_s = load * mean_s * square / 2 / (1 - load)
    busy = (waits_s > 1e-9).astype(float)
    return [(gaps_s, 1 / rate_per_s), (work_s, mean_s), (waits_s, wait_s), (busy, load)]


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


def shorter_of_two_lines(load: float, longest: int = 32) -> float:
    """Mean wait where two servers with service 1 have a line each and a newcomer joins the shorter: from the chain of
    both lengths, cut off at `longest`: at 80 % that is right to 10^-5."""
    size = longest + 1
    a, b = np.divmod(np.arange(size * size), size)
    rate = np.zeros((size * size, size * size))
    state = np.arange(size * size)
    joins = np.where(a <= b, state + size, state + 1)
    open_ = np.minimum(a, b) < longest
    rate[joins[open_], state[open_]] += 2 * load
    rate[state[a > 0] - size, state[a > 0]] += 1
    rate[state[b > 0] - 1, state[b > 0]] += 1
    rate[state, state] -= rate.sum(axis=0)
    rate[-1] = 1.0
    p = np.linalg.solve(rate, np.eye(size * size)[-1])
    return float(p @ (a + b)) / (2 * load) - 1
