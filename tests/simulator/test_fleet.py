"""The fleet: routers, refusals, sessions and closed loops, timers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caveat.errors import InputError
from caveat.simulator.feed import Feed
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import FS_PER_S, NEVER_FS
from caveat.simulator.prefix import chained
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from caveat.workload import Queries
from tests.simulator.plans import MS, Columns, S, affine, poisson, serve

FLAT = affine(step_ms=10)


class Busy:
    """A replica of which a router sees only how busy it is."""

    def __init__(self, outstanding, held=0):
        self.outstanding = outstanding
        self.held = held

    def matched_tokens(self, chain, now_fs):
        return self.held


def choices(router, loads, requests=200, held=(), **options):
    replicas = [Busy(load, held[i] if held else 0) for i, load in enumerate(loads)]
    chosen = ROUTERS[router](replicas, Routing(router=router, **options))
    live = list(range(len(loads)))
    return [chosen.choose(Request(number, 0, 1, 1, [1]), live, 0) for number in range(requests)]


def test_round_robin_takes_turns():
    """Whatever the loads."""
    assert choices("round-robin", [9, 0, 0], 6) == [0, 1, 2, 0, 1, 2]


def even(counts):
    """Chi-square below its 99.9 % point."""
    mean = counts.mean()
    assert ((counts - mean) ** 2 / mean).sum() < stats.chi2.ppf(0.999, len(counts) - 1)


def test_random_is_even_and_repeatable():
    """100,000 choices among 5 replicas; the seed alone decides."""
    found = choices("random", [0] * 5, 100_000, seed=5)
    even(np.bincount(found, minlength=5))
    assert found[:4000] == choices("random", [5] * 5, 4000, seed=5) != choices("random", [0] * 5, 4000, seed=6)


def test_both_choices_of_power_of_two_are_even():
    """Of five replicas of which only one is free, it is among the two in two cases of five; else they are even."""
    found = np.bincount(choices("power-of-two", [9, 9, 0, 9, 9], 100_000), minlength=5)
    assert found[2] == pytest.approx(40_000, abs=5 * np.sqrt(100_000 * 0.4 * 0.6))
    even(found[[0, 1, 3, 4]])


def test_least_outstanding_takes_the_first_of_the_least_busy():
    """Total order: ties go to the lower number."""
    assert choices("least-outstanding", [3, 1, 2, 1], 2) == [1, 1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_power_of_two_never_takes_the_busiest_alone(loads):
    """With one clear worst replica nobody goes there; all others are taken at some time."""
    found = set(choices("power-of-two", loads))
    worst = [i for i, load in enumerate(loads) if load == max(loads)]
    if len(worst) == 1 and len(loads) > 1:
        assert worst[0] not in found
    assert min(range(len(loads)), key=loads.__getitem__) in found


def test_prefix_aware_follows_the_cache_until_it_is_too_busy():
    """The best match wins while it has at most `most_behind` more under way than the least busy."""
    assert choices("prefix-aware", [0, 4, 2], 1, held=[0, 32, 16], most_behind=4) == [1]
    assert choices("prefix-aware", [0, 5, 2], 1, held=[0, 32, 16], most_behind=4) == [2]
    assert choices("prefix-aware", [0, 5, 5], 1, held=[0, 32, 16], most_behind=4) == [0]
    assert choices("prefix-aware", [1, 0, 0], 1, most_behind=4) == [1]


def test_a_stale_picture_misses_what_was_computed_since():
    """The second of two equal prompts comes 1 s later: found by looks every 0.5 s, not by looks every 5 s."""
    prompts = [1] * 8, [2] * 8, [2] * 8
    plan = Columns([0, MS, S], [64] * 3, [1] * 3, prefixes=prompts, block_tokens=8)
    scheduler = Scheduler(prefix_cache=True, block_tokens=8)
    found = {}
    for stale_s in (0.0, 0.5, 5.0):
        routing = Routing(router="prefix-aware", stale_s=stale_s)
        served = serve(SimulatedServer(FLAT, scheduler, replicas=2, routing=routing), plan)
        found[stale_s] = served.ints("cached_tokens_usage").tolist()
    assert found == {0.0: [0, 0, 56], 0.5: [0, 0, 56], 5.0: [0, 0, 0]}


def test_of_equal_matches_the_less_busy_is_taken():
    """Wherever it stands in the row; and a longer match goes before less work, within the limit."""
    assert choices("prefix-aware", [3, 1, 2], 1, held=[5, 5, 5]) == [1]
    assert choices("prefix-aware", [1, 3, 1], 1, held=[5, 5, 5]) == [0]
    assert choices("prefix-aware", [1, 3, 0], 1, held=[5, 6, 5]) == [1]
    assert choices("prefix-aware", [1, 3, 0], 1, held=[5, 6, 5], most_behind=2) == [2]


def test_a_picture_forgets_what_was_given_up_at_the_next_look():
    """Seen at the second look, given up, still in the picture, and gone at the third."""
    replicas = [Replica(Scheduler(prefix_cache=True, block_tokens=8), FLAT, plan_block_tokens=8) for _ in range(2)]
    router = ROUTERS["prefix-aware"](replicas, Routing(router="prefix-aware", stale_s=1.0))
    cache, chain = replicas[1].kv.cache, chained([1, 2])
    request = Request(0, 0, 17, 1, chain)
    seen: list[int] = []

    def look():
        router.look(len(seen) * FS_PER_S)
        seen.append(router.choose(request, [0, 1], len(seen) * FS_PER_S))

    look()
    assert all(cache.add(key) for key in chain)
    look()
    cache.release(list(chain), 0)
    cache.evict(2)
    seen.append(router.choose(request, [0, 1], FS_PER_S))
    look()
    assert seen == [0, 1, 1, 0]


def test_a_look_sees_the_step_that_begins_at_its_instant():
    """One decodes amid a long run; its step at 350 ms, the instant of the look, needs the last block of a beginning
    that was cached there. Whoever asks for that beginning 5 ms later goes to the free replica, as step by step."""
    plan = Columns([0, 100 * MS, 355 * MS], [17, 8, 17], [1, 30, 1], prefixes=[[1, 2], [], [1, 2]], block_tokens=8)
    scheduler = Scheduler(prefix_cache=True, block_tokens=8, kv_blocks=5)
    routing = Routing(router="prefix-aware", stale_s=0.35)
    for stepping in (True, False):
        server = SimulatedServer(FLAT, scheduler, replicas=2, routing=routing, stepping=stepping)
        assert serve(server, plan).s("first_token_ns").tolist() == [0.01, 0.11, 0.365]


def test_who_is_routed_at_the_instant_of_a_look_sees_the_picture_before_it():
    """The same with a look each 175 ms, and the request at 350: it follows the picture of 175 ms, finds the block gone
    and waits for room until the other has ended, at 400."""
    plan = Columns([0, 100 * MS, 350 * MS], [17, 8, 17], [1, 30, 1], prefixes=[[1, 2], [], [1, 2]], block_tokens=8)
    scheduler = Scheduler(prefix_cache=True, block_tokens=8, kv_blocks=5)
    routing = Routing(router="prefix-aware", stale_s=0.175)
    for stepping in (True, False):
        server = SimulatedServer(FLAT, scheduler, replicas=2, routing=routing, stepping=stepping)
        assert serve(server, plan).s("first_token_ns").tolist() == [0.01, 0.11, 0.41]


def test_prefix_aware_finds_more_than_round_robin():
    """Eight replicas, 20 system prompts: a picture of the caches is worth something."""
    rng = np.random.default_rng(1)
    ids = [[int(p) * 100 + i for i in range(16)] for p in rng.integers(0, 20, 2000)]
    plan = Columns(poisson(rng, 100, 2000), np.full(2000, 300), np.full(2000, 20), prefixes=ids, block_tokens=16)
    scheduler = Scheduler(prefix_cache=True, kv_blocks=400, block_tokens=16)
    share = {}
    for router in ("round-robin", "prefix-aware"):
        routing = Routing(router=router, stale_s=0.5)
        served = serve(SimulatedServer(affine(8, 0.05, 0.05), scheduler, replicas=8, routing=routing), plan)
        share[router] = served.internals.hit_share
    assert share["prefix-aware"] > share["round-robin"] + 0.1 > 0.1


def test_more_than_the_limit_are_refused_and_are_samples():
    """Three at once with a limit of two: one failure, at the moment it came, and nothing else of it."""
    served = serve(SimulatedServer(FLAT, limit=2), Columns([0, 0, 0, S], [1] * 4, [2] * 4))
    assert served.table["error_class"].to_pylist() == [None, None, "http-429", None]
    row = served.table.slice(2, 1).to_pylist()[0]
    assert (row["end_ns"], row["first_token_ns"], row["output_tokens_usage"], row["finish_reason"]) == (
        0,
        None,
        None,
        None,
    )
    assert "as many requests under way as it takes" in row["error_text"]
    assert served.internals.refused == 1


def test_a_session_goes_on_when_its_user_has_thought():
    """Each turn is due its think time after the end of the one before, and not before its own time."""
    plan = Columns([0, 0, 500 * MS], [1] * 3, [5] * 3, after=[-1, 0, 1], think_ns=[0, 30 * MS, 10 * MS])
    served = serve(SimulatedServer(FLAT), plan)
    assert served.ints("ready_ns").tolist() == [0, 80 * MS, 500 * MS]
    assert served.ints("scheduled_ns").tolist() == [0, 0, 500 * MS]


def test_who_waits_for_a_refused_request_still_comes():
    """A failure ends a request too."""
    plan = Columns([0, 0, 0], [1] * 3, [5] * 3, after=[-1, -1, 1], think_ns=[0, 0, 70 * MS])
    served = serve(SimulatedServer(FLAT, limit=1), plan)
    assert served.table["error_class"].to_pylist() == [None, "http-429", None]
    assert served.ints("ready_ns")[2] == 70 * MS


def test_a_closed_loop_keeps_so_many_under_way():
    """Two places, answers of 50 ms: the third request comes when the first ends; nothing is scheduled."""
    served = serve(SimulatedServer(FLAT), Columns([9 * S] * 4, [1] * 4, [5, 9, 5, 5], concurrency=2))
    assert served.ints("ready_ns").tolist() == [0, 0, 50 * MS, 90 * MS]
    assert served.table["scheduled_ns"].null_count == 4
    assert served.internals.most_outstanding == 2


def test_in_a_closed_loop_somebody_goes_on_before_somebody_new_comes():
    """A place that is free while its user thinks is taken by the next; when all have begun it waits for the user."""
    plan = Columns([0] * 3, [1] * 3, [5] * 3, after=[-1, 0, -1], think_ns=[0, 20 * MS, 0], concurrency=1)
    served = serve(SimulatedServer(FLAT), plan)
    assert served.ints("ready_ns").tolist() == [0, 100 * MS, 50 * MS]
    plan = Columns([0] * 2, [1] * 2, [5] * 2, after=[-1, 0], think_ns=[0, 20 * MS], concurrency=1)
    assert serve(SimulatedServer(FLAT), plan).ints("ready_ns").tolist() == [0, 70 * MS]


def test_whole_queries_begin_when_the_slowest_of_the_last_has_ended():
    """Two samples a query; it ends by itself when six were made and the last began 150 ms after the first."""
    queries = Queries(samples=2, least=6, duration_ns=150 * MS, step=2)
    plan = Columns([0] * 20, [1] * 20, [5, 9] * 10, concurrency=2, queries=queries)
    served = serve(SimulatedServer(FLAT), plan)
    assert served.ints("ready_ns").tolist() == [0, 0, 90 * MS, 90 * MS, 180 * MS, 180 * MS]
    longer = Queries(samples=2, least=2, duration_ns=500 * MS, step=4)
    plan = Columns([0] * 20, [1] * 20, [5, 9] * 10, concurrency=2, queries=longer)
    assert serve(SimulatedServer(FLAT), plan).table.num_rows == 16


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"input_tokens": [0]}, "request 0: input_tokens: found 0, expected a number from 1"),
        ({"output_tokens": [1 << 50]}, "request 0: output_tokens: found"),
        ({"at_ns": [-1]}, "request 0: at_ns: found -1, expected a number from 0"),
        ({"after": [-1], "think_ns": [-1]}, "request 0: think_ns: found -1"),
        ({"concurrency": 0}, "concurrency: found 0, expected a number from 1"),
        ({"after": [0], "think_ns": [0]}, "request 0: found that it waits for 0, expected one before it"),
        ({"after": [5], "think_ns": [0]}, "request 0: found that it waits for 5, expected one before it"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(columns, message):
    """With the number of the request."""
    plan = Columns(**({"at_ns": [0], "input_tokens": [1], "output_tokens": [1]} | columns))
    with pytest.raises(InputError, match=message):
        serve(SimulatedServer(FLAT), plan)


def test_replicas_can_fail_and_join_from_timers():
    """A replica fails at 25 ms: its requests begin again on the other, and it takes new ones from 1 s on."""
    ended, lost = [], []
    replicas = [Replica(Scheduler(), FLAT) for _ in range(2)]
    feed = Feed(Columns([0, 0, S, S], [1] * 4, [5] * 4))
    fleet = Fleet(
        replicas,
        ROUTERS["round-robin"](replicas, Routing()),
        feed,
        lambda request, end_fs, error: ended.append((request.number, request.place, end_fs * 1000 // FS_PER_S, error)),
    )

    fleet.at(FS_PER_S * 25 // 1000, lambda now_fs: lost.append(fleet.fail(1, now_fs)))
    fleet.at(FS_PER_S - 1, lambda now_fs: fleet.live.append(1))
    for _ in fleet.run():
        pass
    assert ended == [(0, 0, 50, ""), (1, 0, 80, ""), (3, 0, 1050, ""), (2, 1, 1050, "")]
    assert (lost, fleet.outstanding, replicas[1].next_fs) == ([1], 0, NEVER_FS)
