"""loadgen definitions: the formulas of the harness on samples of our own."""

import numpy as np
import pytest

from caveat.measure import summarize
from tests.measure.samples import row, samples

# A thousand requests every 10 ms; TTFT 1 to 1000 ms in no order (the last 1000), then 9 tokens in 1 s and 1 ns.
TTFT = np.append(np.random.default_rng(7).permutation(np.arange(1, 1000)), 1000) / 1000
TABLE = samples(np.arange(1000) / 100, TTFT + 1.000000001, ttft_s=TTFT, output=10)


def found(scenario, table=TABLE):
    return summarize(table, workload={"scenario": scenario})


def test_server_figures_are_those_of_the_harness():
    """sorted[floor(n p)]; completed rates end with the last *issued*; tokens count all, samples all but one."""
    summary = found("server")
    assert row(summary, "loadgen-ttft.p99").value == 0.991
    assert row(summary, "caveat-ttft.p99").value == 0.990
    assert row(summary, "loadgen-tpot.p50").value == 0.111111111
    window = 9.99 + 2.000000001
    assert row(summary, "loadgen-completed-samples-rate").value == pytest.approx(999 / window)
    assert row(summary, "loadgen-completed-tokens-rate").value == pytest.approx(10000 / window)
    assert row(summary, "loadgen-scheduled-samples-rate").value == pytest.approx(100)
    assert row(summary, "loadgen-latency.p97").value == pytest.approx(1.971000001)


def test_offline_has_the_tail_inside():
    """Everything at once: samples over the slowest."""
    table = samples(np.zeros(1000), TTFT + 1, ttft_s=TTFT, output=10)
    summary = found("offline", table)
    assert row(summary, "loadgen-offline-samples-rate").value == pytest.approx(500)
    assert row(summary, "loadgen-offline-tokens-rate").value == pytest.approx(5000)
    assert not [one.metric for one in summary.rows if one.metric.startswith(("loadgen-ttft", "loadgen-tpot"))]
    assert summary.row("loadgen-completed-samples-rate") is None


def test_a_stream_counts_to_the_last_issue():
    """n - 1 over the time of the last issue."""
    summary = found("single-stream", samples(np.arange(100), 1.0))
    assert row(summary, "loadgen-stream-samples-rate").value == pytest.approx(1.0)
    assert row(summary, "loadgen-stream-tokens-rate").value == pytest.approx(1000 / 99)


@pytest.mark.parametrize("scenario", ["", "poisson"])
def test_other_runs_have_no_figures_of_the_harness(scenario):
    """Nor reasons: they do not concern it."""
    summary = found(scenario)
    assert not [row for row in summary.rows if row.metric.startswith("loadgen")]
    assert not [one for one in summary.absent if one.metric.startswith("loadgen")]


def test_a_failure_leaves_no_figure_under_these_definitions():
    """The harness knows none; the others keep theirs."""
    table = samples(np.arange(1000) / 100, TTFT, error_class=["500"] + [None] * 999)
    summary = found("server", table)
    assert summary.why_absent("loadgen-ttft.p99") == "LoadGen's definitions know no failed request"
    assert summary.why_absent("loadgen-completed-tokens-rate") == summary.why_absent("loadgen-ttft.p99")
    assert summary.row("caveat-ttft.p99") is not None


def test_tokens_that_the_server_did_not_report_are_not_its_report():
    """A client's tokenizer does not stand in for the system under test."""
    table = samples(np.arange(1000) / 100, TTFT, output_tokens_usage=None, output_tokens_client=[10] * 1000)
    summary = found("server", table)
    assert "counted no tokens" in str(summary.why_absent("loadgen-completed-tokens-rate"))
    assert summary.why_absent("loadgen-tpot.p99") is not None
