"""Markov-modulated arrivals: the mean rate, and the dispersion that the theory gives."""

import math

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import Mmpp, State
from tests.workload.cases import SEEDS, times

ON_OFF = Mmpp((State(30.0, 0.5), State(2.0, 1.5)))


def dispersion(process: Mmpp, window_s: float) -> float:
    """Variance over mean of the count in a window, for two states (Fischer and Meier-Hellstern 1993).

    1 + 2 (l1 - l2)^2 r1 r2 / ((r1 + r2)^2 (l1 r2 + l2 r1)) (1 - (1 - exp(-(r1 + r2) t)) / ((r1 + r2) t)).
    """
    (one, two), both = process.states, sum(1 / state.mean_s for state in process.states)
    r1, r2 = 1 / one.mean_s, 1 / two.mean_s
    limit = 2 * (one.rate_qps - two.rate_qps) ** 2 * r1 * r2 / (both**2 * (one.rate_qps * r2 + two.rate_qps * r1))
    return 1 + limit * (1 - (1 - math.exp(-both * window_s)) / (both * window_s))


def counts(process: Mmpp, window_s: float, seconds: int, seed: int):
    edges = np.arange(0, seconds + window_s / 2, window_s) * 1e9
    return np.histogram(times(process, seconds, seed), edges)[0]


def test_the_mean_rate_is_weighted_by_time():
    """9 a second: a quarter of the time 30, else 2. 100 seeds of 100 s within 5 standard errors."""
    assert ON_OFF.mean_qps() == 9.0
    total = sum(len(times(ON_OFF, 100.0, seed)) for seed in SEEDS)
    error = math.sqrt(90_000 * dispersion(ON_OFF, 1e6))
    assert abs(total - 90_000) < 5 * error


@pytest.mark.parametrize("window_s", [0.1, 1.0, 10.0])
def test_the_dispersion_of_counts_is_the_analytic_one(window_s: float):
    """100 seeds of 200 s: the estimate's own error is some 2 %."""
    observed = np.concatenate([counts(ON_OFF, window_s, 200, seed) for seed in SEEDS])
    assert observed.var() / observed.mean() == pytest.approx(dispersion(ON_OFF, window_s), rel=0.08)


def test_states_of_one_rate_are_poisson():
    """Nothing to modulate: dispersion 1."""
    level = Mmpp((State(10.0, 1.0), State(10.0, 3.0), State(10.0, 0.2)))
    observed = np.concatenate([counts(level, 1.0, 200, seed) for seed in SEEDS])
    assert observed.var() / observed.mean() == pytest.approx(1.0, rel=0.05)


def test_each_of_three_states_has_its_share_of_time():
    """Only one state gives arrivals; its share of time is its share of the means."""
    one_of_three = Mmpp((State(0.0, 1.0), State(40.0, 2.0), State(0.0, 5.0)))
    total = sum(len(times(one_of_three, 100.0, seed)) for seed in SEEDS)
    assert total / (100 * 100) == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((State(1.0, 1.0),), "found 1 states, expected 2 to 64"),
        ((State(0.0, 1.0), State(0.0, 1.0)), "a rate above 0"),
        ((State(1e-3, 1e-6), State(0.0, 1e-6)), "changes of the rate"),
        ((State(1e9, 1e6), State(0.0, 1e6)), "requests in one stay"),
    ],
)
def test_states_that_make_no_process_are_refused(states: tuple[State, ...], expected: str):
    """Too few, silent, or out of proportion."""
    with pytest.raises(InputError, match=expected):
        Mmpp(states)


@pytest.mark.parametrize(("rate_qps", "mean_s"), [(-1.0, 1.0), (math.nan, 1.0), (1.0, 0.0), (1.0, math.inf)])
def test_a_state_out_of_range_is_refused(rate_qps: float, mean_s: float):
    """NaN and infinity as well as signs."""
    with pytest.raises(InputError, match=r"mmpp\.states: "):
        State(rate_qps, mean_s)
