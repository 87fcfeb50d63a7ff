"""latencies: each definition from the times of a request, by hand."""

import numpy as np
import pytest

from caveat.figures import METRICS, Row
from caveat.measure import columns_of
from caveat.measure.latencies import chunk_gaps, definition_rows, latency_rows, values_of
from caveat.measure.rows import Absent
from caveat.measure.tokens import token_counts
from caveat.measure.windows import window_of
from tests.measure.samples import samples

# Due 0, sent 10, first token 110, last 190, end 200 ms, 5 tokens; then one that failed, and one of a single token.
MS = 1_000_000
THREE = samples(
    [0, 0, 0],
    0.2,
    output=[5, 5, 1],
    sent_ns=[10 * MS, 20 * MS, 30 * MS],
    first_token_ns=[110 * MS, 120 * MS, 130 * MS],
    last_token_ns=[190 * MS, 190 * MS, 130 * MS],
    error_class=[None, "reset", None],
    output_tokens_client=[9, None, None],
    chunk_ns=[[110 * MS, 150 * MS, 190 * MS], [120 * MS, 190 * MS], [130 * MS]],
)


def of(table, definition):
    columns = columns_of(table)
    window = window_of(columns)
    values = values_of(definition, columns, window, token_counts(columns, window))
    return None if values is None else (values / MS).tolist()


NAN = pytest.approx(float("nan"), nan_ok=True)


@pytest.mark.parametrize(
    ("definition", "milliseconds"),
    [
        ("caveat-ttft", [110, NAN, 130]),
        ("caveat-ttft-sent", [100, NAN, 100]),
        ("caveat-ttft-all", [110, float("inf"), 130]),
        ("caveat-latency", [200, NAN, 200]),
        ("caveat-latency-sent", [190, NAN, 170]),
        ("caveat-latency-all", [200, float("inf"), 200]),
        ("caveat-send-lateness", [10, 20, 30]),
        ("caveat-tpot-usage", [20, NAN, NAN]),
        ("caveat-tpot-client", [10, NAN, NAN]),
        ("caveat-normalized-latency-usage", [40, NAN, 200]),
        ("caveat-inter-chunk", None),
        ("loadgen-ttft", None),
    ],
)
def test_a_definition_is_its_formula(definition, milliseconds):
    """From due or from sent, with tokens by the source of the name; failures have none, or never come."""
    assert of(THREE, definition) == milliseconds


def value(item):
    assert isinstance(item, Row), item
    return item.value


def rows_of(table):
    columns = columns_of(table)
    window = window_of(columns)
    rng = np.random.default_rng(0)
    return {one.metric: one for one in latency_rows(columns, window, token_counts(columns, window), 0.95, rng)}


def test_every_token_weighs_the_same_in_the_weighted_mean():
    """10 tokens in 90 ms and 2 tokens in 90 ms: the mean of requests is 50 ms a token, of tokens 18."""
    found = rows_of(samples([0, 1], 0.1, ttft_s=0.01, output=[10, 2]))
    assert value(found["caveat-tpot-usage.mean"]) == pytest.approx(0.050)
    assert value(found["caveat-tpot-weighted-usage.mean"]) == pytest.approx(0.018)


def test_gaps_between_chunks_are_never_called_tokens():
    """Three deltas of a success give two gaps of 40 ms; the failure's gap and the single delta give none."""
    columns = columns_of(THREE)
    gaps, requests = chunk_gaps(columns, window_of(columns))
    assert (gaps.n, requests, gaps.mean) == (2, 1, 40 * MS)
    row = rows_of(THREE)["caveat-inter-chunk.mean"]
    assert isinstance(row, Row)
    assert (row.value, row.n, row.notes) == (0.04, 1, ("over 2 gaps",))
    assert METRICS["caveat-inter-chunk.mean"].name == "time_per_output_chunk"


def test_what_a_run_has_no_times_for_is_absent_with_a_reason():
    """Without streaming there is no first token: no TTFT, no TPOT, but a latency."""
    nothing = [None] * 50
    found = rows_of(samples(np.arange(50), 0.1, first_token_ns=nothing, last_token_ns=nothing))
    assert value(found["caveat-latency.p50"]) == pytest.approx(0.1)
    for key in ("caveat-ttft.p50", "caveat-ttft-all.p50", "caveat-tpot-usage.mean", "caveat-tpot-weighted-usage.mean"):
        assert isinstance(found[key], Absent)


def test_percentiles_that_so_few_requests_cannot_support_are_absent():
    """Fifty requests have p90 but no p95, p99 or p99.9; min and max need nothing."""
    values = np.random.default_rng(1).exponential(1e9, 50)
    found = {one.metric: one for one in definition_rows("caveat-latency", values, 0.95)}
    absent = [key for key, one in found.items() if isinstance(one, Absent)]
    assert absent == ["caveat-latency.p95", "caveat-latency.p99", "caveat-latency.p99.9"]
    assert value(found["caveat-latency.p90"]) == np.sort(values)[44] / 1e9
    assert value(found["caveat-latency.max"]) == values.max() / 1e9


def test_every_statistic_of_the_table_is_answered():
    """Row or reason: nothing that is defined goes missing in silence."""
    answered = set(rows_of(THREE))
    times = {key for key, metric in METRICS.items() if metric.definition.startswith("caveat-") and metric.unit == "s"}
    assert answered == {key for key in times if not key.startswith("caveat-certified-")}


def test_tokens_that_came_in_one_piece_have_no_time_between_them():
    """Nobody saw it: unknown, where a zero would be the fastest server of all."""
    table = samples([0, 1], 0.2, output=5, first_token_ns=[100 * MS, 1100 * MS], last_token_ns=[100 * MS, 1180 * MS])
    assert of(table, "caveat-tpot-usage") == [NAN, 20]
