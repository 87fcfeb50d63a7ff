"""growth: an overload fails, whatever makes it; what fills, drains or varies does not."""

from collections import Counter

import numpy as np
import pytest

from caveat.figures import concerning
from caveat.measure import Slo, WarmUp, columns_of, scenario_with, summarize
from caveat.measure.growth import growth_checks
from caveat.measure.windows import window_of
from tests.measure.samples import mm1, samples


def kept_up(table, **said):
    """The check of a run."""
    found = summarize(table, **{"workload": {}, **said}).validity
    (check,) = [one for one in found if one.aspect == "steady state" and "Warm-up" not in one.sentence]
    return check


def served(due_s, work_s, places):
    """Samples of requests that wait in one line for the first of so many places to be free."""
    free, end = [0.0] * places, []
    for due, work in zip(due_s, np.broadcast_to(work_s, len(due_s)), strict=True):
        place = int(np.argmin(free))
        free[place] = max(free[place], due) + work
        end.append(free[place])
    return samples(due_s, np.array(end) - due_s)


def shared(due_s, work_s):
    """Samples of requests among which one server divides its time evenly, however many they are."""
    left: dict[int, float] = {}
    end, now, coming = np.zeros(len(due_s)), 0.0, 0
    while coming < len(due_s) or left:
        next_end = now + min(left.values()) * len(left) if left else np.inf
        next_due = due_s[coming] if coming < len(due_s) else np.inf
        until = min(next_end, next_due)
        left = {one: rest - (until - now) / len(left) for one, rest in left.items()}
        now = until
        if next_due <= next_end:
            left[coming] = work_s[coming]
            coming += 1
        else:
            done = min(left, key=left.__getitem__)
            end[done] = now
            del left[done]
    return samples(due_s, np.maximum(end - due_s, 1e-6))


def poisson(rate, n, seed=1):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, n))


@pytest.mark.parametrize(("load", "outcome", "at_least"), [(0.85, "pass", 98), (1.2, "fail", 98)])
def test_a_queue_is_told_from_one_that_only_grows(load, outcome, at_least):
    """2,000 arrivals at one server, a hundred seeds."""
    counts: Counter[str] = Counter()
    for seed in range(100):
        columns = columns_of(mm1(2000, load=load, mean_s=0.01, rng=np.random.default_rng(seed)))
        counts.update(check.outcome for check in growth_checks(columns, window_of(columns), ()))
    assert counts[outcome] >= at_least, counts


def test_an_overload_of_twice_what_four_places_carry_fails_and_says_so():
    """40 requests a second for 8 s where 19 are served: half of what was due piles up."""
    check = kept_up(served(poisson(40, 320), 0.21, places=4))
    assert check.outcome == "fail"
    assert "of what was due piled up, 2% may; the queue grew all the while" in check.sentence
    assert check.concerns("caveat-ttft.p50")
    assert check.concerns("caveat-request-rate")
    assert not check.concerns("caveat-offered-rate")
    assert not check.concerns("caveat-error-rate")


def test_an_overload_is_one_however_the_server_shares_its_time():
    """One that takes everybody in gets slower for all: no line, and the same growth."""
    due, work = poisson(10, 400), np.random.default_rng(2).exponential(1, 400)
    assert kept_up(shared(due, 0.15 * work)).outcome == "fail"
    assert kept_up(shared(due, 0.06 * work)).outcome == "pass"


@pytest.mark.parametrize("places", [1, 2, 8])
def test_a_warm_up_that_is_left_out_hides_no_overload(places):
    """What had piled up in it makes the first measured requests slow already."""
    table = served(poisson(40, 1200), places / 30, places=places)
    assert kept_up(table, warmup=WarmUp(first_s=8)).outcome == "fail"


def test_a_time_per_token_that_did_not_grow_stands():
    """Answers behind a full server's door keep their pace; where it falls, it falls with the others."""
    due = poisson(40, 320)
    table = served(due, 0.21, places=4)
    late = table.column("end_ns").to_numpy() - table.column("ready_ns").to_numpy()
    waited = samples(due, late / 1e9, ttft_s=late / 1e9 - 0.15)
    assert not concerning([kept_up(waited)], "caveat-tpot-usage.p50")
    assert concerning([kept_up(table)], "caveat-tpot-usage.p50")


