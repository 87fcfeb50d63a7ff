"""consistency: each check passes on a sound run, and fails on the one thing that it is for."""

import numpy as np
import pytest

from caveat.figures import outcome
from caveat.measure import WarmUp, summarize
from tests.measure.samples import mm1, samples

RNG = np.random.default_rng(5)
N = 2000
DUE = np.cumsum(RNG.exponential(0.05, N))
LATENCY = RNG.gamma(4, 0.1, N)


def checks(table=None, warmup=None, aspect="consistency", **workload):
    found = summarize(table, workload=workload, warmup=warmup)
    return [check for check in found.validity if check.aspect == aspect]


def about(words, found):
    (one,) = [check for check in found if words in check.sentence]
    return one


def test_a_sound_run_agrees_with_itself():
    """A queue at 60 %, usage and tokenizer alike: every check passes."""
    table = mm1(20000, load=0.6, mean_s=0.01, rng=np.random.default_rng(6))
    found = checks(table.set_column(*_client_counts(table, 10)))
    assert len(found) == 8
    assert {check.outcome for check in found} == {"pass"}


def _client_counts(table, count):
    import pyarrow as pa

    place = table.schema.get_field_index("output_tokens_client")
    return place, table.schema.field(place), pa.array([count] * table.num_rows, pa.int64())


def test_littles_law_fails_where_requests_outside_the_window_fill_the_server():
    """Fifty requests of the warm-up hold on to the server for the whole run, and no rate x latency knows of them."""
    phase = ["warmup"] * 50 + ["measured"] * (N - 50)
    latency = np.where(np.arange(N) < 50, 1000.0, LATENCY)
    found = about("Little's law", checks(samples(DUE, latency, phase=phase)))
    assert found.outcome == "fail"


def test_littles_law_says_unknown_for_a_queue_that_only_grows():
    """Each request waits longer than the one before: no steady state, and no verdict from the law."""
    found = about("rate x latency", checks(samples(np.arange(500) * 0.1, np.arange(500) * 0.2)))
    assert found.outcome == "unknown"
    assert "too few for a steady state" in found.sentence


def test_littles_law_holds_for_a_short_run_of_equal_answers():
    """The last of twenty requests is due where the steady window ends: one in twenty is no inconsistency."""
    found = about("Little's law", checks(samples(np.arange(20.0), 0.045)))
    assert found.outcome == "pass"


def test_littles_law_speaks_of_latencies_and_rates_only():
    """A failed check does not touch what it says nothing about."""
    found = about("Little's law", checks(samples(DUE, LATENCY)))
    assert found.outcome == "pass"
    assert found.concerns("caveat-latency.p99")
    assert not found.concerns("caveat-error-rate")


def test_a_request_that_has_two_samples_is_found():
    """Seven rows of a number that has one already."""
    numbers = np.arange(N)
    numbers[10:17] = 3
    found = about("samples", checks(samples(DUE, LATENCY, request=numbers)))
    assert (found.outcome, found.sentence) == ("fail", "2,000 samples, 7 of a request that has one already.")


@pytest.mark.parametrize(
    ("column", "shift_s"), [("sent_ns", -1), ("first_token_ns", -100), ("last_token_ns", -100), ("end_ns", -100)]
)
def test_times_that_run_backwards_are_found(column, shift_s):
    """A clock that jumped, or a file that was made up."""
    table = samples(DUE, LATENCY)
    times = table.column(column).to_numpy().copy()
    times[5] += shift_s * 10**9
    found = about("run backwards", checks(samples(DUE, LATENCY, **{column: times})))
    assert found.outcome == "fail"
    assert found.sentence.startswith("The times of 1 of 2,000")


def test_missing_times_are_not_backwards():
    """A request that failed before its first token has none."""
    first = [None] * 10 + samples(DUE, LATENCY).column("first_token_ns").to_pylist()[10:]
    found = about("run backwards", checks(samples(DUE, LATENCY, first_token_ns=first, last_token_ns=first)))
    assert found.outcome == "pass"


