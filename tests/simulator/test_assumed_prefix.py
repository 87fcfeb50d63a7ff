"""A share of every prompt that is taken to be in a cache: brought in as shared beginnings of the prompts."""

import numpy as np

from caveat.measure import Kept
from caveat.simulator import VirtualClock, changed, server_of, with_assumed_prefix
from caveat.workload import Fixed, Limits, Poisson, Prefixes, Separate, Uniform, Workload, plan_digest
from tests.simulator.models import small

LENGTHS = Separate(input=Uniform(low=64, high=400), output=Fixed(value=8))
OPEN = Workload(arrivals=Poisson(rate_qps=10), lengths=LENGTHS, limits=Limits(requests=300))


def test_the_share_is_found_in_the_cache_and_nothing_else_moves():
    """In whole blocks, of all but the first request; times and lengths are those of the plan."""
    server, kept = server_of(changed(small(), {"scheduler.prefix_cache": "true"})), {}
    for name, plan in (("cold", OPEN.plan()), ("warm", with_assumed_prefix(OPEN.plan(), 0.5, 16))):
        kept[name] = Kept()
        server.offer(plan, kept[name], VirtualClock())
    found = server.internals
    assert 0.42 < found.hit_share <= 0.5
    assert found.computed_tokens + found.cached_tokens == found.prompt_tokens
    names = ("request", "scheduled_ns", "input_tokens_usage", "output_tokens_usage")
    rows = [one.table().sort_by("request").select(names) for one in kept.values()]
    assert rows[0] == rows[1]


def test_an_assumption_of_nothing_is_the_plan_itself():
    """No share, or a workload that says itself what is shared."""
    plan = OPEN.plan()
    assert with_assumed_prefix(plan, 0.0, 16) is plan
    sharing = Workload(
        arrivals=OPEN.arrivals,
        lengths=LENGTHS,
        limits=OPEN.limits,
        prefixes=Prefixes(prompts=2, tokens=Fixed(value=64)),
    ).plan()
    assert with_assumed_prefix(sharing, 0.5, 16) is sharing


def test_blocks_are_the_first_of_one_chain():
    """Rounded down; the description of the workload stays what it was."""
    plan, assumed = OPEN.plan(), with_assumed_prefix(OPEN.plan(), 0.25, 16)
    for before, after in zip(plan.blocks(), assumed.blocks(), strict=True):
        counts = np.diff(after.prefix_ends, prepend=0)
        assert np.array_equal(before.at_ns, after.at_ns)
        assert np.array_equal(counts, before.input_tokens // 4 // 16)
        assert after.prefix_blocks.tolist() == [place for count in counts for place in range(count)]
    assert plan_digest(plan) != plan_digest(assumed)
    assert assumed.describe() == plan.describe()
