"""Input and output together: independent, tied by a correlation, or as they were counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Fixed, Joint, Lengths, Lognormal, Normal, Separate, Uniform
from caveat.workload.pairs import draw_lengths
from caveat.workload.streams import Stream
from tests.workload.cases import LENGTHS


def draw(lengths: Lengths, count: int, seed: int = 0):
    return draw_lengths(lengths, Stream(seed), count)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@given(pieces=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_drawing_in_pieces_gives_the_same_lengths(lengths: Lengths, pieces: list[int]):
    """However many at once."""
    stream = Stream(0)
    drawn = [draw_lengths(lengths, stream, piece) for piece in pieces]
    together = draw(lengths, sum(pieces))
    assert [np.concatenate(column).tolist() for column in zip(*drawn, strict=True)] == [c.tolist() for c in together]


def test_another_output_shape_leaves_the_inputs_as_they_were():
    """Each length has a random number of its own."""
    one = draw(Separate(input=Uniform(1, 99), output=Fixed(5)), 50)
    other = draw(Separate(input=Uniform(1, 99), output=Uniform(1, 500)), 50)
    assert one[0].tolist() == other[0].tolist()


@pytest.mark.parametrize("correlation", [-0.9, -0.5, 0.0, 0.5, 0.9])
def test_correlation_is_that_of_the_normals_behind(correlation: float):
    """For normal shapes it can be seen directly; 20,000 pairs, five standard errors of at most 0.7 %."""
    shape = Normal(10_000.0, 1000.0)
    pair = draw(Separate(input=shape, output=shape, correlation=correlation), 20_000)
    assert np.corrcoef(*pair)[0, 1] == pytest.approx(correlation, abs=0.036)


def test_correlation_leaves_each_distribution_as_it_is():
    """Medians and upper deciles of the output do not move."""
    for correlation in (-1.0, -0.6, 0.6, 1.0):
        lengths = Separate(input=Uniform(1, 9), output=Lognormal(p50=1000.0, p90=4000.0), correlation=correlation)
        assert np.quantile(draw(lengths, 20_000)[1], (0.5, 0.9)) == pytest.approx((1000, 4000), rel=0.05)


def test_full_correlation_orders_both_alike():
    """The longest prompt has the longest answer."""
    inputs, outputs = draw(Separate(input=Uniform(1, 99), output=Uniform(101, 199), correlation=1.0), 500)
    assert (inputs + 100).tolist() == outputs.tolist()


def test_cuts_are_kept_and_said():
    """What is longer is set to the cut."""
    lengths = Separate(input=Uniform(1, 1000), output=Uniform(1, 1000), input_max=300, output_cap=64)
    inputs, outputs = draw(lengths, 500)
    assert (inputs.max(), outputs.max()) == (300, 64)
    assert lengths.words() == "input uniform 1 to 1,000, output uniform 1 to 1,000, input cut at 300, output cut at 64"


def test_joint_cells_come_by_their_counts_and_stay_inside():
    """Three of five requests in the first cell; an exact pair stays exact."""
    inputs, outputs = draw(Joint(((10, 20, 1, 5, 3), (100, 100, 50, 50, 2))), 20_000)
    first = inputs <= 20
    assert first.mean() == pytest.approx(0.6, abs=0.02)
    assert sorted(set(inputs[first].tolist())) == list(range(10, 21))
    assert sorted(set(outputs[first].tolist())) == [1, 2, 3, 4, 5]
    assert set(zip(inputs[~first].tolist(), outputs[~first].tolist(), strict=True)) == {(100, 50)}


def test_pairs_of_a_trace_are_counted():
    """Equal pairs become one cell."""
    assert Joint.of_pairs([5, 7, 5], [2, 9, 2]) == Joint(((5, 5, 2, 2, 2), (7, 7, 9, 9, 1)))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Separate(input=Fixed(1), output=Fixed(1), correlation=1.01), "correlation: found 1.01"),
        (lambda: Separate(input=Fixed(1), output=Fixed(1), correlation=math.nan), "correlation: found nan"),
        (lambda: Separate(input=Fixed(1), output=Fixed(1), output_cap=0), "output_cap: found 0"),
        (lambda: Joint(()), "cells: found 0 entries"),
        (lambda: Joint(((2, 1, 1, 1, 1),)), r"cells\[0\]: found \[2, 1, 1, 1, 1\]"),
        (lambda: Joint(((1, 10**5000, 1, 1, 1),)), "something too long to show"),
        (lambda: Joint(((1, 1, 1, 1, 0),)), "a total of 0"),
    ],
)
def test_lengths_that_are_none_are_refused(make, expected: str):
    """With the place."""
    with pytest.raises(InputError, match=expected):
        make()
