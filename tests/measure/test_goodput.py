"""goodput: a request is good when it met every limit, and a failure never is."""

import numpy as np
import pytest

from caveat.errors import UsageError
from caveat.measure import Slo, summarize
from tests.measure.samples import row, samples

SHUFFLED = np.random.default_rng(8).permutation(np.arange(1, 101)) / 100


def summary(slo, **columns):
    """100 requests, one a second, TTFT 10 to 1000 ms in steps and no order, TPOT 10 ms, each 11 tokens."""
    ttft = SHUFFLED
    return summarize(samples(np.arange(100), ttft + 0.1, ttft_s=ttft, output=11, **columns), workload={}, slo=slo)


@pytest.mark.parametrize(
    ("slo", "good"),
    [
        (Slo(ttft_s=0.5), 50),
        (Slo(ttft_s=0.5, tpot_s=0.010), 50),
        (Slo(ttft_s=0.5, tpot_s=0.009), 0),
        (Slo(latency_s=0.4), 30),
        (Slo(ttft_s=0.5, latency_s=0.4), 30),
    ],
)
def test_a_request_must_meet_every_limit_that_there_is(slo, good):
    """At the limit is met; the rate is over first due to last end."""
    found = summary(slo)
    assert row(found, "caveat-goodput-share").value == pytest.approx(good / 100)
    assert row(found, "caveat-goodput").value == pytest.approx(good / (99.1 + SHUFFLED[-1]))


def test_a_failure_is_a_miss_however_quick_it_was():
    """The ten quickest failed: forty are good, of a hundred."""
    found = summary(Slo(ttft_s=0.5), error_class=["500" if ttft <= 0.1 else None for ttft in SHUFFLED])
    assert row(found, "caveat-goodput-share").value == pytest.approx(0.4)
    assert row(found, "caveat-goodput-share").n == 100


def test_the_share_has_an_interval_also_when_all_are_good():
    """Wilson's lower end: 100 of 100 is not certainty."""
    spread = row(summary(Slo(latency_s=5)), "caveat-goodput-share").spread
    assert spread is not None
    assert spread.high == 1
    assert 0.95 < spread.low < 0.97


def test_a_single_token_has_no_time_per_token_to_be_too_long():
    """It meets a TPOT limit; a success that nobody counted is a miss, and that is said."""
    output = [1] * 100
    found = summarize(
        samples(np.arange(100), 5.0, output_tokens_usage=[None, *output[1:]]), workload={}, slo=Slo(tpot_s=0.001)
    )
    one = row(found, "caveat-goodput-share")
    assert one.value == pytest.approx(0.99)
    assert one.notes == ("1 of 100 successes have no count of tokens and are taken as misses: this is a floor",)


def test_without_limits_or_without_tokens_there_is_no_goodput():
    """Absent with the reason, not zero."""
    assert summary(None).why_absent("caveat-goodput") == "no limits were given"
    found = summary(Slo(tpot_s=0.1), output_tokens_usage=None)
    assert "not counted" in str(found.why_absent("caveat-goodput-share"))


def limits(found):
    return [(check.outcome, check.sentence) for check in found.validity if check.aspect == "latency limits"]


def test_the_run_keeps_a_limit_at_its_percentile_or_does_not():
    """p90 TTFT is 900 ms."""
    assert limits(summary(Slo(ttft_s=0.9, percentile="p90"))) == [
        ("pass", "p90 TTFT 900 ms, limit 900 ms: 90.0% of 100 requests kept it (82.6% to 94.5%), 90% must.")
    ]
    assert limits(summary(Slo(ttft_s=0.89, percentile="p90"))) == [
        ("fail", "p90 TTFT 900 ms, limit 890 ms: 89.0% of 100 requests kept it (81.4% to 93.7%), 90% must.")
    ]


def test_a_limit_that_was_missed_spoils_rates_and_no_latency():
    """The TTFT is what it is; a rate without its limits is none to plan with."""
    (missed,) = [one for one in summary(Slo(ttft_s=0.1, percentile="p90")).validity if one.aspect == "latency limits"]
    assert missed.concerns("caveat-output-tokens-rate-usage")
    assert not missed.concerns("caveat-ttft.p90")


def test_failures_count_against_the_limit_as_never():
    """Twenty of a hundred failed: p90 never came, and no more than 88 % can be expected to keep any limit."""
    errors = ["500" if ttft <= 0.2 else None for ttft in SHUFFLED]
    ((outcome, sentence),) = limits(summary(Slo(ttft_s=5, percentile="p90"), error_class=errors))
    assert outcome == "fail"
    assert sentence == "p90 TTFT missed 5 s: 80.0% of 100 requests kept it (69.4% to 87.6%), 90% must."


