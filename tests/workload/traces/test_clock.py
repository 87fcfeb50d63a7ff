"""Units of time and their conversion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload.traces.clock import NO_TIME, UNITS_NS, Clock, iso_ns, unit_of


@pytest.mark.parametrize(
    ("column", "first", "unit"),
    [
        ("arrival_time_ns", 5.0, "ns"),
        ("startTimeMs", 5.0, "ms"),
        ("t_s", 5.0, "s"),
        ("elapsed seconds", 5.0, "s"),
        ("timestamp", 1.7e9, "s"),
        ("timestamp", 1.7e12, "ms"),
        ("timestamp", 1.7e15, "us"),
        ("timestamp", 1.7e18, "ns"),
    ],
)
def test_a_unit_is_taken_from_a_name_or_an_epoch(column, first, unit):
    """And from nothing else."""
    assert unit_of(column, first, given=None, declared=None).unit == unit


@pytest.mark.parametrize("column", ["time", "timestamps", "ts", "class"])
def test_a_name_that_only_ends_like_a_unit_says_nothing(column):
    """`ts` and `timestamps` are no seconds."""
    with pytest.raises(InputError, match="unit of time"):
        unit_of(column, 12.0, given=None, declared=None)


def test_what_is_given_wins_and_must_be_known():
    """Given over declared over inferred."""
    assert unit_of("t_s", 1.0, given="ms", declared="us").unit == "ms"
    assert unit_of("t_s", 1.0, given=None, declared="us").unit == "us"
    with pytest.raises(InputError, match="time unit"):
        unit_of("t_s", 1.0, given="hours", declared=None)


@given(st.sampled_from(sorted(UNITS_NS)), st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_times_become_nanoseconds_from_the_first(unit: str, values: list[int]):
    """Exactly, for whole numbers in any unit."""
    found, known = Clock("t", given=unit).ns(np.array(values, np.float64))
    assert known.all()
    assert found.tolist() == [(value - values[0]) * UNITS_NS[unit] for value in values]


def test_times_that_cannot_be_read_are_said_to_be():
    """NaN, infinity, and what would not fit in 64 bits."""
    found, known = Clock("t", given="s").ns(np.array([np.nan, 5.0, np.inf, 1e300, 6.0]))
    assert known.tolist() == [False, True, False, False, True]
    assert found[known].tolist() == [0, 10**9]


def test_iso_times_of_any_kind_are_read():
    """With and without a zone, one by one where they differ; what is no time is NO_TIME."""
    texts = ["2026-01-01 00:00:01", "2026-01-01T00:00:02.5", "2026-01-01T01:00:03+01:00", "nonsense", ""]
    start = 1_767_225_600 * 10**9
    assert iso_ns(texts).tolist() == [start + 10**9, start + 2_500_000_000, start + 3 * 10**9, NO_TIME, NO_TIME]
