"""rates: each over the window that its name says."""

import numpy as np
import pytest

from caveat.measure import columns_of
from caveat.measure.rates import rate_rows
from caveat.measure.rows import Absent
from caveat.measure.tokens import token_counts
from caveat.measure.windows import window_of
from tests.measure.samples import samples


def rates(table):
    columns = columns_of(table)
    window = window_of(columns)
    return {one.metric: one for one in rate_rows(columns, window, token_counts(columns, window), 0.95)}


def values(table):
    return {key: one.value for key, one in rates(table).items() if not isinstance(one, Absent)}


def test_ten_requests_by_hand():
    """Due at 0 to 9 s, each takes 1 s, one of them fails: 9 successes of 10 tokens over 10 s."""
    errors = [None] * 9 + ["500"]
    found = values(samples(np.arange(10), 1.0, error_class=errors))
    assert found["caveat-request-rate"] == pytest.approx(0.9)
    assert found["caveat-offered-rate"] == pytest.approx(1.0)
    assert found["caveat-error-rate"] == pytest.approx(0.1)
    assert found["caveat-output-tokens-rate-usage"] == pytest.approx(9)
    assert found["caveat-input-tokens-rate-usage"] == pytest.approx(90)
    assert found["caveat-total-tokens-rate-usage"] == pytest.approx(99)
    assert found["caveat-concurrency.mean"] == pytest.approx(1)
    assert found["caveat-concurrency.max"] == 1


def test_the_steady_window_has_no_ramp_down():
    """10 requests a second for 60 s, each of 20 s and 100 tokens: over everything 750 tokens/s, while steady 833.

    In the steady window nothing ends in the first 20 s: 40 of 60 seconds of full flow, and the ramp of streaming.
    """
    found = values(samples(np.arange(600) * 0.1, 20.0, ttft_s=0.0, output=100))
    assert found["caveat-output-tokens-rate-usage"] == pytest.approx(60000 / 79.9, rel=1e-3)
    streamed = (40 * 1000 + 20 * 500) / 60
    assert found["caveat-output-tokens-rate-steady-usage"] == pytest.approx(streamed, rel=5e-3)
    assert found["caveat-request-rate-steady"] == pytest.approx(400 / 60, rel=5e-3)
    assert found["caveat-concurrency-steady.mean"] == pytest.approx((40 * 200 + 20 * 100) / 60, rel=5e-3)


def test_tokens_of_the_warm_up_that_stream_inside_the_window_count_there():
    """Requests due before the window keep the server busy in it: the steady rate sees their tokens, the other not."""
    phase = ["warmup"] * 200 + ["measured"] * 400
    found = values(samples(np.arange(600) * 0.1, 20.0, ttft_s=0.0, output=100, phase=phase))
    assert found["caveat-output-tokens-rate-steady-usage"] == pytest.approx(1000, rel=5e-3)
    assert found["caveat-output-tokens-rate-usage"] == pytest.approx(40000 / 59.9, rel=1e-3)


def test_an_answer_that_did_not_stream_counts_at_its_end():
    """No first token: its tokens come when it does."""
    found = values(
        samples(np.arange(400) * 0.1, 0.05, output=100, first_token_ns=[None] * 400, last_token_ns=[None] * 400)
    )
    assert found["caveat-output-tokens-rate-steady-usage"] == pytest.approx(1000, rel=1e-2)


def test_a_few_requests_without_a_count_make_a_floor_and_many_no_rate():
    """One in 200 is left out and said; one in ten is too many to call it the sum."""
    few = [None if place == 7 else 10 for place in range(200)]
    row = rates(samples(np.arange(200), 0.5, output_tokens_usage=few))["caveat-output-tokens-rate-usage"]
    assert row.value == pytest.approx(1990 / 199.5)
    assert row.notes == ("1 of 200 successes have no count and are left out: this is a floor",)
    many = [None if place % 10 == 0 else 10 for place in range(200)]
    gone = rates(samples(np.arange(200), 0.5, output_tokens_usage=many))["caveat-output-tokens-rate-usage"]
    assert gone.reason == "the server usage record counted no tokens for 20 of 200 successes"


def test_chunks_are_no_tokens_even_where_nothing_else_is_known():
    """64 chunks without usage: no token rate, and the reason says so."""
    found = rates(samples(np.arange(50), 0.5, output_tokens_usage=None, chunks=[64] * 50))
    assert "chunks are not tokens" in found["caveat-output-tokens-rate-usage"].reason
    assert "caveat-input-tokens-rate-usage" not in found


def test_two_sources_have_two_rates():
    """The server says 10, the tokenizer 12: both under their own ids."""
    found = values(samples(np.arange(50), 1.0, output_tokens_client=[12] * 50))
    assert found["caveat-output-tokens-rate-usage"] == pytest.approx(10)
    assert found["caveat-output-tokens-rate-client"] == pytest.approx(12)


def test_a_burst_has_no_steady_window_and_no_offered_rate():
    """Everything due at once: those are absent with a reason, the others are there."""
    found = rates(samples(np.zeros(500), np.linspace(1, 2, 500)))
    assert found["caveat-request-rate"].value == pytest.approx(250)
    for key in ("caveat-offered-rate", "caveat-request-rate-steady", "caveat-concurrency-steady.mean"):
        assert isinstance(found[key], Absent)


def test_a_single_request_is_no_reason_to_divide_by_zero():
    """One request that took no time: no window has a length."""
    found = rates(samples([0.0], 0.0))
    assert isinstance(found["caveat-request-rate"], Absent)
    assert found["caveat-concurrency.max"].value in (0, 1)
