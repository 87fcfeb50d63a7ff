"""Families of gaps: mean 1, the spread they are named for, and a first wait that keeps the rate."""

import math
from itertools import islice

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import ConstantGaps, ExponentialGaps, GammaGaps, Gaps, LognormalGaps, WeibullGaps
from caveat.workload.gaps import gamma_variables, renewal_times, weibull_cv, weibull_inverse_shape
from caveat.workload.loadgen_schedule import MAX_SPAN_NS
from caveat.workload.streams import Stream
from tests.workload.cases import CRITICAL, SECOND, SEEDS, kolmogorov

RANDOM: tuple[Gaps, ...] = (
    ExponentialGaps(),
    GammaGaps(0.3),
    GammaGaps(2.0),
    WeibullGaps(0.5),
    WeibullGaps(2.0),
    LognormalGaps(1.5),
)
IDS = [gaps.words() for gaps in RANDOM]


def gaps_of(gaps: Gaps, seed: int, count: int):
    return np.concatenate(list(islice(gaps.draw(Stream(seed)), 8)))[:count]


@pytest.mark.parametrize("gaps", RANDOM, ids=IDS)
def test_gaps_have_mean_one_and_their_cv(gaps: Gaps):
    """100 seeds of 4,000 gaps: the mean within 5 standard errors (a false alarm in 1.7 million), the cv within 4 %."""
    drawn = np.concatenate([gaps_of(gaps, seed, 4000) for seed in SEEDS])
    assert abs(drawn.mean() - 1) < 5 * gaps.cv / math.sqrt(len(drawn))
    assert drawn.std() / drawn.mean() == pytest.approx(gaps.cv, rel=0.04)


@pytest.mark.parametrize("gaps", RANDOM, ids=IDS)
def test_the_first_wait_is_that_of_a_random_moment(gaps: Gaps):
    """Its mean is (1 + cv^2) / 2: longer gaps are more often met. 4,000 seeds, 10 %."""
    waits = [gaps.first(Stream(seed)) for seed in range(4000)]
    assert np.mean(waits) == pytest.approx((1 + gaps.cv**2) / 2, rel=0.1)


def test_exponential_gaps_pass_a_test_of_exponentiality():
    """100 seeds of 2,000 gaps; chance of a false alarm about 3e-7."""
    for seed in SEEDS:
        gaps = gaps_of(ExponentialGaps(), seed, 2000)
        assert kolmogorov(gaps, -np.expm1(-gaps)) < CRITICAL


def test_the_test_of_exponentiality_would_notice():
    """Gamma gaps of cv 1.3 fail it for every seed."""
    for seed in SEEDS:
        gaps = gaps_of(GammaGaps(1.3), seed, 8000)
        assert kolmogorov(gaps, -np.expm1(-gaps)) > CRITICAL


def test_gamma_gaps_of_shape_four_have_that_distribution():
    """cv 1/2 is a sum of four exponentials, whose distribution function is elementary."""
    for seed in SEEDS:
        x = 4 * gaps_of(GammaGaps(0.5), seed, 2000)
        assert kolmogorov(x, 1 - np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)) < CRITICAL


def test_gamma_gaps_of_shape_one_are_exponential():
    """The rejection and the logarithm agree where both apply; the shape just below 1 takes the other branch."""
    for seed in SEEDS:
        for cv in (1.0, 1.000001):
            x = gaps_of(GammaGaps(cv), seed, 2000)
            assert kolmogorov(x, -np.expm1(-x)) < CRITICAL


def test_weibull_gaps_have_that_distribution():
    """Raised to the shape they are exponential again."""
    inverse = weibull_inverse_shape(2.0)
    for seed in SEEDS:
        x = (gaps_of(WeibullGaps(2.0), seed, 2000) * math.gamma(1 + inverse)) ** (1 / inverse)
        assert kolmogorov(x, -np.expm1(-x)) < CRITICAL


@pytest.mark.parametrize("cv", [0.01, 0.3, 1.0, 5.0, 100.0])
def test_a_weibull_shape_gives_back_its_cv(cv: float):
    """The whole range of cv can be reached."""
    assert weibull_cv(weibull_inverse_shape(cv)) == pytest.approx(cv, rel=1e-9)


def test_a_weibull_of_cv_one_is_exponential():
    """Shape 1."""
    assert weibull_inverse_shape(1.0) == pytest.approx(1.0, rel=1e-9)


def test_gamma_variables_do_not_depend_on_chunks():
    """A second reader of the same stream sees the same values, however many it takes."""
    first = np.concatenate(list(islice(gamma_variables(0.2, Stream(3)), 4)))
    again = next(gamma_variables(0.2, Stream(3)))
    assert first[: len(again)].tolist() == again.tolist()


def test_constant_times_do_not_drift():
    """A third of a second, a million times: each time is right to the nanosecond."""
    times = np.concatenate(list(islice(renewal_times(ConstantGaps(), SECOND / 3, Stream(0)), 130)))
    places = np.array([0, 1, 2, 3, 30_000, 999_999])
    assert times[places].tolist() == [0, 333333333, 666666667, SECOND, 10_000 * SECOND, 333_333 * SECOND]
    assert set(np.diff(times).tolist()) == {333333333, 333333334}


@pytest.mark.parametrize("gaps", [ConstantGaps(), *RANDOM, LognormalGaps(100.0)], ids=lambda gaps: gaps.words())
def test_times_never_go_back_and_end_before_three_years(gaps: Gaps):
    """Gaps of a month: some forty fit."""
    times = np.concatenate(list(renewal_times(gaps, 30 * 86400.0 * SECOND, Stream(2))))
    assert (np.diff(times) >= 0).all()
    assert times.min() >= 0
    assert times.max() <= MAX_SPAN_NS


@pytest.mark.parametrize("cv", [-1.0, 0.0, 0.001, 1e3, math.inf, math.nan])
@pytest.mark.parametrize("family", [GammaGaps, WeibullGaps, LognormalGaps])
def test_a_cv_out_of_range_is_refused(family, cv: float):
    """The message names the field and what was found."""
    with pytest.raises(InputError, match=r"\.cv: found .*, expected a number"):
        family(cv)
