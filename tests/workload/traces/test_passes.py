"""Passes over long columns: the same numbers as at once, in memory that does not grow."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.workload import Recording, TraceSource, describe_trace
from caveat.workload.traces import passes
from caveat.workload.traces.counts import CountSums, autocorrelation, counted, dispersion, dispersion_at, gap_cv
from caveat.workload.traces.passes import counts_of, gaps_in_slices, in_order, rank_correlation, slices

whole = st.lists(st.integers(0, 30), min_size=3, max_size=80)


@pytest.fixture
def small_slices(monkeypatch):
    """Slices of seven entries, so that short columns have many."""
    monkeypatch.setattr(passes.slices, "__defaults__", (7,))


def test_slices_cover_everything_once():
    """And reach a little further where that is asked for."""
    assert list(slices(10, 4)) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert list(slices(5, 4, more=1)) == [slice(0, 5), slice(4, 5)]
    assert list(slices(0, 4)) == []


@given(whole)
def test_counts_in_parts_say_what_counts_at_once_say(gaps):
    """Dispersion and autocorrelation, wherever the parts end."""
    t_ns = np.cumsum(np.array(gaps))
    span_ns = int(t_ns[-1]) + 1
    counts = counted(t_ns, span_ns, 5)
    sums = CountSums()
    for part in np.array_split(counts, 4):
        sums.add(part)
    assert sums.dispersion() == pytest.approx(dispersion(counts))
    assert dispersion_at(t_ns, span_ns, 5) == pytest.approx(dispersion(counts))
    for lag in (1, 2, 5, 10):
        assert sums.autocorrelation(lag) == pytest.approx(autocorrelation(counts, lag))


@pytest.mark.usefixtures("small_slices")
def test_gaps_and_order_are_seen_across_the_ends_of_slices():
    """Each gap once; a time that goes back where two slices meet."""
    t_ns = np.arange(0, 300, 3)
    assert np.concatenate(list(gaps_in_slices(t_ns))).tolist() == [3] * 99
    assert in_order(t_ns)
    for place in (6, 7, 8, 99):
        back = t_ns.copy()
        back[place] = 0
        assert not in_order(back)
    drawn = np.cumsum(np.random.default_rng(3).integers(0, 90, 100))
    gaps = np.diff(drawn)
    assert gap_cv(drawn) == pytest.approx(gaps.std(ddof=1) / gaps.mean())


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_lengths_are_counted_exactly(kind):
    """Whatever the width of the column."""
    values = np.random.default_rng(4).integers(0, 9, 100).astype(kind)
    different, often = counts_of(values).table()
    assert dict(zip(different.tolist(), often.tolist(), strict=True)) == {
        int(one): int((values == one).sum()) for one in np.unique(values)
    }


@pytest.mark.usefixtures("small_slices")
def test_ranks_correlate_as_if_all_were_ranked_at_once():
    """Mean ranks for ties, by definition."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 9, 100)
    b = a + rng.integers(0, 9, 100)

    def ranks(values):
        return [(values < one).sum() + 0.5 * ((values == one).sum() - 1) for one in values]

    assert rank_correlation(a, b) == pytest.approx(np.corrcoef(ranks(a), ranks(b))[0, 1])


def peak_bytes(requests: int) -> int:
    """What describing so many requests takes beyond the requests themselves."""
    rng = np.random.default_rng(6)
    trace = Recording(
        t_ns=np.cumsum(rng.integers(0, 10**9, requests)),
        input_tokens=rng.integers(1, 4000, requests).astype(np.int32),
        output_tokens=rng.integers(1, 900, requests).astype(np.int32),
        source=TraceSource(name="long", format="test"),
    )
    tracemalloc.start()
    try:
        describe_trace(trace)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_describing_four_times_the_requests_takes_no_more_memory():
    """Within two megabytes."""
    few, many = peak_bytes(150_000), peak_bytes(600_000)
    assert many < 24e6
    assert many - few < 2_000_000  # one column held twice would be eight bytes for each: 3.6 million
