"""The search for the peak against queues whose peak is known, in virtual time; and its honest ways to fail."""

import json

import numpy as np
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.measure import PeakGoal, PeakProbe, find_peak_with, peak_json, peak_sentences, queries_needed, search_peak
from tests.measure.mdn import peak_load, probe_of

SERVERS, LIMIT = 4, 2.0


@pytest.fixture(scope="module")
def truth():
    return peak_load(SERVERS, LIMIT) * SERVERS


def start_of(seed, truth):
    """A first guess between a quarter and twice of the peak."""
    return truth * 2 ** np.random.default_rng(seed + 999).uniform(-2, 1)


def bisection_queries(start, truth, width, length):
    """What doubling and bisecting with runs of full length costs, if each of them decides rightly."""
    low, high, runs = 0.0, np.inf, 0
    at = start
    while not (low and high < np.inf and high - low <= width * (low + high) / 2):
        low, high, runs = (at, high, runs + 1) if at <= truth else (low, at, runs + 1)
        at = at * 2 if high == np.inf else at / 2 if not low else (low + high) / 2
    return runs * length


def steady(share_at, *, latency_s=0.01, limited_from=np.inf):
    """A server whose requests are over independently, with a share that is a function of the rate."""

    def probe(ask):
        rng = np.random.default_rng(ask.seed)
        span_s = rng.gamma(ask.queries, 1 / ask.rate_qps)
        over = rng.random(ask.queries) < share_at(ask.rate_qps)
        limited = ask.rate_qps >= limited_from
        return PeakProbe(over=over, span_s=span_s, latency_s=latency_s, client_limited=limited)

    return probe


def test_the_interval_is_narrow_and_has_the_truth_in_it_for_less_than_bisection(truth):
    """20 seeds on M/D/4: the bar is 18. A full-length run is 600 s of 10 ms services: 144,000 queries near the peak."""
    full_s = 600 / 0.01
    hits, queries, plain = 0, 0, 0
    for seed in range(20):
        start = start_of(seed, truth)
        peak = find_peak_with(PeakGoal(start_qps=start, seed=seed, confirm=False), probe_of(SERVERS, LIMIT))
        assert (peak.ending, peak.width <= 0.06) == ("narrow enough", True)
        hits += peak.low_qps <= truth <= peak.high_qps
        queries += peak.queries
        plain += bisection_queries(start, truth, 0.06, full_s * truth)
    assert hits >= 18
    assert queries < 0.4 * plain


@pytest.mark.full
@pytest.mark.parametrize(
    ("servers", "limit"), [(1, 3.0), (1, 5.0), (4, 2.0), (4, 5.0), (16, 2.0), (16, 5.0), (64, 2.0)]
)
def test_intervals_hold_as_often_as_they_say(servers, limit):
    """60 seeds each, from flat to cliff: nominal 90 %, so that 48 of 60 is four standard errors below."""
    truth = peak_load(servers, limit) * servers
    peaks = [
        find_peak_with(PeakGoal(start_qps=start_of(seed, truth), seed=seed, confirm=False), probe_of(servers, limit))
        for seed in range(60)
    ]
    assert sum(peak.low_qps <= truth <= peak.high_qps for peak in peaks) >= 48


def test_the_certified_rate_is_a_full_run_below_the_truth(truth):
    """Reported apart, with its run; its count passes early stopping and its length was fixed beforehand."""
    named = probe_of(SERVERS, LIMIT)
    goal = PeakGoal(start_qps=truth / 3, full_s=1.0)
    peak = find_peak_with(goal, lambda ask: named(ask))
    row = peak.certified
    assert row.rate_qps < peak.low_qps < truth
    assert row.queries == goal.full_length(row.rate_qps) == 24_576
    assert row.queries >= queries_needed(0.99, row.over)
    assert (row.purpose, row.number) == ("confirm", len(peak.probes))
    assert peak.confirm_queries == sum(probe.queries for probe in peak.probes if probe.purpose == "confirm")


def test_a_run_that_is_not_certified_sends_the_search_down(truth):
    """A confirmation with too many over is kept and told, and the next is slower."""
    inner = probe_of(SERVERS, LIMIT)
    failed: list[float] = []

    def probe(ask):
        if ask.purpose == "confirm" and not failed:
            failed.append(ask.rate_qps)
            return PeakProbe(over=np.arange(ask.queries) % 50 == 0, span_s=ask.seconds, latency_s=1.0, wait_s=1.0)
        return inner(ask)

    peak = find_peak_with(PeakGoal(start_qps=truth, full_s=1.0), probe)
    assert peak.certified.rate_qps < failed[0]
    assert any("not certified" in note for note in peak.notes)
    assert [row.certified for row in peak.probes if row.purpose == "confirm"] == [False, True]


def test_the_same_seed_asks_for_the_same_probes(truth):
    """Seed for seed; every probe has a seed of its own."""
    goal = PeakGoal(start_qps=truth / 2, width=0.2, confirm=False, seed=5)
    first, again = (find_peak_with(goal, probe_of(SERVERS, LIMIT)) for _ in range(2))
    assert first == again
    assert len({row.seed for row in first.probes}) == len(first.probes)


