"""scenario checks: the end-to-end vectors of the harness, each part's own rule, and what is missing."""

import numpy as np
import pytest

from caveat.errors import UsageError
from caveat.measure import Slo, WarmUp, scenario_of_profile, scenario_with, summarize, verdict
from tests.measure.samples import row, samples

SERVER = scenario_with("server", ttft_s=1.0, tpot_s=0.1, min_duration_s=2.0)


def judged(table, scenario, workload=None):
    return summarize(table, workload=workload or {}, scenario=scenario)


def outcomes(summary):
    """(aspect, outcome) of what the scenario asked for, and the sentences of an aspect."""
    return {(check.aspect, check.outcome) for check in summary.validity}


def said(summary, aspect):
    return " ".join(check.sentence for check in summary.validity if check.aspect == aspect)


def server_run(n, *, over_tpot=0, over_ttft=0, rate=200.0, **columns):
    """Ten tokens; TTFT 0.5 s and TPOT 50 ms, but for those over: 1.5 s and 150 ms."""
    ttft = np.where(np.arange(n) < over_ttft, 1.5, 0.5)
    tpot = np.where(np.arange(n) >= n - over_tpot, 0.150, 0.050)
    return samples(np.arange(n) / rate, ttft + 9 * tpot, ttft_s=ttft, output=10, **columns)


def test_a_run_just_under_its_limits_with_too_few_queries_is_invalid_by_the_number_of_missing_ones():
    """The vector of LoadGen 6.0.17: 601 queries, one TPOT above its limit: 61 more. Both p99s pass."""
    found = judged(server_run(601, over_tpot=1), SERVER)
    assert ("latency limits", "fail") not in outcomes(found)
    assert ("early stopping (TPOT)", "fail") in outcomes(found)
    assert ("early stopping (TTFT)", "pass") in outcomes(found)
    assert "1 of 601 queries lie above the TPOT limit; 662 are enough" in said(found, "early stopping (TPOT)")
    assert "Would need at least 61 more queries." in said(found, "early stopping (TPOT)")
    assert verdict(found.validity) == "INVALID"
    assert verdict(judged(server_run(662, over_tpot=1), SERVER).validity) == "VALID"


def test_a_single_stream_certifies_what_the_harness_does():
    """250 queries: t = 14; and with fewer than 64 nothing."""
    values = np.random.default_rng(3).permutation(np.arange(1, 251)) / 1000
    scenario = scenario_with("single-stream", min_duration_s=10.0)
    workload = {"scenario": "single-stream", "samples_per_query": 1}
    found = judged(samples(np.arange(250) / 4, values, scheduled_ns=None), scenario, workload)
    assert row(found, "loadgen-single-stream-latency.p90").value == pytest.approx(0.237)
    assert verdict(found.validity) == "VALID"
    short = judged(samples(np.arange(63), 0.1, scheduled_ns=None), scenario, workload)
    assert "expected 64 to certify it" in str(short.why_absent("loadgen-single-stream-latency.p90"))
    assert "Would need at least 1 more queries." in said(short, "early stopping")


def test_a_multi_stream_counts_queries_and_takes_the_slowest_sample():
    """189 queries are too few of 662; each lasts as long as the slowest of its eight."""
    due = np.repeat(np.arange(700) * 2.0, 8)
    latency = np.tile(np.arange(1, 9) / 10, 700)
    scenario = scenario_with("multi-stream", min_duration_s=100.0)
    table = samples(due, latency, scheduled_ns=None)
    found = judged(table, scenario)
    assert row(found, "loadgen-multi-stream-latency.p99").value == pytest.approx(0.8)
    assert row(found, "loadgen-query-latency.mean").value == pytest.approx(0.8)
    assert found.row("loadgen-latency.mean") is None
    assert (found.conditions["queries"], verdict(found.validity)) == (700, "VALID")
    few = judged(table.slice(0, 189 * 8), scenario)
    assert "189 queries; 662 are enough" in said(few, "early stopping")
    assert "expected 662" in str(few.why_absent("loadgen-multi-stream-latency.p99"))
    assert verdict(few.validity) == "INVALID"


def test_queries_of_a_multi_stream_that_overlap_are_not_its_arrivals():
    """One that begins before the last has ended."""
    due = np.repeat(np.arange(10) * 1.0, 8)
    scenario = scenario_with("multi-stream", min_duration_s=1.0, percentile=0.5, min_queries=5)
    for latency, outcome in ((0.9, "pass"), (1.1, "fail")):
        found = judged(samples(due, latency, scheduled_ns=None), scenario)
        assert ("arrivals", outcome) in outcomes(found)


@pytest.mark.parametrize(
    ("profile", "value_s", "outcome", "words"),
    [
        (None, 2.0, "pass", "at most that is asked for"),
        ("llama2-70b-99.9", 2.0, "fail", "LoadGen lets a run at its limit pass, the submission checker does not"),
        ("llama2-70b-99.9", 1.999999999, "pass", "below it is asked for"),
        (None, 2.000000001, "fail", "at most that is asked for"),
    ],
)
def test_at_its_limit_a_run_passes_the_harness_and_not_the_checker(profile, value_s, outcome, words):
    """To the nanosecond; the sentence says which of them it was."""
    scenario = scenario_with("server", ttft_s=2.0)
    if profile is not None:
        scenario = scenario_of_profile(profile, "v6.1", "server")
    table = samples(np.arange(1000) / 100, value_s + 0.9, ttft_s=value_s, output=10)
    sentences = [c for c in judged(table, scenario).validity if c.aspect == "latency limits" and "TTFT" in c.sentence]
    assert [check.outcome for check in sentences] == [outcome]
    assert words in sentences[0].sentence