def one_limit(latency_s, percentile="p50"):
    """(outcome, sentence) of a limit of 300 ms on requests that took so long, one a second."""
    table = samples(np.arange(len(latency_s)), latency_s)
    (found,) = limits(summarize(table, workload={}, slo=Slo(latency_s=0.3, percentile=percentile)))
    return found


def test_a_limit_is_missed_where_no_reading_of_the_share_keeps_it():
    """Latencies climb, so that the median has no interval; that eight of 320 kept the limit is a miss nevertheless."""
    outcome, sentence = one_limit(0.2 + 0.0125 * np.arange(320))
    assert outcome == "fail"
    assert sentence.startswith("p50 latency missed 300 ms: 2.8% of 320 requests kept it (")


def test_a_limit_is_kept_where_even_the_lower_end_of_the_share_keeps_it():
    """No p95 of sixty requests, but at p90 they all kept it: 94 % at the least."""
    latency = np.random.default_rng(3).permutation(np.linspace(0.1, 0.2, 60))
    assert one_limit(latency, "p90")[0] == "pass"
    outcome, sentence = one_limit(latency, "p99")
    assert outcome == "unknown"
    assert sentence == "p99 latency against 300 ms is open: 100.0% of 60 requests kept it (94.0% to 100.0%), 99% must."


def test_requests_that_are_alike_keep_no_limit_by_their_number():
    """All of sixty are under the limit while they climb towards it: as one or two independent ones, which is open."""
    assert one_limit(np.linspace(0.1, 0.29, 60), "p90")[0] == "unknown"


def test_limits_and_headroom_are_conditions():
    """p99 of 1000 requests over the limit, and the percentile as a share."""
    ttft = np.random.default_rng(9).permutation(np.arange(1, 1001)) / 1000
    table = samples(np.arange(1000), ttft + 0.1, ttft_s=ttft, output=11)
    found = summarize(table, workload={}, slo=Slo(ttft_s=2.0, tpot_s=0.1)).conditions
    assert found["ttft_limit_s"] == 2.0
    assert found["headroom_ttft"] == pytest.approx(0.99 / 2)
    assert found["headroom_tpot"] == pytest.approx(0.1)
    assert found["limit_percentile"] == 0.99
    assert "latency_limit_s" not in found
    at_p90 = summarize(table, workload={}, slo=Slo(ttft_s=2.0, percentile="p90")).conditions
    assert at_p90["limit_percentile"] == 0.9
    assert at_p90["headroom_ttft"] == pytest.approx(0.9 / 2)


@pytest.mark.parametrize("limits", [{}, {"ttft_s": 0.0}, {"tpot_s": -1}, {"ttft_s": 1.0, "percentile": "p97"}])
def test_limits_that_limit_nothing_are_refused(limits):
    """None at all, zero, negative, or at a percentile that is not taken."""
    with pytest.raises(UsageError, match="limits"):
        Slo(**limits)


def test_an_answer_in_one_piece_has_no_time_per_token_to_be_too_long():
    """It meets a TPOT limit like an answer of one token."""
    due = np.arange(100)
    first = ((due + 0.1) * 1e9).astype(np.int64)
    found = summarize(samples(due, 0.1, ttft_s=0.1, last_token_ns=first), workload={}, slo=Slo(tpot_s=0.001))
    assert row(found, "caveat-goodput-share").value == 1


@pytest.mark.parametrize("slo", [Slo(ttft_s=9), Slo(tpot_s=9), Slo(latency_s=9)])
def test_answers_without_times_of_tokens_give_no_goodput_under_a_limit_on_tokens(slo):
    """Whole answers: how many were in time is unknown, not zero. A limit on the whole latency can be judged."""
    nothing = [None] * 100
    found = summary(slo, first_token_ns=nothing, last_token_ns=nothing)
    if slo.latency_s is None:
        assert found.why_absent("caveat-goodput") == "TTFT or TPOT has a limit and no answer has the time of a token"
    else:
        assert row(found, "caveat-goodput-share").value == 1


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({}, "expected at least one of ttft_s, tpot_s, latency_s"),
        ({"ttft_s": 0.0}, "ttft_s: found 0.0"),
        ({"tpot_s": float("nan")}, "tpot_s: found nan"),
        ({"latency_s": float("inf")}, "latency_s: found inf"),
        ({"ttft_s": 1.0, "percentile": "p98"}, "percentile: found 'p98'"),
    ],
)
def test_limits_that_cannot_be_are_refused_by_name(limits, said):
    """Which field, and what was found."""
    with pytest.raises(UsageError, match=said):
        Slo(**limits)
