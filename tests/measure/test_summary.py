"""summary: samples become rows, conditions and validity, the same way whoever made them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import CannotSayError, UsageError
from caveat.figures import METRICS, Figure, Provenance, Source, dump, load
from caveat.measure import ParquetSink, Slo, WarmUp, run_of, schema, summarize
from tests.measure.samples import mm1, row, samples

QUEUE = mm1(4000, load=0.5, mean_s=0.02, rng=np.random.default_rng(3))
SMALL = np.random.default_rng(4).permutation(200) / 1e4
WORKLOAD = {"arrivals": "poisson", "loop": "open", "dataset": "synthetic", "input_tokens": {"mean": 5.0}, "model": None}


def test_what_was_seen_overrules_what_was_planned_and_the_rest_stays():
    """The achieved input length, not the planned one; arrivals as the plan describes them; None is unknown."""
    found = summarize(QUEUE, workload=WORKLOAD, warmup=WarmUp(first_requests=100)).conditions
    assert found["arrivals"] == "poisson"
    assert found["input_tokens"] == {"mean": 100, "p50": 100, "p90": 100, "p99": 100, "max": 100, "n": 3900}
    assert found["output_tokens_requested"] == {"mean": 10, "p50": 10, "p90": 10, "p99": 10, "max": 10, "n": 3900}
    assert (found["queries"], found["warmup"]) == (3900, "the first 100 requests")
    assert (found["token_source"], found["latency_clock"]) == ("server usage record", "scheduled arrival")
    assert "model" not in found
    assert "ttft_limit_s" not in found


def test_a_run_of_the_summary_is_a_document_that_reads_back():
    """Rows, conditions, validity and absences all in; every value is a figure with its conditions."""
    summary = summarize(QUEUE, workload=WORKLOAD, slo=Slo(ttft_s=0.1))
    run = run_of(
        summary,
        subject="a run of mine",
        provenance=Provenance(origin="measured", sources=(Source(kind="samples", path="run.parquet"),)),
        conditions={"engine": "vllm 0.33", "input_tokens": {"mean": 1.0}, "accelerator": None},
        primary="caveat-output-tokens-rate-usage",
        samples="run.parquet",
    )
    assert load(dump(run)) == run
    assert run.conditions.get("engine") == "vllm 0.33"
    assert run.conditions.numbers("input_tokens")["mean"] == 100
    assert run.conditions.state("accelerator") == "undisclosed"
    assert any(note.startswith("absent: caveat-inter-chunk.min, ") for note in run.notes)
    spread = Figure(run, "caveat-ttft.p99").row.spread
    assert spread is not None
    assert spread.method.startswith("95 %, order statistics")


def test_table_file_and_growing_parts_have_one_summary(tmp_path):
    """To the last digit, and each time the same."""
    path, growing = tmp_path / "run.parquet", tmp_path / "growing.parquet"
    pq.write_table(QUEUE, path, row_group_size=700)
    sink = ParquetSink(growing)
    for batch in QUEUE.to_batches(max_chunksize=333):
        sink.take(batch)
    sink.close()
    expected = summarize(QUEUE, workload={}, seed=5)
    assert summarize(path, workload={}, seed=5) == expected
    assert summarize(growing, workload={}, seed=5) == expected


def test_the_order_in_which_samples_come_does_not_matter():
    """Several processes write as they end. Sums may differ in their last bit."""
    shuffled = QUEUE.take(pa.array(np.random.default_rng(1).permutation(4000)))
    one, other = (summarize(table, workload={}).rows for table in (shuffled, QUEUE))
    assert [row.metric for row in one] == [row.metric for row in other]
    assert [row.value for row in one] == pytest.approx([row.value for row in other], rel=1e-12)


def test_latency_of_an_open_loop_counts_a_stall_for_everybody_who_was_due():
    """A server that stands still for 2 s under 100 requests a second: the wait of each that was due in the stall.

    Sent only when the server took them again, as a blocked client would: from `sent` nothing happened at all.
    """
    due = np.arange(6000) / 100
    stalled = (due >= 20) & (due < 22)
    taken = np.where(stalled, 22.0, due)
    table = samples(due, taken - due + 0.01, sent_ns=np.round(taken * 1e9).astype(np.int64), ttft_s=taken - due + 0.005)
    found = summarize(table, workload={})
    assert row(found, "caveat-latency.max").value == pytest.approx(2.01)
    assert row(found, "caveat-latency.mean").value == pytest.approx(0.01 + 200 * 1.005 / 6000, rel=1e-6)
    assert row(found, "caveat-latency-sent.max").value == pytest.approx(0.01)
    assert row(found, "caveat-send-lateness.max").value == pytest.approx(2.0)


def test_a_tail_that_the_sample_cannot_support_is_absent():
    """Of 300 requests p99 is not known; p90 is."""
    found = summarize(QUEUE.slice(0, 300), workload={})
    assert found.row("caveat-ttft.p90") is not None
    assert found.row("caveat-ttft.p99") is None
    assert "expected 368" in str(found.why_absent("caveat-ttft.p99"))


@pytest.mark.parametrize(("failed", "outcome"), [(0, "pass"), (40, "pass"), (41, "fail")])
def test_more_than_a_hundredth_of_failures_is_said_to_be_too_many(failed, outcome):
    """Totals add up in one sentence."""
    errors = ["500"] * failed + [None] * (4000 - failed)
    found = summarize(samples(np.arange(4000), 0.1, error_class=errors), workload={})
    (check,) = [check for check in found.validity if check.aspect == "error rate"]
    assert check.outcome == outcome
    assert check.sentence.startswith(f"{4000 - failed:,} of 4,000 measured requests succeeded and {failed} failed")
    assert check.sentence.endswith(f" ({failed} 500); 1% may." if failed else " 0 failed; 1% may.")


def test_a_run_in_which_everything_failed_has_rates_and_no_latency():
    """Nothing raises; zero successes are zero, latencies are absent."""
    found = summarize(samples(np.arange(100), 0.1, error_class=["refused"] * 100), workload={}, slo=Slo(ttft_s=1))
    assert row(found, "caveat-request-rate").value == 0
    assert row(found, "caveat-error-rate").value == 1
    assert row(found, "caveat-goodput-share").value == 0
    assert found.why_absent("caveat-latency.p50") is not None


def test_nothing_to_summarise_cannot_say():
    """An empty table."""
    with pytest.raises(CannotSayError, match="no request was measured"):
        summarize(schema().empty_table(), workload={})


@pytest.mark.parametrize("confidence", [0.0, 0.4, 1.0, 95])
def test_a_confidence_that_is_none_is_refused(confidence):
    """95 is not 0.95."""
    with pytest.raises(UsageError, match="confidence"):
        summarize(QUEUE, workload={}, confidence=confidence)


times = st.none() | st.integers(-(2**40), 2**60)
counts = st.none() | st.integers(-5, 2**40)
hostile = st.fixed_dictionaries(
    {
        "ready_ns": st.integers(-(2**40), 2**60),
        "scheduled_ns": times,
        "sent_ns": times,
        "first_token_ns": times,
        "last_token_ns": times,
        "end_ns": times,
        "stall_ns": times,
        "output_tokens_usage": counts,
        "output_tokens_client": counts,
        "input_tokens_usage": counts,
        "output_tokens_wanted": st.integers(0, 2**40),
        "error_class": st.none() | st.sampled_from(["500", ""]),
        "chunk_ns": st.none() | st.lists(st.integers(0, 2**50), max_size=4),
    }
)


@settings(max_examples=100, deadline=None)
@given(st.lists(hostile, min_size=1, max_size=60), st.sampled_from(["", "server", "offline", "single-stream"]))
def test_samples_that_make_no_sense_still_have_a_summary(rows, scenario):
    """Whatever stands in the columns: finite rows, defined metrics, every one once, a document that reads back."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table = samples(np.zeros(len(rows)), 0.1, **columns)
    found = summarize(table, workload={"scenario": scenario}, slo=Slo(ttft_s=1, tpot_s=1, latency_s=1))
    keys = [row.metric for row in found.rows] + [one.metric for one in found.absent]
    assert len(keys) == len(set(keys))
    assert set(keys) <= set(METRICS)
    run = run_of(found, subject="x", provenance=Provenance(origin="measured"), conditions={})
    assert load(dump(run)).rows == found.rows