@pytest.mark.parametrize(("name", "lasted_s"), [("server", 9.99), ("offline", 10.49), ("single-stream", 9.99)])
def test_the_minimum_duration_has_a_clock_in_each_scenario(name, lasted_s):
    """Server: the last was scheduled; offline: the last has ended; streams: the last was issued."""
    table = samples(np.arange(1000) / 100, 0.5, ttft_s=0.1, output=10)
    limits = {"ttft_s": 1.0} if name == "server" else {}
    for least, outcome in ((lasted_s, "pass"), (lasted_s + 0.01, "fail")):
        found = judged(table, scenario_with(name, min_duration_s=least, **limits))
        assert ("minimum duration", outcome) in outcomes(found)


def test_sets_are_whole_and_queries_enough():
    """1,000 are no whole passes over 64; the number of missing ones is said."""
    table = samples(np.arange(1000) / 100, 0.5, ttft_s=0.1)
    found = judged(table, scenario_with("offline", min_duration_s=1.0, min_queries=1100, set_size=64))
    assert "100 more are needed." in said(found, "minimum queries")
    assert "15 whole passes over the set of 64 samples were made. 24 requests are missing" in said(
        found, "minimum queries"
    )
    whole = judged(table.slice(0, 960), scenario_with("offline", min_duration_s=1.0, set_size=64))
    assert ("minimum queries", "fail") not in outcomes(whole)


@pytest.mark.parametrize(("output", "outcome"), [(265, "fail"), (266, "pass"), (323, "pass"), (324, "fail")])
def test_answers_are_as_long_as_those_of_the_benchmark(output, outcome):
    """265.005 to 323.895 tokens on average for llama2-70b."""
    table = samples(np.arange(1000), 10.0, ttft_s=0.1, output=output)
    assert ("output length", outcome) in outcomes(
        judged(table, scenario_of_profile("llama2-70b-99.9", "v6.1", "server"))
    )


def test_a_failed_request_is_above_every_limit_and_none_is_allowed():
    """One of 2,000: p99 still passes, and the run does not."""
    errors = ["500"] + [None] * 1999
    found = judged(server_run(2000, error_class=errors), SERVER)
    assert ("latency limits", "fail") not in outcomes(found)
    assert "1 of 2,000 queries lie above the TTFT limit" in said(found, "early stopping (TTFT)")
    assert ("errors", "fail") in outcomes(found)
    many = judged(server_run(2000, error_class=["500"] * 100 + [None] * 1900), SERVER)
    assert "never, too many failed" in said(many, "latency limits")


def test_what_is_not_known_is_not_valid():
    """No usage: TPOT cannot be said. No token times: neither. Undecided, where nothing fails."""
    uncounted = judged(server_run(1000, output_tokens_usage=None), SERVER)
    assert {("latency limits", "unknown"), ("early stopping (TPOT)", "unknown")} <= outcomes(uncounted)
    assert verdict(uncounted.validity) == "UNDECIDED"
    whole = judged(server_run(1000, first_token_ns=None, last_token_ns=None), SERVER)
    assert ("early stopping (TTFT)", "unknown") in outcomes(whole)
    assert "have no time of a first token" in said(whole, "latency limits")


def test_limits_of_a_scenario_are_those_of_goodput_and_of_the_conditions():
    """In one place; a second one, or a warm-up, is refused."""
    found = judged(server_run(1000, over_ttft=100), SERVER, {"scenario": "server", "arrivals": "poisson"})
    assert row(found, "caveat-goodput-share").value == pytest.approx(0.9)
    known = found.conditions
    assert (known["ttft_limit_s"], known["tpot_limit_s"], known["limit_percentile"]) == (1.0, 0.1, 0.99)
    assert known["headroom_ttft"] == pytest.approx(1.5)
    assert (known["min_duration_s"], known["seeds"]) == (2.0, "schedule 0, samples 0")
    assert "profile" not in known
    for beside in ({"slo": Slo(ttft_s=1.0)}, {"warmup": WarmUp(first_s=1.0)}):
        with pytest.raises(UsageError, match="beside a scenario"):
            summarize(server_run(100), workload={}, scenario=SERVER, **beside)


def test_certified_percentiles_stand_beside_the_others_of_any_run():
    """Without a scenario too, where there are enough; failures count as never; a budget of failures leaves none."""
    values = np.random.default_rng(5).permutation(np.arange(1, 1001)) / 1000
    found = summarize(samples(np.arange(1000), values, ttft_s=values / 2, output=1), workload={})
    assert row(found, "caveat-certified-latency.p99").value == pytest.approx(0.999)  # sorted[1000 - 2]
    assert row(found, "caveat-latency.p99").value == pytest.approx(0.990)
    assert row(found, "caveat-certified-ttft.p90").value > row(found, "caveat-ttft.p90").value
    few = summarize(samples(np.arange(661), 0.1), workload={})
    assert "expected 662 to certify it" in str(few.why_absent("caveat-certified-ttft.p99"))
    failed = summarize(samples(np.arange(1000), values, error_class=["500"] * 3 + [None] * 997), workload={})
    assert failed.why_absent("caveat-certified-ttft.p99") == "too many requests failed to certify it"
