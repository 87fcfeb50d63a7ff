"""live: what a run looks like while it goes."""

import numpy as np
import pytest

from caveat.measure import Live, scenario_with, summarize
from caveat.units import NS_PER_S
from tests.measure.samples import samples


def test_a_look_in_the_middle_of_a_run():
    """Four a second for 30 s, one in ten fails: rate of the last ten seconds, errors, percentiles, tokens."""
    errors = ["timeout" if place % 10 == 0 else None for place in range(120)]
    table = samples(np.arange(120) / 4, 0.2, ttft_s=0.1, output=11, error_class=errors)
    live = Live(in_flight=lambda: 5)
    for batch in table.to_batches(max_chunksize=7):
        live.take(batch)
    view = live.view(30 * NS_PER_S)
    assert (view.ended, view.failed, view.errors, view.in_flight) == (120, 12, {"timeout": 12}, 5)
    assert view.rate_per_s == pytest.approx(3.6)
    assert view.output_tokens == 108 * 11
    assert view.ttft_s == pytest.approx((0.1, 0.1, 0.1), rel=0.001)
    assert view.tpot_s == pytest.approx((0.01, 0.01, 0.01), rel=0.001)
    assert live.view(60 * NS_PER_S).rate_per_s == 0


def test_before_the_first_answer_nothing_is_known():
    """No rate, no percentile; in flight only where somebody knows it."""
    view = Live().view(0)
    assert (view.ended, view.in_flight, view.rate_per_s) == (0, None, 0.0)
    assert all(np.isnan(value) for value in (*view.ttft_s, *view.tpot_s))
    assert Live(in_flight=lambda: 3).view(NS_PER_S).in_flight == 3


def test_what_the_server_did_not_count_is_not_guessed():
    """Without usage there is no time per token, and no token is counted."""
    live = Live()
    (batch,) = samples([0.0], 0.2, output_tokens_usage=[None]).to_batches()
    live.take(batch)
    view = live.view(NS_PER_S)
    assert view.output_tokens == 0
    assert np.isnan(view.tpot_s[0])


def test_a_straggler_of_a_second_gone_by_is_counted_once():
    """Batches of several processes come a little out of order."""
    live = Live()
    for due in (2.0, 1.0, 2.0):
        (batch,) = samples([due], 0.1).to_batches()
        live.take(batch)
    assert live.view(4 * NS_PER_S).rate_per_s == pytest.approx(3 / 4)


def test_a_scenario_says_how_many_more_until_it_is_certified():
    """As its checks will say it at the end: with one of 601 above 61 more, then none; a failure is above."""
    scenario = scenario_with("server", ttft_s=1.0, tpot_s=0.1)
    tpot = np.where(np.arange(601) == 7, 0.15, 0.05)
    table = samples(np.arange(601) / 100, 0.5 + 9 * tpot, ttft_s=0.5, output=10)
    live = Live(scenario=scenario)
    for batch in table.to_batches(max_chunksize=100):
        live.take(batch)
    assert live.view(0).more_queries == 61
    said = [check.sentence for check in summarize(table, workload={}, scenario=scenario).validity]
    assert any("at least 61 more queries" in sentence for sentence in said)
    (good,) = samples(np.arange(100), 0.6, ttft_s=0.5).to_batches()
    live.take(good)
    assert live.view(0).more_queries == 0
    (failed,) = samples([0.0], 0.6, error_class=["500"]).to_batches()
    live.take(failed)
    assert live.view(0).more_queries == 838 - 702  # two above p99 need 838


def test_streams_count_whole_queries_and_others_nothing():
    """15 samples are one query of eight; offline and runs without a scenario have nothing to certify."""
    (batch,) = samples(np.arange(15), 0.1).to_batches()
    more = []
    for scenario in (scenario_with("multi-stream"), scenario_with("single-stream"), scenario_with("offline"), None):
        live = Live(scenario=scenario)
        live.take(batch)
        more.append(live.view(0).more_queries)
    assert more == [661, 85, None, None]