def test_failures_are_said_by_class_the_most_frequent_first():
    """Eight classes, the rest together; a foreign word is made harmless; a success without an end is none."""
    classes = ["http-429"] * 3 + ["refused"] * 2 + [f"http-50{digit}" for digit in range(8)] + ["\x1b[31m", None]
    ends = [1_000_000_000] * 14 + [None]
    found = summarize(samples(np.arange(15), 1.0, error_class=classes, end_ns=ends), workload={}).validity[0]
    assert found.outcome == "fail"
    assert "15 failed (3 http-429, 2 refused, 1 http-500, " in found.sentence and "4 others); 1%" in found.sentence
    assert found.sentence.isprintable()


def test_a_value_without_an_interval_says_why():
    """Thirty requests; and a median of which half the interval never came."""
    few = summarize(samples(np.arange(30), 0.1 + SMALL[:30]), workload={})
    half = summarize(samples(np.arange(200), 0.1 + SMALL, error_class=[None] * 104 + ["500"] * 96), workload={})
    notes = [row(found, metric).notes for found, metric in ((few, "caveat-ttft.mean"), (half, "caveat-ttft.mean"))]
    assert notes == [("no interval: it tells as much as 30 independent values, expected 40",), ()]
    mixed = np.random.default_rng(2).permutation([None] * 104 + ["500"] * 96).tolist()
    failed = summarize(samples(np.arange(200), 0.1 + SMALL, error_class=mixed), workload={})
    assert row(failed, "caveat-ttft-all.p50").notes == (
        "no interval: its upper end lies among the requests that failed",
    )