def test_tokens_that_stream_but_belong_to_no_answer_are_found():
    """Answers of the window are short, those that fill it are long: tokens are not rate x length."""
    phase = ["warmup"] * 1000 + ["measured"] * 1000
    latency = np.concatenate((np.full(1000, 200.0), np.full(1000, 0.2)))
    output = np.concatenate((np.full(1000, 5000), np.full(1000, 10)))
    table = samples(DUE, latency, ttft_s=0.0, phase=phase, output=output)
    found = about("streamed", checks(table))
    assert found.outcome == "fail"
    assert not found.concerns("caveat-ttft.p50")


@pytest.mark.parametrize(("longest", "verdict"), [(100, "pass"), (101, "pass"), (102, "fail")])
def test_an_answer_may_pass_its_cap_by_one_token(longest, verdict):
    """By the condition of the workload, or by what each request asked for."""
    output = np.full(N, 90)
    output[7] = longest
    by_condition = checks(samples(DUE, LATENCY, output=output, wanted=500), output_tokens_cap=100)
    by_request = checks(samples(DUE, LATENCY, output=output, wanted=100))
    assert about("cap", by_condition).outcome == about("cap", by_request).outcome == verdict


@pytest.mark.parametrize(("client", "verdict"), [(96, "pass"), (94, "fail")])
def test_usage_and_tokenizer_may_differ_by_5_percent(client, verdict):
    """More than that, one of them counts something else."""
    table = samples(DUE, LATENCY, output=100, output_tokens_client=[client] * N)
    assert about("tokenizer, over", checks(table)).outcome == verdict


def test_answers_with_one_token_more_are_counted_as_ended():
    """An end token is counted by some servers and has no text."""
    client = [10] * (N - 3) + [9, 9, 7]
    found = about("tokenizer, over", checks(samples(DUE, LATENCY, output=10, output_tokens_client=client)))
    assert found.sentence.endswith("over 2,000 requests: as many in 1,997, one more (an end token) in 2.")


@pytest.mark.parametrize(
    ("achieved", "wanted", "verdict"),
    [
        (950, 1000, "pass"),
        (940, 1000, "fail"),
        (60, 100, "pass"),
        (40, 100, "fail"),
        (6, 4, "pass"),
        (7, 4, "fail"),
        (12, 4, "fail"),
    ],
)
def test_lengths_may_miss_by_5_percent_or_50_tokens_and_never_by_more_than_half(achieved, wanted, verdict):
    """Whichever is more of the first two; 12 tokens are not the 4 that were asked for."""
    found = checks(samples(DUE, LATENCY, output=achieved, wanted=wanted), aspect="length match")
    assert about("Mean output", found).outcome == verdict
    assert about("Mean input", found).outcome == "pass"


def test_a_steady_state_that_was_not_found_is_said():
    """Only where it was looked for."""
    growing = samples(np.arange(500), np.arange(1, 501))
    found = about("Warm-up", checks(growing, WarmUp(until_steady=True), aspect="steady state"))
    assert (found.outcome, found.sentence) == ("fail", "Warm-up: MSER-5 found no steady state, nothing left out.")
    assert not any("Warm-up" in check.sentence for check in checks(growing, aspect="steady state"))


def test_a_failed_check_reaches_the_figures_it_speaks_of():
    """Counts that disagree spoil token figures, not the latency of the whole answer."""
    found = summarize(samples(DUE, LATENCY, output=100, output_tokens_client=[50] * N), workload={})
    consistency = [check for check in found.validity if check.aspect == "consistency"]
    assert outcome(consistency, "caveat-tpot-usage.p99") == "fail"
    assert outcome(consistency, "caveat-latency.p99") == "pass"


def test_text_without_a_token_is_a_contradiction():
    """A server that counts nothing. An answer without text may have no tokens."""
    due = np.arange(100)
    wrong = summarize(samples(due, 0.1, output=0, chunks=[2] * 100), workload={})
    empty = summarize(samples(due, 0.1, output=0, chunks=[0] * 100), workload={})
    sentence = "100 answers had text and no token (server usage record)."
    assert (sentence, "fail") in [(check.sentence, check.outcome) for check in wrong.validity]
    assert not any("had text" in check.sentence for check in empty.validity)


def test_littles_law_knows_how_long_the_last_request_took():
    """It is due where the window ends: none of its time is inside, however long it was beside the others."""
    latency = [0.01] * 19 + [0.05]
    found = summarize(samples(np.arange(20) * 0.1, latency), workload={})
    (law,) = [check for check in found.validity if "Little" in check.sentence]
    assert law.outcome == "pass"
