import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.caveats.evidence import Evidence, grouped, number_words, percent, plain, quantile, rounds_of, span, whole
from tests.builders import published_run
from tests.caveats.cases import own

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(VALUES, st.floats(0, 1))
def test_a_quantile_lies_between_the_extremes(values, share):
    """Whatever the share, and the ends are the ends."""
    assert min(values) <= quantile(values, share) <= max(values)
    assert (quantile(values, 0), quantile(values, 1)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("values", "share", "expected"), [([3.0, 1.0], 0.5, 2.0), ([1.0, 2.0, 9.0], 0.5, 2.0), ([0.0, 10.0], 0.1, 1.0)]
)
def test_quantiles_interpolate_linearly(values, share, expected):
    """Order does not matter."""
    assert quantile(values, share) == pytest.approx(expected)


def test_there_is_no_quantile_of_nothing():
    """Nothing is not zero."""
    with pytest.raises(ValueError, match="nothing"):
        quantile([], 0.5)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.32, "32 %"),
        (0.0891, "8.9 %"),
        (0.02, "2 %"),
        (0.0038, "0.38 %"),
        (0, "0 %"),
        (1, "100 %"),
        (0.0996, "10 %"),
        (0.9996, "over 99 %"),
    ],
)
def test_a_share_is_written_as_percent(share, words):
    """Two significant digits where one would hide the difference."""
    assert percent(share) == words


def test_a_span_names_both_ends_once():
    """One value is not a range; no value is no text."""
    assert span([1.058, 0.3809]) == "0.381 to 1.058"
    assert span([128.0, 128.0], whole) == "128"
    assert span([]) == ""


@given(st.text())
def test_plain_text_has_one_line_and_nothing_that_acts(text):
    """And making it plain twice changes nothing."""
    once = plain(text)
    assert plain(once) == once
    assert once.isprintable() or all(c.isprintable() or not c.isascii() for c in once)
    assert len(once.splitlines()) <= 1


def test_numbers_keep_their_type_until_they_are_written():
    """Counts have separators, texts stay."""
    assert [number_words(value) for value in (1234, 0.9461, "p99")] == ["1,234", "0.946", "p99"]


def test_figures_are_counted_by_round():
    """A run of one's own has no round."""
    counts = rounds_of([published_run(), published_run(round="v5.1"), published_run(), own()])
    assert counts == {"no round": 1, "v5.1": 1, "v6.1": 2}
    assert Evidence(counted=counts).n == 4


def test_groups_keep_the_order_of_their_first_member():
    """Grouping sorts nothing."""
    assert grouped([3, 1, 4, 2], lambda n: n % 2) == {1: [3, 1], 0: [4, 2]}
