"""Speculative decoding: the law of gains, counted streams, and what acceptance does to time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.speculative import gains, mixed, uniforms
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import Columns, affine, serve


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9), st.integers(0, 10**6), st.integers(1, 50), st.integers(0, 49))
def test_a_draw_is_a_function_of_seed_request_and_step(seed, request, first, count, at):
    """Whatever is asked for at once."""
    at = min(at, count - 1)
    assert uniforms(seed, request, first, count)[at] == uniforms(seed, request, first + at, 1)[0]


def test_the_mixer_is_splitmix64():
    """The first outputs of SplitMix64 from seed 0, as published with the generator."""
    golden = 0x9E3779B97F4A7C15
    found = [mixed(golden * k & (2**64 - 1)) for k in (1, 2, 3)]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.8, 1.0])
def test_gains_follow_their_law(acceptance):
    """P(i) = a^(i-1) (1 - a), a^draft for all: chi-square below its 99.9 % point over many requests."""
    speculation = Speculation(draft_tokens=4, acceptance=acceptance, seed=9)
    drawn = np.concatenate([gains(speculation, request, 0, 50) for request in range(1000)])
    law = np.array([acceptance**i * (1 - acceptance) for i in range(4)] + [acceptance**4])
    counts = np.bincount(drawn, minlength=6)[1:]
    possible = law > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        chi = ((counts - law * len(drawn)) ** 2)[possible] / (law * len(drawn))[possible]
        assert chi.sum() < stats.chi2.ppf(0.999, possible.sum() - 1)
    assert drawn.mean() == pytest.approx(speculation.tokens_per_step(), abs=0.05)


def test_requests_and_seeds_have_streams_of_their_own():
    """No correlation between neighbours."""
    a, b, c = uniforms(1, 5, 0, 20_000), uniforms(1, 6, 0, 20_000), uniforms(2, 5, 0, 20_000)
    for other in (b, c, np.roll(a, 1)):
        assert abs(np.corrcoef(a, other)[0, 1]) < 4 / np.sqrt(20_000)


def test_a_draft_costs_and_gains():
    """64 users, answers of 400: the rate is that of steps with their draft, times the mean gain."""
    speculation = Speculation(draft_tokens=3, acceptance=0.7, draft_step_s=0.002, draft_sequence_s=1e-5)
    count = 64 * 20
    plan = Columns(np.zeros(count), np.ones(count), np.full(count, 400), concurrency=64)
    served = serve(SimulatedServer(affine(10, 0.01, 0.05), Scheduler(speculation=speculation)), plan)
    step_s = 0.010 + 0.002 + 64 * (5e-5 + 1e-5 + 3 * 1e-5)
    # an answer ends inside a step: half a step's gain is lost on average
    tpot_s = served.e2e_s()[: count // 2].mean() / 400
    assert tpot_s == pytest.approx(step_s / speculation.tokens_per_step(), rel=0.01)
