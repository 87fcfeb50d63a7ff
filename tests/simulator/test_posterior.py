"""Evidence and posterior: rows of coefficients, a mode, and draws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.evidence import Evidence, closed_loop, first_token, offline, open_loop, step_coefficients
from caveat.simulator.length_mix import mix_of_means
from caveat.simulator.multipliers import PRIORS, RESIDUAL, Multipliers, multipliers_of
from caveat.simulator.posterior import fit
from caveat.simulator.roofline import Roofline, step_time

MIX = mix_of_means(294, 294)
BASIS = Roofline(accelerator="B200", model="llama2-70b", tensor_parallel=1, precision="fp4").basis()
TRUE = (1.3, 2.5, 40e-6, 12e-6, 0.015)


def tpot_s(parameters, sequences: float) -> float:
    return float(step_coefficients(BASIS, MIX, sequences) @ np.array(parameters))


def points(counts, parameters=TRUE, **settings) -> list[Evidence]:
    return [closed_loop(BASIS, MIX, sequences=n, tpot_s=tpot_s(parameters, n), **settings) for n in counts]


@pytest.mark.parametrize("model", ["llama2-70b", "mixtral-8x7b"])
def test_coefficients_times_multipliers_are_the_step_of_the_step_time(model):
    """A row and the pieces say the same of a mean step; for a mixture up to the bend of its pieces."""
    basis = Roofline(accelerator="H200-SXM", model=model, tensor_parallel=2, precision="fp8").basis()
    m = Multipliers(memory=1.3, prefill=2.5, layer_s=4e-5, sequence_s=1e-5)
    row = step_coefficients(basis, MIX, 100) @ np.array([1.3, 2.5, 4e-5, 1e-5, 0.0])
    whole = step_time(basis, m).seconds(
        sequences=100, context_tokens=int(100 * MIX.context_tokens), prompt_tokens=100, prompt_pairs=100 * 147.0
    )
    assert row == pytest.approx(whole, rel=0.01)


def test_without_evidence_the_draws_are_those_of_the_prior():
    """Medians and spreads of 4,000 draws, the residual beside the prior for steps and not for the overhead."""
    found = fit([], np.random.default_rng(1), draws=4000)
    logs = np.log(found.table())
    assert found.mode == pytest.approx([prior.median for prior in PRIORS])
    for place, prior in enumerate(PRIORS):
        sd = math.hypot(prior.sd, RESIDUAL if prior.name != "overhead_s" else 0.0)
        assert logs[:, place].mean() == pytest.approx(math.log(prior.median), abs=0.06 * prior.sd + 0.02)
        assert logs[:, place].std() == pytest.approx(sd, rel=0.08)


def test_the_same_generator_state_gives_the_same_draws():
    """Randomness is handed in."""
    one, same, other = (fit(points([10]), np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same
    assert one.draws != other.draws


def test_two_points_of_one_shape_pin_the_step_between_and_beyond_them():
    """Within 3 % from 200 to 2,000 sequences, though the four multipliers are not pinned one by one."""
    found = fit(points([200, 2000]), np.random.default_rng(1))
    for n in (200, 700, 2000, 3000):
        assert tpot_s(found.mode, n) == pytest.approx(tpot_s(TRUE, n), rel=0.03)


@settings(max_examples=20)
@given(counts=st.lists(st.integers(1, 3000), min_size=1, max_size=4, unique=True), seed=st.integers(0, 2**32))
def test_evidence_brings_the_mode_nearer_and_never_widens_the_draws(counts, seed):
    """At the points that were seen."""
    prior, found = fit([], np.random.default_rng(seed)), fit(points(counts), np.random.default_rng(seed))
    for n in counts:
        row = step_coefficients(BASIS, MIX, n)
        assert np.log(found.table() @ row).std() < np.log(prior.table() @ row).std()
        assert tpot_s(found.mode, n) == pytest.approx(tpot_s(TRUE, n), rel=0.1)


def test_draws_spread_by_the_residual_where_everything_is_known():
    """Precise evidence at a point leaves about the residual there."""
    found = fit(points([500], sd=0.01), np.random.default_rng(1), draws=2000)
    spread = np.log(found.table() @ step_coefficients(BASIS, MIX, 500)).std()
    assert spread == pytest.approx(RESIDUAL, rel=0.1)


def test_only_a_first_token_teaches_the_overhead():
    """1.5 steps and the overhead at p50; without it the prior stands."""
    seen = points([10])
    first = first_token(BASIS, MIX, sequences=10, ttft_s=1.5 * tpot_s(TRUE, 10) + TRUE[4])
    rng = np.random.default_rng(1)
    assert fit(seen, rng).overhead_s == pytest.approx(0.02)
    assert fit([*seen, first], rng).overhead_s == pytest.approx(TRUE[4], rel=0.15)
    with pytest.raises(InputError, match="percentile: found 'p99', expected one of p50, p95"):
        first_token(BASIS, MIX, sequences=10, ttft_s=1, percentile="p99")


def test_an_open_loop_rate_is_a_closed_loop_at_its_concurrency():
    """Little: N = rate x output tokens x TPOT."""
    rate = 100 / (294 * tpot_s(TRUE, 100))
    one = open_loop(BASIS, MIX, rate_per_s=rate, tpot_s=tpot_s(TRUE, 100))
    assert one.coefficients == pytest.approx(points([100])[0].coefficients)


def test_an_offline_rate_is_believed_less_where_the_batch_matters_more():
    """Seconds per token between half the batch and all of it, its spread added to the residual."""
    rate = 1000 / tpot_s(TRUE, 1000)
    large = offline(BASIS, MIX, tokens_per_s=rate, most_sequences=1000)
    small = offline(BASIS, MIX, tokens_per_s=rate, most_sequences=20)
    assert large.seen_s == pytest.approx(1 / rate)
    assert 0.05 < large.sd < small.sd
    found = fit([large], np.random.default_rng(1))
    assert tpot_s(found.mode, 750) / 750 == pytest.approx(1 / rate, rel=0.1)


def test_an_offline_row_is_the_mean_from_half_the_batch_to_all_of_it():
    """Nine batches, seconds per token in each: by hand."""
    rows = [step_coefficients(BASIS, MIX, n) / n for n in np.linspace(50, 100, 9)]
    found = offline(BASIS, MIX, tokens_per_s=2000, most_sequences=100)
    assert found.coefficients == pytest.approx(np.mean(rows, axis=0))
    assert found.coefficients[2] > 1.2 * rows[-1][2]


@pytest.mark.parametrize(("percentile", "steps"), [("p50", 1.5), ("p95", 1.95)])
def test_a_first_token_row_is_so_many_steps_and_the_overhead(percentile, steps):
    """Half a step to wait at the median, 95 % of one at p95, and the step itself."""
    found = first_token(BASIS, MIX, sequences=10, ttft_s=0.1, percentile=percentile)
    step = step_coefficients(BASIS, MIX, 10)
    assert found.coefficients == pytest.approx([*(steps * step[:4]), 1.0])


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_no_evidence(value):
    """The error says what was seen of what."""
    with pytest.raises(InputError, match="run 7: found"):
        closed_loop(BASIS, MIX, sequences=1, tpot_s=value, what="run 7")
    with pytest.raises(InputError, match="sequences: found"):
        closed_loop(BASIS, MIX, sequences=value, tpot_s=1)


def test_numbers_of_draws_are_bounded():
    """And so is what an sd may be."""
    with pytest.raises(InputError, match="draws: found 0"):
        fit([], np.random.default_rng(1), draws=0)
    with pytest.raises(InputError, match="found sd 0"):
        points([1], sd=0.0)
    with pytest.raises(InputError, match=r"multipliers\.memory: found nan"):
        multipliers_of([math.nan, 1, 1, 1])


def test_a_step_time_for_each_draw():
    """In the order of the draws."""
    found = fit([], np.random.default_rng(1), draws=3)
    steps = found.step_times(BASIS)
    assert [one.pieces[0].prompt_token_s for one in steps] == pytest.approx(
        [draw[1] * BASIS.prompt_token_s for draw in found.draws]
    )


def test_the_residual_moves_steps_and_not_the_overhead():
    """With and without it, the same proposals: every overhead is the same number, no step is."""
    none, much = (fit([], np.random.default_rng(5), draws=200, residual=sd).table() for sd in (0.0, 0.5))
    assert np.array_equal(none[:, -1], much[:, -1])
    factors = np.log(much[:, :-1] / none[:, :-1])
    assert factors == pytest.approx(np.repeat(factors[:, :1], factors.shape[1], axis=1))
    assert factors[:, 0].std() == pytest.approx(0.5, rel=0.15)
