"""live: what a run looks like while it goes."""

import numpy as np
import pytest

from caveat.measure import Live
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
