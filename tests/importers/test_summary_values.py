"""Published values: metric, unit, corrections, refusals."""

import pytest

from caveat.facts import benchmark_named
from caveat.figures import Row
from caveat.importers.mlperf.summary_values import ENDPOINTS_NOTE, HIGHEST, Refusal, number, published_row


def row_of(value, unit, benchmark="llama2-70b-99.9", round_name="v6.0", scenario="server", **cells):
    found = benchmark_named(benchmark)
    assert found is not None
    given = {"value": value, "unit": unit, **cells}
    return published_row({k: v for k, v in given.items() if v}, found, round_name, scenario, column="Result")


@pytest.mark.parametrize(
    ("benchmark", "round_name", "scenario", "unit", "metric"),
    [
        ("llama2-70b-99.9", "v6.0", "offline", "Tokens/s", "loadgen-offline-tokens-rate"),
        ("llama2-70b-99.9", "v6.1", "server", "Tokens/s", "loadgen-completed-tokens-rate"),
        ("deepseek-r1", "v6.0", "interactive", "Tokens/s", "loadgen-completed-tokens-rate"),
        ("qwen3-vl-235b-a22b", "v6.0", "offline", "Samples/s", "loadgen-offline-samples-rate"),
        ("qwen3-vl-235b-a22b", "v6.0", "server", "Queries/s", "loadgen-completed-samples-rate"),
        ("gptj-99", "v4.1", "server", "Tokens/s", "loadgen-completed-tokens-rate-inferred"),
        ("gptj-99", "v4.0", "server", "Queries/s", "loadgen-scheduled-samples-rate"),
        ("e2e-rag-qna", "v6.1", "offline", "Tasks/s", "loadgen-offline-tasks-rate"),
    ],
)
def test_the_metric_follows_round_benchmark_and_scenario(benchmark, round_name, scenario, unit, metric):
    """As in the checker, and without a note where the label agrees."""
    assert row_of("12.5", unit, benchmark, round_name, scenario) == Row(metric=metric, value=12.5, source_key="Result")


@pytest.mark.parametrize(
    ("benchmark", "round_name", "unit", "value", "metric"),
    [
        ("llama3.1-8b-edge", "v6.0", "Latency (ms)", "4145.5", "loadgen-latency.p90"),
        ("llama3.1-8b-edge", "v6.0", "Latency (s)", "4.1455", "loadgen-latency.p90"),
        ("gptj-99", "v4.1", "Latency (ms)", "4145.5", "loadgen-single-stream-latency.p90"),
    ],
)
def test_latencies_are_stored_in_seconds(benchmark, round_name, unit, value, metric):
    """Converted once, by the label."""
    row = row_of(value, unit, benchmark, round_name, "single-stream")
    assert (row.metric, row.value) == (metric, pytest.approx(4.1455))


@pytest.mark.parametrize(
    ("benchmark", "round_name", "scenario", "unit"),
    [
        ("whisper", "v5.1", "offline", "Samples/s"),
        ("whisper", "v6.1", "offline", "Samples/s"),
        ("llama3.1-8b", "v5.1", "interactive", "Queries/s"),
        ("mixtral-8x7b", "v4.1", "server", "Queries/s"),
    ],
)
def test_labels_known_to_be_wrong_are_corrected_with_a_note(benchmark, round_name, scenario, unit):
    """The note names the unit that was found, the true one and why."""
    row = row_of("57174.1", unit, benchmark, round_name, scenario)
    assert row.value == 57174.1
    assert row.metric.endswith("tokens-rate")
    (note,) = row.notes
    assert unit in note
    assert "tokens/s" in note
    assert "log key" in note


@pytest.mark.parametrize(
    ("benchmark", "round_name", "scenario", "unit"),
    [
        ("llama3.1-8b", "v6.0", "interactive", "Queries/s"),
        ("llama2-70b-99.9", "v6.0", "server", "Samples/s"),
        ("llama2-70b-99.9", "v6.0", "server", "furlongs"),
        ("llama2-70b-99.9", "v6.0", "offline", "Latency (ms)"),
        ("qwen3-vl-235b-a22b", "v6.1", "server", "Tokens/s"),
    ],
)
def test_a_label_that_nothing_explains_is_refused(benchmark, round_name, scenario, unit):
    """The value may be either, so it is neither."""
    refusal = row_of("10", unit, benchmark, round_name, scenario)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unit-unexpected"
    assert refusal.found == unit


@pytest.mark.parametrize("value", ["0", "-1", "", "abc", "nan", "inf", "1e13", str(2**64), "1_000", "1,234.5"])
def test_what_cannot_be_is_not_recorded(value):
    """Zero is no result, and an overflow is no speed."""
    refusal = row_of(value, "Tokens/s")
    assert isinstance(refusal, Refusal)
    assert refusal.code == "value-impossible"


def test_no_source_no_metric():
    """What is not known to be published under any metric is passed over, not guessed."""
    refusal = row_of("770.8", "Latency (ms)", "qwen3.6-27b", "v6.1", "single-stream")
    assert isinstance(refusal, Refusal)
    assert (refusal.code, "qwen3.6-27b single-stream" in refusal.message) == ("", True)


@pytest.mark.parametrize("round_name", ["v9.0", None])
def test_a_round_beyond_the_tables_keeps_the_last_known_metric_and_says_so(round_name):
    """Later rounds of the family are read; the figure carries the doubt."""
    row = row_of("12", "Tokens/s", "gpt-oss-120b", round_name, "server")
    assert row.metric == "loadgen-completed-tokens-rate"
    assert row.notes[0].endswith("the metric is that of v6.1")


def test_a_missing_label_is_noted():
    """The unit then follows from the metric."""
    row = row_of("12", "")
    assert row.value == 12
    assert "no unit" in row.notes[0]


@pytest.mark.parametrize(
    ("value", "accuracy", "marked"),
    [
        ("652750.1447708113", "80.62898814949864", True),
        ("652750.1447708113", "exact_match: 81.5", True),
        ("652750.0", "80.62898814949864", True),
        ("652750.0", "exact_match: 81.5", False),
    ],
)
def test_rows_in_the_shape_of_the_other_harness_say_so(value, accuracy, marked):
    """More digits than LoadGen prints, or an accuracy without a name."""
    row = row_of(value, "Tokens/s", "deepseek-r1", "v6.1", "interactive", accuracy=accuracy)
    assert (ENDPOINTS_NOTE in row.notes) == marked


def test_rounds_before_that_harness_are_not_marked():
    """Up to v6.0 there was LoadGen only."""
    assert row_of("652750.1447708113", "Tokens/s", "deepseek-r1", "v6.0", "server", accuracy="80.6").notes == ()


def test_numbers_are_plain():
    """What Python alone would take for a number is none."""
    assert [number(text) for text in ("1.5", "1e3", "1_0", "nan", "", "x")] == [1.5, 1000.0, None, None, None, None]
    assert number(str(HIGHEST)) == HIGHEST
