"""Laws: how they are written, what they draw, and that a draw depends on its seed and place alone."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.loopback import Exponential, Fixed, Lognormal, draw, parse_law, uniform

SEEDS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        (0.25, Fixed(0.25)),
        (3, Fixed(3.0)),
        ("0.1", Fixed(0.1)),
        ("fixed(2)", Fixed(2.0)),
        (" exponential( 0.5 ) ", Exponential(0.5)),
        ("lognormal(0.1, 0.5)", Lognormal(0.1, 0.5)),
    ],
)
def test_a_law_is_read_as_it_is_written(text, law):
    """A bare number is fixed."""
    assert parse_law(text) == law


@pytest.mark.parametrize(
    "text", ["", "soon", "normal(1)", "exponential()", "exponential(1, 2)", "lognormal(1)", "-1", "nan", "fixed(inf)"]
)
def test_what_is_no_law_is_refused(text):
    """Also a number that no delay can have."""
    with pytest.raises(InputError, match="law"):
        parse_law(text)


@given(SEEDS, st.lists(st.integers(0, 2**62), max_size=3))
def test_a_uniform_number_lies_between_zero_and_one_and_is_neither(seed, place):
    """So every quantile of every law is finite."""
    number = uniform(seed, *place)
    assert 0 < number < 1
    assert uniform(seed, *place) == number


def test_different_places_and_seeds_give_different_numbers():
    """Order of the parts matters as well."""
    places = [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    assert len({uniform(seed, *place) for seed in (0, 1, 2) for place in places}) == 18


def test_uniform_numbers_are_uniform():
    """Mean, variance and correlation with the next place, over twenty thousand places: within five standard errors."""
    numbers = [uniform(7, 1, place) for place in range(20_000)]
    assert statistics.fmean(numbers) == pytest.approx(0.5, abs=5 * math.sqrt(1 / 12 / 20_000))
    assert statistics.pvariance(numbers) == pytest.approx(1 / 12, rel=0.03)
    assert abs(statistics.correlation(numbers[:-1], numbers[1:])) < 5 / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("law", "share", "value"),
    [
        (Fixed(2.0), 0.9, 2.0),
        (Exponential(2.0), 1 - math.exp(-1), 2.0),
        (Exponential(2.0), 0.5, 2.0 * math.log(2)),
        (Lognormal(3.0, 0.5), 0.5, 3.0),
        (Lognormal(3.0, 0.5), statistics.NormalDist().cdf(1), 3.0 * math.exp(0.5)),
    ],
)
def test_a_draw_is_the_quantile(law, share, value):
    """Known quantiles of each law."""
    assert draw(law, share) == pytest.approx(value)
