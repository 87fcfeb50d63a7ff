"""Plans as wholes: the same whatever the block size, longer ones begin as shorter ones, aspects do not touch."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.workload import NO_REQUEST, Constant, Fixed, Limits, Poisson, Separate, Uniform, Workload
from tests.workload.cases import ARRIVALS, CHAT, LENGTHS, SMALL, rows, workload, workloads

ALL = workloads()


def with_limits(base: Workload, **limits) -> Workload:
    return msgspec.structs.replace(base, limits=Limits(**limits))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=5, deadline=None)
@given(size=st.integers(1, 400))
def test_any_block_size_gives_the_same_plan(name: str, size: int):
    """All blocks but the last have that size."""
    plan = ALL[name].plan(block_requests=size)
    assert rows(plan) == rows(ALL[name].plan())
    sizes = [len(block) for block in plan.blocks()]
    assert set(sizes[:-1]) <= {size}
    assert 0 < sizes[-1] <= size


@pytest.mark.parametrize("name", ALL)
def test_a_longer_plan_begins_as_the_shorter_one(name: str):
    """By number of requests and, where times matter, by duration."""
    whole = rows(ALL[name].plan())
    for requests in (1, 2, 63, 64, 65, len(whole) - 1):
        assert rows(with_limits(ALL[name], requests=requests).plan()) == whole[:requests]
    if ALL[name].limits.duration_s is not None:
        for duration_s in (5.0, 17.3):
            shorter = [row for row in whole if row[0] < round(duration_s * 1e9)]
            assert rows(with_limits(ALL[name], duration_s=duration_s).plan()) == shorter


@pytest.mark.parametrize("name", ALL)
def test_after_always_points_back(name: str):
    """To a request of the plan, or to none."""
    for number, row in enumerate(rows(ALL[name].plan())):
        assert NO_REQUEST <= row[3] < number


@pytest.mark.parametrize("name", [name for name in ARRIVALS if name != "superposition"])
def test_lengths_do_not_depend_on_arrivals(name: str):
    """The k-th request has the lengths of the k-th request, however they arrive."""
    as_poisson = rows(workload(Poisson(20.0)).plan())
    here = rows(ALL[name].plan())
    least = min(len(as_poisson), len(here))
    assert [row[1:3] for row in here[:least]] == [row[1:3] for row in as_poisson[:least]]


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_arrivals_do_not_depend_on_lengths(lengths):
    """Changing the shape moves no request."""
    here = rows(workload(Poisson(20.0), lengths=lengths).plan())
    assert [row[0] for row in here] == [row[0] for row in rows(workload(Poisson(20.0)).plan())]


def test_seeds_differ():
    """Other times and other lengths."""
    one, other = (rows(msgspec.structs.replace(ALL["poisson"], seed=seed).plan()) for seed in (1, 2))
    assert {row[0] for row in one}.isdisjoint(row[0] for row in other)
    assert [row[1] for row in one] != [row[1] for row in other]


def test_whichever_limit_comes_first_ends_the_plan():
    """Ten a second for two seconds, or fifteen requests."""
    ten = workload(Constant(10.0))
    assert len(rows(with_limits(ten, duration_s=2.0, requests=15).plan())) == 15
    assert len(rows(with_limits(ten, duration_s=1.0, requests=15).plan())) == 10


def test_an_arrival_at_the_end_is_outside():
    """A plan of one second at two a second has arrivals at 0 and 0.5."""
    assert [row[0] for row in rows(with_limits(workload(Constant(2.0)), duration_s=1.0).plan())] == [0, 500_000_000]


def test_a_plan_may_be_empty():
    """Nothing came in a microsecond."""
    assert rows(with_limits(workload(Poisson(0.001)), duration_s=1e-6).plan()) == []


def test_a_trace_ends_by_itself():
    """No limit is needed."""
    plan = Workload(arrivals=ARRIVALS["trace"], lengths=CHAT).plan()
    assert len(rows(plan)) == 421


def test_many_requests_take_no_more_memory_than_a_block():
    """Two million requests come in 245 blocks of at most 8,192, drawn as they are read."""
    lengths = Separate(input=Fixed(5), output=Uniform(1, 9))
    plan = Workload(arrivals=Poisson(1000.0), lengths=lengths, limits=Limits(requests=2_000_000)).plan()
    sizes = [len(block) for block in plan.blocks()]
    assert (sum(sizes), max(sizes), len(sizes)) == (2_000_000, 8192, 245)


def test_columns_that_say_nothing_are_left_out():
    """No sessions and no prompts: three columns."""
    (block,) = with_limits(ALL["poisson"], requests=10).plan().blocks()
    empty = [name for name in ("after", "think_ns", "session", "turn", "prefix_ends") if len(getattr(block, name)) == 0]
    assert len(empty) == 5
    assert block.at_ns.dtype == np.int64


def test_sessions_are_cut_where_the_plan_ends():
    """A session that began late has the turns that still fit."""
    base = with_limits(ALL["sessions"], duration_s=10.0)
    requests = rows(base.plan())
    assert all(row[0] < 10_000_000_000 for row in requests)
    assert len({row[5] for row in requests if row[6] == 0}) == len({row[5] for row in requests})
    assert base.lengths == SMALL
