"""Distributions of ratios: whole records, and what may never be said of few values."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.distribution import Distribution, distribution, quantile

RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=40)


def test_a_distribution_is_described_whole():
    """Nine equally spaced ratios have their quartiles on themselves, and one lies above 1."""
    ratios = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.125]
    assert distribution(ratios) == Distribution(
        n=9, inverted=1, median=0.625, min=0.125, max=1.125, p10=0.225, p25=0.375, p75=0.875, p90=1.025
    )


def test_no_ratios_describe_nothing():
    """Nothing is unknown, not zero."""
    assert distribution([]) == Distribution(n=0, inverted=0)
    assert distribution([]).words == "no pairs"


def test_four_ratios_have_no_outer_quantiles():
    """Below five values only minimum, median and maximum are said."""
    assert distribution([0.9, 0.5, 1.1, 0.7]) == Distribution(n=4, inverted=1, median=0.8, min=0.5, max=1.1)
    assert distribution([0.9, 0.5, 1.1, 0.7, 0.8]).p90 is not None


def test_the_words_begin_with_the_range_and_n():
    """A median never stands alone."""
    assert distribution([0.5, 0.75, 0.8, 0.9, 1.2]).words == (
        "0.5 to 1.2 over 5 pairs (median 0.8, middle four fifths 0.6 to 1.08); 1 above 1"
    )
    assert distribution([0.5, 1.5]).words == "0.5 to 1.5 over 2 pairs (median 1); 1 above 1"
    assert distribution([0.5]).words == "one pair, at 0.5; one pair is not a distribution"


def test_a_ratio_of_exactly_one_is_not_inverted():
    """Inverted means above."""
    assert distribution([1.0, 1.0]).inverted == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_ratio_that_is_no_number_is_refused(value):
    """It would spoil the order of all others without a word."""
    with pytest.raises(ValueError, match="not a finite number"):
        distribution([0.5, value])


@given(RATIOS)
def test_quantiles_stand_in_order_and_inside_the_data(ratios):
    """Minimum, quantiles and maximum never cross, and the median is the usual one."""
    found = distribution(ratios)
    marks = [found.min, found.p10, found.p25, found.median, found.p75, found.p90, found.max]
    known = [mark for mark in marks if mark is not None]
    assert known == sorted(known)
    assert (known[0], known[-1]) == (min(ratios), max(ratios))
    assert found.median == pytest.approx(statistics.median(ratios))


@given(RATIOS, st.randoms())
def test_order_does_not_matter(ratios, random):
    """A distribution is one of a set."""
    shuffled = random.sample(ratios, len(ratios))
    assert distribution(shuffled) == distribution(ratios)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=40), st.integers(1, 19))
def test_quantiles_agree_with_the_standard_library(ratios, twentieth):
    """Definition 7 is what Python calls the inclusive method."""
    expected = statistics.quantiles(ratios, n=20, method="inclusive")[twentieth - 1]
    assert quantile(sorted(ratios), twentieth / 20) == pytest.approx(expected)