BURST = np.sort(np.concatenate((np.arange(0, 120, 0.5), np.linspace(50, 52, 100))))
LATE_BURST = np.sort(np.concatenate((np.arange(0, 120, 0.5), np.linspace(100, 119, 150))))
RISING = np.cumsum(1 / np.linspace(1, 20, 600))


@pytest.mark.parametrize(
    "table",
    [
        served(BURST, 0.2, places=1),
        served(LATE_BURST, 0.2, places=1),
        served(RISING, 0.3, places=8),
        samples(np.arange(400) * 0.1, 0.5),
        samples(np.arange(400) * 0.1, 0.5 + 3 * (1 - np.exp(-np.arange(400) / 40))),
        samples(np.arange(400) * 0.1, np.linspace(0.2, 0.5, 400)),
    ],
    ids=["burst that drains", "burst at the end", "rising rate", "constant", "filling", "slowly slower"],
)
def test_what_is_no_overload_does_not_fail(table):
    """Traces with bursts, a ramp that the server carries, a server that fills, answers that get longer."""
    assert kept_up(table).outcome != "fail"


def test_a_burst_that_drains_and_a_load_that_is_carried_pass():
    """Neither is left open."""
    assert kept_up(served(BURST, 0.2, places=1)).outcome == "pass"
    assert kept_up(served(RISING, 0.3, places=8)).outcome == "pass"


def test_a_rate_that_rises_beyond_what_is_carried_is_left_open():
    """Where the queue grows with the rate, the run is of no one load: neither kept up nor failed."""
    check = kept_up(served(np.cumsum(1 / np.linspace(12, 30, 800)), 0.8, places=8))
    assert check.outcome == "unknown"
    assert "times as fast in the last quarter as in the first" in check.sentence


def test_a_run_of_a_few_turnovers_may_still_be_filling_the_server():
    """Each request takes 10 s from the start and 20 s at the end of a minute: that is open, not failed."""
    due = np.arange(0, 60, 0.5)
    check = kept_up(samples(due, 10 + due / 6))
    assert check.outcome == "unknown"
    assert "too short to say more" in check.sentence


def test_nineteen_requests_say_nothing():
    """Too few for quarters of five."""
    check = kept_up(samples(np.arange(19), 0.1))
    assert (check.outcome, check.sentence) == (
        "unknown",
        "Whether the queue grew cannot be said: 19 requests ended well, expected 20 and a length.",
    )


def test_a_closed_loop_and_a_burst_have_nothing_to_keep_up_with():
    """The first asks for no more than is served, the second for all at once."""
    closed = kept_up(samples(np.arange(100), 1, scheduled_ns=None))
    assert (closed.outcome, closed.sentence.split(" has")[0]) == ("not applicable", "A closed loop")
    assert kept_up(samples(np.zeros(100), np.arange(1, 101))).sentence.startswith("A burst has")


def test_the_rules_of_a_scenario_do_not_ask():
    """A run that keeps its limits is valid by them however its queue grows; that it grew is said all the same."""
    scenario = scenario_with("server", ttft_s=100.0, min_duration_s=1.0)
    check = kept_up(served(poisson(40, 320), 0.21, places=4), scenario=scenario)
    assert check.outcome == "unknown"
    assert check.sentence.endswith("the rules of the scenario do not ask for it.")


def test_a_run_in_which_everything_failed_has_no_queue_to_speak_of():
    """Unknown, and no error."""
    assert kept_up(samples(np.arange(100), 1, error_class=["500"] * 100)).outcome == "unknown"


def test_limits_do_not_change_what_the_queue_did():
    """The check looks at times alone."""
    table = served(poisson(40, 320), 0.21, places=4)
    assert kept_up(table) == kept_up(table, slo=Slo(ttft_s=0.1))
