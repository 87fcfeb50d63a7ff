"""Summaries say what detail logs say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.importers.mlperf.loadgen_log import WANTED
from caveat.importers.mlperf.loadgen_summary import LABELS, read_log_summary
from tests.importers.loadgen_files import ACCURACY_SUMMARY, summary_log, values

NOT_IN_SUMMARIES = {
    "loadgen_version",
    "test_datetime",
    "requested_server_coalesce_queries",
    "requested_use_token_latencies",
    "effective_target_latency_ns",
    "effective_target_latency_percentile",
    "effective_sample_concatenate_permutation",
    "generated_query_count",
    "generated_samples_per_query",
    "generated_query_duration",
    "result_query_count",
    "result_overlatency_query_count",
    "result_token_throughput",
}


@pytest.fixture
def read(tmp_path):
    def reading(content: bytes):
        path = tmp_path / "mlperf_log_summary.txt"
        path.write_bytes(content)
        return read_log_summary(path, "shown.txt")

    return reading


@pytest.mark.parametrize("scenario", ["Server", "Offline"])
def test_a_summary_says_the_same_under_the_same_keys(read, scenario):
    """All that both files hold is equal (a block's sentences lose their outer blanks)."""
    said = {key: value for key, value in values(scenario).items() if key not in NOT_IN_SUMMARIES}
    found = read(summary_log(values(scenario)))
    stripped = {key: value.strip() if isinstance(value, str) else value for key, value in said.items()}
    assert dict(found.values) == stripped
    assert found.problems == ()


def test_every_label_leads_to_a_key_that_is_wanted():
    """A label that leads nowhere would be read for nothing."""
    assert set(LABELS.values()) <= WANTED


def test_an_empty_early_stopping_text_is_read_as_empty(read):
    """LoadGen skips the TTFT test once the TPOT test has failed."""
    said = values(
        early_stopping_ttft_result="",
        early_stopping_tpot_result=" * Failed.\n * Would need to run\n   at least 61 more queries.",
    )
    found = read(summary_log(said))
    assert found.text("early_stopping_ttft_result") == ""
    assert found.text("early_stopping_tpot_result") == "* Failed.\n* Would need to run\nat least 61 more queries."


def test_a_single_streams_estimate_is_read_from_its_sentence(read):
    """The summary has no other place for the published latency of GPT-J."""
    block = (
        b"Scenario : SingleStream\nEarly Stopping Result:\n * Processed at least 64 queries (13368).\n"
        b" * Early stopping 90th percentile estimate: 4176626080\n"
        b" * Early stopping 99th percentile estimate: 5072627725\n\n"
    )
    assert read(block).number("early_stopping_latency_ss") == 4176626080


@pytest.mark.parametrize(
    ("line", "count"),
    [(b"No errors encountered during test.", 0), (b"1 ERROR encountered. See", 1), (b"7 ERRORS encountered.", 7)],
)
def test_the_last_line_counts_errors(read, line, count):
    """In any of its spellings."""
    assert read(line + b"\n").count("num_errors") == count


def test_an_accuracy_summary_holds_no_results(read):
    """Only its count of errors."""
    assert dict(read(ACCURACY_SUMMARY).values) == {"num_errors": 0}


def test_scientific_offline_rates_are_numbers(read):
    """1.04211e+06 is how an Offline summary writes a million."""
    assert read(b"Tokens per second: 1.04211e+06\r\n").number("result_tokens_per_second") == 1042110.0


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 5000, b"hello\nworld\n"])
def test_what_is_no_summary_is_empty(read, content):
    """With a problem that says so."""
    found = read(content)
    assert found.values == {}
    assert "log-empty" in [problem.code for problem in found.problems]


@settings(max_examples=50)
@given(cut=st.integers(0, 3000), noise=st.binary(max_size=60))
def test_a_damaged_summary_never_invents_a_value(tmp_path_factory, cut, noise):
    """Whatever is cut off and put there, no exception; numbers are what was said, never the first half of it."""
    content = summary_log(values())
    path = tmp_path_factory.mktemp("cut") / "mlperf_log_summary.txt"
    path.write_bytes(content[:cut])
    found = read_log_summary(path, "shown.txt").values
    assert {key: said for key, said in found.items() if not isinstance(said, str)}.items() <= values().items()
    path.write_bytes(content[:cut] + noise)
    assert set(read_log_summary(path, "shown.txt").values) <= WANTED
