"""difference: equal runs are rarely called different, unequal ones nearly always."""

import numpy as np
import pytest

from caveat.errors import UsageError
from caveat.measure import WarmUp, difference
from tests.measure.samples import ar1, interval, mm1, samples

PAIRS = 40
MOST_FALSE = 6  # of 40 at 95 %; more than that have a chance of 3 in 1,000 where the interval is right
FEWEST_FOUND = 36


def found(make, metric, slowdown=1.0, n=4000):
    """How many of 40 pairs are called different; b is slower by `slowdown`."""
    told = answered = 0
    for seed in range(PAIRS):
        a, b = (make(n, np.random.default_rng([seed, side]), factor) for side, factor in ((0, 1.0), (1, slowdown)))
        answer = difference(a, b, metric, seed=seed)
        if answer.different is not None:
            low, ratio, high = interval(answer)
            assert low <= ratio <= high
            answered += 1
            told += answer.different
    assert answered >= FEWEST_FOUND  # a test that always says "cannot tell" would pass, and be of no use
    return told


def alike(n, rng, factor):
    """Neighbours keep 0.8 of each other; a spread of 30 %."""
    return ar1(n, memory=0.8, mean_s=0.1 * factor, spread=0.3, rng=rng)


def queue(n, rng, factor):
    """A queue at 60 %."""
    return mm1(n, load=0.6 * factor, mean_s=0.01 * factor, rng=rng)


@pytest.mark.parametrize(
    ("make", "metric", "n"),
    [
        (alike, "caveat-latency.mean", 4000),
        (alike, "caveat-ttft.p90", 4000),
        (alike, "caveat-tpot-usage.mean", 4000),
        (queue, "caveat-latency.mean", 10000),
        (queue, "caveat-latency.p50", 10000),
        (queue, "caveat-latency.p99", 30000),
        (queue, "caveat-request-rate-steady", 10000),
        (queue, "caveat-output-tokens-rate-steady-usage", 10000),
        (queue, "caveat-tpot-weighted-usage.mean", 10000),
    ],
)
def test_of_40_pairs_of_equal_runs_at_most_6_are_called_different(make, metric, n):
    """At 95 %, though neighbours wait for each other."""
    assert found(make, metric, n=n) <= MOST_FALSE


@pytest.mark.parametrize("metric", ["caveat-latency.mean", "caveat-ttft.p50", "caveat-tpot-usage.mean"])
def test_a_slowdown_of_5_percent_is_found_in_36_of_40(metric):
    """The same series with 20,000 requests a run."""
    assert found(alike, metric, slowdown=1.05, n=20000) >= FEWEST_FOUND


def test_a_server_that_is_5_percent_slower_is_found_by_its_queue():
    """At 60 % load a server 5 % slower makes requests take 8 % longer, and is found though waits are alike."""

    def slower(n, rng, factor):
        return mm1(n, load=0.6 * factor, mean_s=0.01 * factor, rng=rng)

    assert found(slower, "caveat-latency.mean", slowdown=1.05, n=60000) >= FEWEST_FOUND


def test_the_ratio_is_that_of_b_over_a():
    """Twice the latency is a ratio of two, with an interval around it and the method in words."""
    rng = np.random.default_rng(0)
    latency = rng.gamma(20, 0.005, 2000)
    a, b = samples(np.arange(2000), latency), samples(np.arange(2000), 2 * rng.permutation(latency))
    answer = difference(a, b, "caveat-latency.mean")
    low, ratio, high = interval(answer)
    assert ratio == pytest.approx(2)
    assert 1.9 < low < 2 < high < 2.1
    assert answer.different is True
    assert answer.method.startswith("95 % of the ratio, moving-block bootstrap of both runs")
    assert answer == difference(a, b, "caveat-latency.mean")


def test_swapping_the_runs_turns_a_percentile_ratio_round():
    """Order statistics are not random: the interval of a over b is one over that of b over a."""
    rng = np.random.default_rng(1)
    a, b = (samples(np.arange(1000), rng.gamma(20, 0.005, 1000)) for _ in range(2))
    low, ratio, high = interval(difference(a, b, "caveat-latency.p90"))
    back = interval(difference(b, a, "caveat-latency.p90"))
    assert back == pytest.approx((1 / high, 1 / ratio, 1 / low))


def test_the_warm_up_of_both_runs_is_left_out():
    """A slow start of one run is no difference when both leave out their first 500 requests."""
    rng = np.random.default_rng(2)
    cold, warm = (rng.gamma(20, 0.005, 3000) for _ in range(2))
    cold[:500] *= 10
    a, b = samples(np.arange(3000), cold), samples(np.arange(3000), warm)
    cold_ratio = difference(a, b, "caveat-latency.mean").ratio
    assert cold_ratio is not None
    assert cold_ratio < 0.5
    assert difference(a, b, "caveat-latency.mean", warmup=WarmUp(first_requests=500)).different is False


@pytest.mark.parametrize(
    ("n", "metric", "reason"),
    [
        (30, "caveat-latency.mean", "as much as 25 and 25 independent requests"),
        (30, "caveat-latency.p99", "expected 368"),
        (300, "caveat-tpot-client.mean", "no request with the times or counts"),
        (100, "caveat-request-rate-steady", "no request with the times or counts"),
        (300, "caveat-send-lateness.mean", "zero"),
        (300, "caveat-send-lateness.p50", "zero"),
    ],
)
def test_where_the_samples_cannot_answer_there_is_no_answer(n, metric, reason):
    """Neither different nor equal, and the reason is said."""
    rng = np.random.default_rng(3)
    a, b = (samples(np.arange(n), rng.gamma(20, 0.005, n)) for _ in range(2))
    answer = difference(a, b, metric)
    assert (answer.different, answer.low, answer.high) == (None, None, None)
    assert reason in answer.reason


@pytest.mark.parametrize(
    "metric", ["ttft", "caveat-latency.max", "caveat-request-rate", "caveat-error-rate", "loadgen-ttft.p99"]
)
def test_a_metric_without_such_a_ratio_is_refused(metric):
    """An extreme, a rate over ramps, a share, somebody else's definition: the message says what may be asked."""
    table = samples(np.arange(50), 0.1)
    with pytest.raises(UsageError, match="expected"):
        difference(table, table, metric)