def test_a_search_may_be_closed_between_two_probes(truth):
    """Whoever drives it keeps the probes; the search itself leaves nothing behind."""
    search, probe = search_peak(PeakGoal(start_qps=truth)), probe_of(SERVERS, LIMIT)
    ask = search.send(probe(next(search)))
    assert (ask.number, ask.purpose) == (2, "bracket")
    search.close()
    with pytest.raises(StopIteration):
        next(search)


def test_the_outlook_has_an_interval_and_what_is_left_once_there_is_one(truth):
    """So that a plan and the remaining time can be shown."""
    outlooks = []
    goal = PeakGoal(start_qps=truth, confirm=False)
    find_peak_with(goal, probe_of(SERVERS, LIMIT), lambda ask, _: outlooks.append((ask.purpose, ask.outlook)))
    assert all(outlook.low_qps is None for purpose, outlook in outlooks if purpose == "bracket")
    last = outlooks[-1][1]
    assert last.low_qps < last.high_qps
    assert last.seconds == pytest.approx(last.queries / truth, rel=0.1)


def test_a_limit_that_single_requests_miss_is_refused():
    """A twentieth of all are over at any rate: slower and slower, until none waits for another."""
    with pytest.raises(CannotSayError, match="no rate meets the limit") as refused:
        find_peak_with(PeakGoal(start_qps=100.0), steady(lambda _: 0.05))
    assert "raise the limit" in refused.value.next


@pytest.mark.parametrize(
    ("ceiling", "limited", "ending"), [(None, 500.0, "client-limited"), (450.0, 1e9, "ceiling reached")]
)
def test_a_peak_beyond_the_client_is_at_least_what_was_seen(ceiling, limited, ending):
    """No estimate and no upper end; what is certified is certified all the same."""
    goal = PeakGoal(start_qps=20.0, ceiling_qps=ceiling, full_s=1.0)
    peak = find_peak_with(goal, steady(lambda _: 0.0005, limited_from=limited))
    assert (peak.ending, peak.rate_qps, peak.high_qps, peak.width) == (ending, None, None, None)
    assert 300 < peak.low_qps <= 500
    assert peak.certified.rate_qps < peak.low_qps
    assert "at least" in peak_sentences(peak)[0]


def test_a_client_that_is_the_limit_at_any_rate_is_refused():
    """After a few halvings: it says nothing of the server, and will not."""
    with pytest.raises(CannotSayError, match="client was the limit at 4 rates") as refused:
        find_peak_with(PeakGoal(start_qps=100.0), steady(lambda _: 0.0, limited_from=0.0))
    assert "free this machine" in refused.value.next


def test_a_ceiling_below_a_bad_start_is_found_from_above():
    """The first guess was beyond the client; the peak lies below it and is found."""
    share = lambda rate: min(1.0, 0.01 * (rate / 50) ** 8)  # noqa: E731
    peak = find_peak_with(PeakGoal(start_qps=400.0, confirm=False), steady(share, limited_from=300.0))
    assert peak.low_qps <= 50 <= peak.high_qps


def test_a_spent_budget_is_said_and_the_interval_stays_wide(truth):
    """Not a query more than was given, confirmation apart."""
    goal = PeakGoal(start_qps=truth / 2, most_queries=20_000, confirm=False)
    peak = find_peak_with(goal, probe_of(SERVERS, LIMIT))
    assert (peak.ending, peak.queries <= 20_000, peak.width > 0.06) == ("budget spent", True, True)
    with pytest.raises(CannotSayError, match="budget"):
        find_peak_with(PeakGoal(start_qps=truth / 2, most_queries=100), probe_of(SERVERS, LIMIT))


def test_a_system_that_changed_between_probes_is_told():
    """Slower is worse here: the first long probes meet another server than the later ones."""
    longs: list[int] = []

    def probe(ask):
        longs.extend([ask.number] if ask.purpose == "estimate" else [])
        changed = 60 if len(longs) < 3 else 100
        return steady(lambda rate: min(1.0, 0.01 * (rate / changed) ** 12))(ask)

    peak = find_peak_with(PeakGoal(start_qps=50.0, confirm=False, most_queries=150_000), probe)
    assert any("differ" in note or "changed between" in note for note in peak.notes)


def test_the_answer_is_whole_as_json(truth):
    """Every probe with its rate, count, verdict and cost; unverified; what was not found is null."""
    peak = find_peak_with(PeakGoal(start_qps=truth, width=0.3, full_s=1.0), probe_of(SERVERS, LIMIT))
    shown = json.loads(json.dumps(peak_json(peak), allow_nan=False))
    assert (shown["format"], shown["review"]) == ("caveat-peak/1", "unverified")
    assert len(shown["probes"]) == len(peak.probes)
    assert shown["certified"]["rate_qps"] == peak.certified.rate_qps
    assert shown["sentences"][0].startswith("The peak with at most 1 % of requests over the limit is")


@pytest.mark.parametrize("field", ["start_qps", "share", "confidence", "width", "most_s", "full_queries"])
def test_a_goal_names_its_bad_field(field):
    """Zero is none of them."""
    with pytest.raises(UsageError, match=field):
        PeakGoal(**{"start_qps": 1.0, field: 0.0})


def test_an_empty_probe_is_refused():
    """It would say nothing."""
    with pytest.raises(UsageError, match="no request"):
        PeakProbe(over=np.zeros(0, bool), span_s=1.0, latency_s=1.0)
