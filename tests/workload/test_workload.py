"""The document and its plan: golden requests, digests, limits."""

import math

import msgspec
import pytest

from caveat.errors import InputError
from caveat.workload import (
    Arrivals,
    Burst,
    Client,
    Concurrency,
    Limits,
    Loadgen,
    Plan,
    Poisson,
    Superposition,
    Trace,
    Windows,
    Workload,
    plan_digest,
)
from tests.workload.cases import CHAT, SHARED, rows, workloads
from tests.workload.golden import FIRST_FIVE

ALL = workloads()


@pytest.mark.parametrize("name", ALL)
def test_the_first_five_requests_are_known(name: str):
    """Time, lengths, after, think, session, turn, blocks: what every machine and every later version must give."""
    assert rows(ALL[name].plan())[:5] == FIRST_FIVE[name]


def test_nothing_is_pinned_that_is_not_tested():
    """One entry a workload."""
    assert set(FIRST_FIVE) == set(ALL)


def test_a_digest_knows_a_plan_by_its_requests():
    """The block size is no part of it; the seed is."""
    base = ALL["sessions with prompts"]
    digest = plan_digest(base.plan())
    assert digest == plan_digest(base.plan(block_requests=7))
    assert digest != plan_digest(msgspec.structs.replace(base, seed=8).plan())
    assert len({plan_digest(workload.plan()) for workload in ALL.values()}) == len(ALL)


def test_a_workloads_plan_is_a_plan():
    """Concurrency and block size as the protocol has them."""
    plans: list[Plan] = [ALL[name].plan() for name in ("poisson", "concurrency", "prefixes", "sessions")]
    assert [(plan.concurrency, plan.block_tokens) for plan in plans] == [(None, 0), (8, 0), (None, 16), (None, 16)]


def test_reading_a_plan_twice_gives_the_same():
    """Nothing is used up."""
    plan = ALL["sessions"].plan()
    assert rows(plan) == rows(plan)


def test_a_description_may_be_changed_by_its_reader():
    """It is a copy."""
    plan = ALL["poisson"].plan()
    plan.describe()["arrivals"] = "changed"
    assert plan.describe()["arrivals"] == "poisson"


def make(arrivals: Arrivals, **limits) -> Workload:
    return Workload(arrivals=arrivals, lengths=CHAT, limits=Limits(**limits))


@pytest.mark.parametrize(
    ("arrivals", "limits", "expected"),
    [
        (Poisson(1.0), {}, "limits: found neither, expected duration_s, requests or both"),
        (Superposition((Client(Poisson(1.0)), Client(Trace((1,))))), {}, "limits: found neither"),
        (Burst(), {}, "expected a number of requests, since all at once has no other end"),
        (Concurrency(4), {"duration_s": 60.0}, "limits.requests: how long concurrency.4. takes depends on the target"),
        (Concurrency(4), {}, "limits.requests: found nothing"),
        (Poisson(1e6), {"duration_s": 1e6}, "about 1,000,000,000,000 requests, expected at most 50,000,000"),
        (Poisson(1e-6), {"requests": 1000}, "expected as many as arrive in three years"),
        (Poisson(1.0), {"duration_s": math.nan}, "limits.duration_s: found nan"),
        (Poisson(1.0), {"duration_s": math.inf}, "limits.duration_s: found inf"),
        (Poisson(1.0), {"duration_s": 1e300}, "limits.duration_s: found 1e[+]300"),
        (Poisson(1.0), {"requests": 0}, "limits.requests: found 0"),
        (Poisson(1.0), {"requests": 10**12}, "limits.requests: found 1000000000000"),
    ],
)
def test_a_plan_without_an_end_or_beyond_all_bounds_is_refused(arrivals: Arrivals, limits, expected: str):
    """Before anything is drawn."""
    with pytest.raises(InputError, match=expected) as refusal:
        make(arrivals, **limits)
    assert refusal.value.next


def test_a_seed_out_of_range_is_refused():
    """64 bits."""
    with pytest.raises(InputError, match="seed: found -1"):
        Workload(arrivals=Poisson(1.0), lengths=CHAT, limits=Limits(requests=1), seed=-1)


def test_arrivals_that_end_by_themselves_need_no_limit():
    """A trace, windows, LoadGen's schedule."""
    ending = [Trace((1, 2)), ALL["windows"].arrivals, Loadgen(seed=1, target_qps=200.0, min_duration_ns=10**9)]
    assert isinstance(ending[1], Windows)
    assert [len(rows(make(arrivals).plan())) > 1 for arrivals in ending] == [True, True, True]


def test_blocks_of_no_requests_are_refused():
    """One at least."""
    with pytest.raises(InputError, match="block_requests: found 0"):
        ALL["poisson"].plan(block_requests=0)


def test_system_prompts_make_a_plan_share_blocks():
    """Sessions that stand alone do not."""
    assert ALL["prefixes"].blocks_and_prompts() == SHARED
    assert not ALL["sessions that stand alone"].shares_blocks()
