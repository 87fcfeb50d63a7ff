"""Rows of a log."""

import pytest

from caveat.figures import METRICS
from caveat.importers.mlperf.joined_log import joined
from caveat.importers.mlperf.loadgen_log import LoadgenLog
from caveat.importers.mlperf.log_rows import primary_key, rows_of, tokens_per_sample
from tests.importers.loadgen_files import SAMPLES, values


def one_log(said, kind="log-detail"):
    log = joined(LoadgenLog(kind=kind, path="log", values=said), None)
    assert log is not None
    return log


STREAM = {
    "effective_scenario": "SingleStream",
    "effective_test_mode": "PerformanceOnly",
    "result_validity": "VALID",
    "generated_query_count": 1000,
    "generated_samples_per_query": 1,
    "early_stopping_latency_ss": 272_739_682,
    "result_90.00_percentile_latency_ns": 3_545_900_000,
    "result_qps_with_loadgen_overhead": 0.25,
    "result_token_throughput_with_loadgen_overhead": 32.0,
}


def test_a_server_log_gives_rates_and_all_latencies_in_seconds():
    """Three rates, three times nine latencies, and the mean output length; each over all samples."""
    rows = rows_of(one_log(values()), "server")
    by_metric = {row.metric: row for row in rows}
    assert len(rows) == 3 + 3 * 9 + 1
    assert {row.n for row in rows} == {3 * SAMPLES}
    assert by_metric["loadgen-ttft.p99"].value == 0.7
    assert by_metric["loadgen-tpot.max"].value == 0.09
    assert by_metric["loadgen-latency.p99.9"].value == 50.0
    assert by_metric["loadgen-completed-tokens-rate"].source_key == "result_completed_tokens_per_second"
    assert set(by_metric) <= set(METRICS)


def test_an_offline_log_gives_no_stream_or_server_rates():
    """Two rates, nine latencies, the mean output length."""
    assert len(rows_of(one_log(values("Offline")), "offline")) == 2 + 9 + 1


def test_tokens_per_sample_takes_n_minus_one_back():
    """LoadGen's Server sample rate counts one sample less than its token rate."""
    said = values(
        result_completed_tokens_per_second=1000.0,
        result_completed_samples_per_sec=9.0,
        generated_query_count=10,
        result_query_count=10,
    )
    row = tokens_per_sample(one_log(said), "server")
    assert row is not None
    assert row.value == pytest.approx(100.0)
    assert (row.n, row.notes) == (10, ())


def test_without_n_the_factor_is_left_out_and_the_row_says_how_little_that_is():
    """A summary does not count its queries: 100 a second for 600 seconds are 60,000 at least."""
    said = values(generated_query_count=None, generated_samples_per_query=None, result_query_count=None)
    row = tokens_per_sample(one_log(said, "log-summary"), "server")
    assert row is not None
    assert row.n is None
    assert row.notes == (
        "the number of samples is not in this log: LoadGen's factor (n - 1) / n is left out, at most 1 in 60,012",
    )


def test_two_decimals_of_a_small_rate_leave_an_interval():
    """0.31 may be 0.305 or 0.315; a detail log beside it would leave none."""
    said = values(result_completed_samples_per_sec=0.31, result_completed_tokens_per_second=200.0)
    row = tokens_per_sample(one_log(said, "log-summary"), "server")
    assert row is not None
    assert row.spread is not None
    assert row.spread.low < 200 / 0.3149
    assert row.spread.high > 200 / 0.3051
    exact = tokens_per_sample(one_log(said), "server")
    assert exact is not None
    assert exact.spread is None


def test_a_stream_estimate_in_token_mode_is_a_time_to_first_token():
    """So it becomes no latency; the plain percentile is the published one."""
    metrics = {
        row.metric for row in rows_of(one_log({**STREAM, "requested_use_token_latencies": True}), "single-stream")
    }
    assert metrics == {
        "loadgen-latency.p90",
        "loadgen-stream-samples-rate",
        "loadgen-stream-tokens-rate",
        "tokens-per-sample.mean",
    }
    plain = {
        row.metric for row in rows_of(one_log({**STREAM, "requested_use_token_latencies": False}), "single-stream")
    }
    assert "loadgen-single-stream-latency.p90" in plain


@pytest.mark.parametrize(
    ("benchmark", "round_name", "scenario", "said", "key"),
    [
        ("llama2-70b-99", "v6.0", "server", values(), "result_completed_tokens_per_second"),
        ("llama2-70b-99", "v6.0", "offline", values("Offline"), "result_tokens_per_second"),
        ("qwen3-vl-235b-a22b", "v6.0", "server", values(), "result_completed_samples_per_sec"),
        ("llama3.1-8b-edge", "v5.1", "single-stream", STREAM, "result_90.00_percentile_latency_ns"),
        (None, "v6.0", "server", values(), "result_completed_tokens_per_second"),
        (None, None, "offline", values("Offline", result_tokens_per_second=None), "result_samples_per_second"),
        ("llama2-70b-99", "v6.0", "server", values(result_completed_tokens_per_second=None), None),
    ],
)
def test_the_published_key_follows_round_benchmark_and_scenario(benchmark, round_name, scenario, said, key):
    """Where the tables do not know, the first that fits; where the key is missing, none."""
    assert primary_key(one_log(said), benchmark, round_name, scenario) == key
