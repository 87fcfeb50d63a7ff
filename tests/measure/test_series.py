"""measure.series: what a chart draws of samples."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CannotSayError
from caveat.measure import Cdf, schema, series_of
from caveat.measure.series import bin_width_s, cdf_of
from tests.measure.samples import samples


def curve(table: pa.Table, definition: str, *, queries: int | None = None) -> Cdf:
    """A distribution that must be there."""
    found = series_of(table, queries=queries).cdf(definition)
    assert found is not None
    return found


def test_a_distribution_is_of_the_requests_that_the_figures_were_made_of():
    """The warm-up rule took the first three."""
    table = samples(np.arange(10), 0.5 + np.arange(10) / 10)
    cdf = curve(table, "caveat-latency", queries=7)
    assert cdf.values_s.tolist() == pytest.approx([0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4])
    assert cdf.shares.tolist() == pytest.approx(np.arange(1, 8) / 7)
    assert series_of(table, queries=7).measured_s == pytest.approx((3.0, 9 + 1.4))


def test_a_failure_never_has_a_latency_and_counts_all_the_same():
    """One of four."""
    table = samples(np.arange(4), 0.5, error_class=[None, "reset", None, None])
    cdf = curve(table, "caveat-latency")
    assert (cdf.n, cdf.of, float(cdf.shares[-1])) == (3, 4, 0.75)


def test_the_course_of_a_run_counts_every_request():
    """Due, ended and failed, in requests a second, warm-up included."""
    table = samples(
        np.arange(40) / 10, 0.5, error_class=[None] * 38 + ["reset"] * 2, phase=["warmup"] * 5 + ["measured"] * 35
    )
    over = series_of(table).over_time
    widths = np.diff(over.edges_s)
    assert (over.due_per_s * widths).sum() == pytest.approx(40)
    assert (over.ended_per_s * widths).sum() == pytest.approx(38)
    assert (over.failed_per_s * widths).sum() == pytest.approx(2)
    assert (over.in_flight * widths).sum() == pytest.approx(40 * 0.5)


def test_a_bin_without_requests_has_no_latency():
    """Unknown is not zero."""
    over = series_of(samples([0, 0.1, 9.9, 10], 0.05)).over_time
    assert np.isnan(over.ttft_p50_s[2])
    assert over.ttft_p50_s[0] == pytest.approx(0.025)


def test_what_was_never_sent_has_no_lateness():
    """And takes nothing from the others."""
    table = samples(np.arange(3), 0.5, sent_ns=[0, None, 2_000_000_000], error_class=[None, "refused", None])
    assert curve(table, "caveat-send-lateness").n == 2


def test_tokens_that_nobody_counted_have_no_time():
    """There is no curve of chunks under the name of tokens."""
    table = samples(np.arange(3), 0.5, output_tokens_usage=[None] * 3)
    assert series_of(table).cdf("caveat-tpot-usage") is None


def test_nothing_measured_is_no_chart():
    """The refusal comes from the window."""
    with pytest.raises(CannotSayError, match="no request was measured"):
        series_of(pa.table([pa.nulls(0, field.type) for field in schema()], schema=schema()))


@given(st.floats(1e-3, 1e6), st.integers(1, 100))
def test_bins_are_round_and_no_more_than_asked(length_s, bins):
    """1, 2 or 5 times a power of ten."""
    width_s = bin_width_s(length_s, bins)
    assert length_s / width_s <= bins * (1 + 1e-6)
    assert f"{width_s:.0e}"[0] in "125"
    assert width_s == pytest.approx(float(f"{width_s:.0e}"))


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=400).map(sorted))
def test_a_thinned_distribution_keeps_its_ends_and_every_share_is_true(values):
    """Each drawn point is (value, share of the values at most that)."""
    ascending = np.array(values)
    cdf = cdf_of("x", ascending, len(values))
    assert (cdf.values_s[0], cdf.values_s[-1], cdf.shares[-1]) == (values[0], values[-1], 1)
    assert len(cdf.values_s) <= 170
    places = np.searchsorted(ascending, cdf.values_s, side="right")
    assert (places >= np.round(cdf.shares * len(values))).all()
