"""Shapes: the quantiles that they are named for, whole tokens, and refusals."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Fixed, Geometric, Histogram, Lognormal, Mixture, Normal, Pareto, Part, Shape, Uniform
from caveat.workload.bounds import MAX_TOKENS
from caveat.workload.streams import Stream

SHAPES: tuple[Shape, ...] = (
    Fixed(100),
    Uniform(3, 9),
    Normal(100.0, 30.0),
    Lognormal(mean=500.0, cv=1.2),
    Lognormal(p50=100.0, p90=400.0),
    Pareto(50.0, 1.5),
    Geometric(4.0),
    Histogram((1, 10, 11, 50), (4, 0, 6)),
    Mixture((Part(3.0, Uniform(1, 10)), Part(1.0, Pareto(20.0, 2.0)))),
)
IDS = [shape.words() for shape in SHAPES]


def at(shape: Shape, *u: float) -> list[int]:
    return list(shape.tokens(np.array(u)).tolist())


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
@given(us=st.lists(st.floats(2.0**-54, 1 - 2.0**-53), min_size=1, max_size=30))
def test_more_chance_is_never_a_shorter_length(shape: Shape, us: list[float]):
    """A quantile function rises; lengths are whole and within their bounds for every number that can come."""
    tokens = shape.tokens(np.array(sorted(us)))
    assert tokens.dtype == np.int64
    assert (np.diff(tokens) >= 0).all()
    assert 1 <= tokens.min() <= tokens.max() <= MAX_TOKENS


def test_a_fixed_length_is_fixed():
    """One value."""
    assert at(Fixed(512), 0.001, 0.999) == [512, 512]


def test_a_uniform_length_takes_every_value_equally():
    """3 to 6: four quarters."""
    assert at(Uniform(3, 6), 0.01, 0.249, 0.251, 0.5001, 0.76, 0.999) == [3, 3, 4, 5, 6, 6]


def test_a_normal_length_has_normal_quantiles_and_is_at_least_one():
    """As the standard library says, rounded."""
    normal = statistics.NormalDist(100, 50)
    us = (0.02, 0.1, 0.5, 0.9, 0.99)
    assert at(Normal(100.0, 50.0), *us) == [max(1, round(normal.inv_cdf(u))) for u in us]
    assert at(Normal(100.0, 50.0), 0.001) == [1]


def test_a_lognormal_by_percentiles_has_them():
    """p50 and p90 are given, p10 follows by symmetry of the logarithms."""
    assert at(Lognormal(p50=100.0, p90=400.0), 0.5, 0.9, 0.1) == [100, 400, 25]


def test_a_lognormal_by_mean_has_mean_and_cv():
    """Over 200,000 evenly spaced quantiles."""
    tokens = Lognormal(mean=500.0, cv=1.2).tokens((np.arange(200_000) + 0.5) / 200_000)
    assert tokens.mean() == pytest.approx(500, rel=0.002)
    assert tokens.std() / tokens.mean() == pytest.approx(1.2, rel=0.02)


def test_a_pareto_tail_falls_by_its_power():
    """Twice the length is 2^-1.5 times as likely to be passed."""
    assert at(Pareto(1000.0, 1.5), 0.0001, 1 - 2**-1.5, 1 - 4**-1.5) == [1000, 2000, 4000]


def test_a_geometric_length_has_its_mean():
    """1 is the commonest, one in four."""
    tokens = Geometric(4.0).tokens((np.arange(100_000) + 0.5) / 100_000)
    assert tokens.mean() == pytest.approx(4.0, rel=0.001)
    assert (tokens == 1).mean() == pytest.approx(0.25, abs=0.001)
    assert at(Geometric(1.0), 0.999999) == [1]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=12))
def test_a_histogram_gives_back_its_counts(bins: list[tuple[int, int]]):
    """One evenly spaced quantile for each counted request lands in that request's bin."""
    edges = np.cumsum([1, *(width for width, _ in bins)])
    counts = [count for _, count in bins[:-1]] + [bins[-1][1] + 1]
    total = sum(counts)
    tokens = Histogram(tuple(edges.tolist()), tuple(counts)).tokens((np.arange(total) + 0.5) / total)
    assert np.histogram(tokens, edges - 0.5)[0].tolist() == counts


def test_a_mixture_is_each_of_its_parts_by_their_weight():
    """A quarter comes from the second part."""
    mixture = Mixture((Part(3.0, Fixed(10)), Part(1.0, Uniform(100, 103))))
    assert at(mixture, 0.1, 0.7499, 0.7501, 0.82, 0.999) == [10, 10, 100, 101, 103]


def test_a_mixture_over_random_numbers_has_the_mean_of_its_parts():
    """0.8 x 100 + 0.2 x 5000."""
    mixture = Mixture((Part(8.0, Lognormal(mean=100.0, cv=0.5)), Part(2.0, Fixed(5000))))
    assert mixture.tokens(Stream(0).uniforms(50_000)).mean() == pytest.approx(1080, rel=0.02)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Fixed(0), "fixed.value: found 0"),
        (lambda: Fixed(10**30), "found an integer of 100 bits"),
        (lambda: Uniform(5, 4), "uniform.high: found 4"),
        (lambda: Normal(math.nan, 1.0), "normal.mean: found nan"),
        (lambda: Normal(5.0, -1.0), "normal.sd: found -1.0"),
        (lambda: Lognormal(mean=5.0), "found mean, expected mean and cv, or p50 and p90"),
        (lambda: Lognormal(), "found no parameters"),
        (lambda: Lognormal(mean=5.0, cv=1.0, p50=5.0), "found mean and cv and p50"),
        (lambda: Lognormal(p50=10.0, p90=5.0), "lognormal.p90: found 5.0"),
        (lambda: Pareto(1.0, 1e300), "pareto.alpha: found 1e[+]300"),
        (lambda: Geometric(0.5), "geometric.mean: found 0.5"),
        (lambda: Histogram((1, 2), (1, 1)), "found 2 edges, expected 3"),
        (lambda: Histogram((1,), ()), "found 0 entries"),
        (lambda: Histogram((2, 2), (1,)), "above the one before it, 2"),
        (lambda: Histogram((0, 2), (1,)), "edges.0.: found 0"),
        (lambda: Histogram((1, 2), (-1,)), "counts.0.: found -1"),
        (lambda: Histogram((1, 2), (0,)), "a total of 0"),
        (lambda: Histogram((1, 2), (10**4400,)), "an integer of 14,617 bits"),
        (lambda: Histogram(tuple(range(1, 1_000_003)), (1,) * 1_000_001), "found 1,000,001 entries"),
        (lambda: Mixture(()), "found 0 parts"),
        (lambda: Part(math.inf, Fixed(1)), "weight: found inf"),
    ],
)
def test_a_shape_that_is_none_is_refused(make, expected: str):
    """The message has the field, what was found and what was expected."""
    with pytest.raises(InputError, match=expected) as refusal:
        make()
    assert refusal.value.next
