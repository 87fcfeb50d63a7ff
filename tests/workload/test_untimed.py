"""Arrivals without times of their own: bursts and closed loops, and when LoadGen's streams end."""

import pytest

from caveat.errors import InputError
from caveat.workload import Arrivals, Burst, Concurrency, Streams
from caveat.workload.streams import Stream


@pytest.mark.parametrize("arrivals", [Burst(), Concurrency(3), Streams(8)])
def test_they_have_no_times_and_no_rate(arrivals: Arrivals):
    """Zeros without end; the target sets the rate."""
    times = arrivals.times(Stream(0))
    assert not next(times).any() and not next(times).any()
    assert (arrivals.rate(), arrivals.expected(60.0)) == (None, 0.0)


def test_people_read_what_is_in_flight():
    """In words."""
    said = [arrivals.words() for arrivals in (Burst(), Concurrency(3), Streams(), Streams(8))]
    assert said == ["all at once", "concurrency(3)", "one query in flight", "one query of 8 in flight"]


def test_streams_end_by_queries_time_and_whole_sets():
    """A step is a whole query and a whole set: the least common multiple of the two."""
    found = Streams(samples=8, min_duration_ns=5, min_queries=10, equal_issue_samples=12).queries()
    assert (found.samples, found.least, found.duration_ns, found.step) == (8, 80, 5, 24)
    assert Streams(samples=8).queries().step == 8


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Concurrency(0), "concurrency.requests: found 0"),
        (lambda: Streams(0), "streams.samples: found 0"),
        (lambda: Streams(5000), "streams.samples: found 5000"),
        (lambda: Streams(min_queries=0), "streams.min_queries: found 0"),
        (lambda: Streams(min_duration_ns=-1), "streams.min_duration_ns: found -1"),
    ],
)
def test_a_loop_that_is_none_is_refused(make, expected: str):
    """With the field."""
    with pytest.raises(InputError, match=expected):
        make()
