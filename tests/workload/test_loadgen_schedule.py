"""LoadGen's arrivals: known runs, the loop of LoadGen written out, and what must hold for any settings."""

import math
from collections.abc import Iterator
from itertools import islice, pairwise

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.workload import (
    Schedule,
    ScheduleSettings,
    exponentials,
    extents,
    loadgen_schedule,
    padded_count,
    schedule_extent,
)
from caveat.workload.loadgen_schedule import BLOCK

SECOND = 10**9
V6_1_SEED = 16159082839903944936
V5_1_SEED = 18209322760996052031


def settings_with(**changes) -> ScheduleSettings:
    values = {"seed": V6_1_SEED, "target_qps": 200, "min_duration_ns": 3 * SECOND, "min_queries": 100}
    return ScheduleSettings(**values | changes)


def twister(seed: int) -> Iterator[int]:
    """std::mt19937 from its published definition, seeded as C++ seeds it with one integer."""
    state = [seed % 2**32]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) % 2**32)
    while True:
        for k in range(624):
            joined = (state[k] & 0x80000000) | (state[(k + 1) % 624] & 0x7FFFFFFF)
            state[k] = state[(k + 397) % 624] ^ (joined >> 1) ^ (0x9908B0DF if joined & 1 else 0)
        for word in state:
            word ^= word >> 11
            word ^= (word << 7) & 0x9D2C5680
            word ^= (word << 15) & 0xEFC60000
            yield word ^ (word >> 18)


def slow_exponentials(seed: int) -> Iterator[float]:
    draws = twister(seed)
    while True:
        low, high = next(draws), next(draws)
        yield -math.log(1 - (low + high * 2.0**32) / 2.0**64)


def slow_schedule(settings: ScheduleSettings) -> tuple[list[int], int]:
    """The loop of LoadGen's GenerateQueries for a Server run, one query at a time, and its last timestamp."""
    gaps = slow_exponentials(settings.seed)
    set_size = settings.equal_issue_samples
    least = settings.min_queries
    if set_size and least % set_size:
        least += set_size - least % set_size
    queries: list[int] = []
    timestamp = previous = 0
    while previous < settings.min_duration_ns or len(queries) < least:
        queries.append(timestamp)
        previous = timestamp
        timestamp += int(next(gaps) / settings.target_qps * 1e9)
        if set_size and len(queries) >= least and previous < settings.min_duration_ns:
            least += set_size
    return queries, timestamp


# A draw is a whole block, a few milliseconds; a busy machine may take longer than hypothesis allows.
unhurried = hypothesis.settings(deadline=None, max_examples=50)
seeds = st.integers(0, 2**64 - 1)
small_settings = st.builds(
    ScheduleSettings,
    seed=seeds,
    target_qps=st.floats(0.5, 300),
    min_duration_ns=st.integers(0, 4 * SECOND),
    min_queries=st.integers(0, 500),
    equal_issue_samples=st.integers(0, 300),
)


def test_a_run_of_loadgen_without_equal_issue_is_reproduced():
    """Vector A: LoadGen 6.0.17."""
    assert schedule_extent(settings_with()) == Schedule(601, 3000770763)


def test_a_run_of_loadgen_with_equal_issue_is_reproduced():
    """Vector B: the same, with sets of 64."""
    assert schedule_extent(settings_with(equal_issue_samples=64)) == Schedule(640, 3154871249)


def test_a_published_run_is_reproduced():
    """Vector C: v5.1, RedHat, llama3.1-8b Server."""
    settings = ScheduleSettings(
        seed=V5_1_SEED,
        target_qps=39.5,
        min_duration_ns=600 * SECOND,
        min_queries=100,
        equal_issue_samples=13368,
    )
    assert schedule_extent(settings) == Schedule(26736, 674472826893)


def test_the_first_gaps_of_a_seed_are_known():
    """Vector D."""
    schedule = loadgen_schedule(settings_with(target_qps=1, min_duration_ns=0, min_queries=8))
    assert schedule[0] == 0
    assert np.diff(schedule).tolist() == [
        1843654016,
        457923688,
        1285862316,
        712994723,
        386406625,
        2248341693,
        1091579918,
    ]


def test_the_twister_written_out_here_is_the_one_of_the_standard():
    """C++ [rand.predef]: the 10,000th value of a default-seeded mt19937."""
    assert next(islice(twister(5489), 9999, None)) == 4123659995


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, V5_1_SEED, V6_1_SEED])
def test_exponentials_equal_the_definition_in_every_bit(seed):
    """NumPy's own logarithm would differ in about ten of these values."""
    assert next(exponentials(seed))[:3000].tolist() == list(islice(slow_exponentials(seed), 3000))


def test_only_the_low_half_of_a_seed_counts():
    """LoadGen hands a 64-bit seed to a 32-bit twister."""
    assert np.array_equal(next(exponentials(V6_1_SEED)), next(exponentials(V6_1_SEED % 2**32)))


@unhurried
@given(small_settings)
def test_a_schedule_is_what_the_loop_of_loadgen_generates(settings):
    """Every time, the count, and the duration."""
    queries, duration_ns = slow_schedule(settings)
    assert loadgen_schedule(settings).tolist() == queries
    assert schedule_extent(settings) == Schedule(len(queries), duration_ns)


@unhurried
@given(small_settings, st.integers(0, 5 * SECOND))
def test_a_longer_run_begins_with_the_shorter_one(settings, more_ns):
    """Settings say when to stop, never where arrivals lie."""
    shorter = loadgen_schedule(settings)
    longer = loadgen_schedule(
        ScheduleSettings(
            seed=settings.seed,
            target_qps=settings.target_qps,
            min_duration_ns=settings.min_duration_ns + more_ns,
            min_queries=settings.min_queries,
            equal_issue_samples=settings.equal_issue_samples,
        )
    )
    assert np.array_equal(longer[: len(shorter)], shorter)


@unhurried
@given(small_settings)
def test_arrivals_begin_at_zero_never_go_back_and_meet_the_rules(settings):
    """Whole sets, enough queries, and the last one at or after the minimum duration."""
    schedule = loadgen_schedule(settings)
    assert (np.diff(schedule) >= 0).all()
    assert len(schedule) >= settings.min_queries
    assert padded_count(len(schedule), settings.equal_issue_samples) == len(schedule)
    if len(schedule):
        assert schedule[0] == 0
        assert schedule[-1] >= settings.min_duration_ns


@unhurried
@given(seeds, st.floats(1, 300), st.integers(2, 500))
def test_half_the_rate_doubles_every_gap(seed, target_qps, count):
    """To the nanosecond that the cut may leave."""
    fast, slow = (
        np.diff(loadgen_schedule(ScheduleSettings(seed=seed, target_qps=qps, min_duration_ns=0, min_queries=count)))
        for qps in (target_qps, target_qps / 2)
    )
    assert np.isin(slow - 2 * fast, (0, 1)).all()


@unhurried
@given(seeds, st.lists(small_settings, max_size=6))
def test_many_schedules_at_once_reach_as_far_as_each_alone(seed, several):
    """One pass over a seed changes nothing."""
    requests = [
        settings_with(
            seed=seed,
            target_qps=settings.target_qps,
            min_duration_ns=settings.min_duration_ns,
            min_queries=settings.min_queries,
            equal_issue_samples=settings.equal_issue_samples,
        )
        for settings in several
    ]
    together = extents(seed, requests)
    assert together == [schedule_extent(request) for request in requests]
    assert [extent.count for extent in together] == [len(loadgen_schedule(request)) for request in requests]


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1])
def test_the_seam_between_blocks_does_not_show(count):
    """The duration of n queries is when query n + 1 leaves."""
    schedule = loadgen_schedule(settings_with(min_duration_ns=0, min_queries=count + 1))
    assert len(schedule) == count + 1
    shorter = schedule_extent(settings_with(min_duration_ns=0, min_queries=count))
    assert shorter == Schedule(count, int(schedule[count]))
    by_time = schedule_extent(settings_with(min_duration_ns=int(schedule[count - 1]), min_queries=1))
    assert by_time == shorter


def test_schedules_of_one_rate_may_end_in_different_blocks():
    """The pass goes on until the last has ended."""
    counts = [0, 1, 3 * BLOCK, 5, BLOCK]
    requests = [settings_with(min_duration_ns=0, min_queries=count) for count in counts]
    found = extents(V6_1_SEED, requests)
    assert [extent.count for extent in found] == counts
    by_count = [extent.generated_duration_ns for extent in sorted(found, key=lambda extent: extent.count)]
    assert all(earlier < later for earlier, later in pairwise(by_count))


@unhurried
@given(small_settings, st.integers(1, 700))
def test_a_maximum_cuts_the_schedule_and_changes_nothing_else(settings, most):
    """LoadGen stops issuing; the arrivals before stay."""
    whole = loadgen_schedule(settings)
    cut_settings = settings_with(
        seed=settings.seed,
        target_qps=settings.target_qps,
        min_duration_ns=settings.min_duration_ns,
        min_queries=settings.min_queries,
        equal_issue_samples=settings.equal_issue_samples,
        max_queries=most,
    )
    cut = loadgen_schedule(cut_settings)
    assert np.array_equal(cut, whole[:most])
    assert schedule_extent(cut_settings).count == len(cut)


def test_a_maximum_ends_a_schedule_long_before_its_minimum_duration():
    """The duration is not waited for."""
    extent = schedule_extent(settings_with(min_duration_ns=1000 * SECOND, max_queries=7))
    assert extent == schedule_extent(settings_with(min_duration_ns=0, min_queries=7))


def test_the_gaps_vary_as_much_as_their_mean():
    """A Poisson process: mean gap 1/qps, coefficient of variation one."""
    gaps = np.diff(loadgen_schedule(settings_with(min_duration_ns=0, min_queries=200_000)))
    assert gaps.mean() == pytest.approx(SECOND / 200, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("count", "set_size", "padded"),
    [(0, 0, 0), (100, 0, 100), (0, 64, 0), (1, 64, 64), (64, 64, 64), (65, 64, 128), (100, 13368, 13368), (7, 1, 7)],
)
def test_a_count_is_padded_to_whole_sets(count, set_size, padded):
    """And left alone when equal issue is off."""
    assert padded_count(count, set_size) == padded


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_padding_gives_the_next_multiple(count, set_size):
    """Never a set too many."""
    padded = padded_count(count, set_size)
    assert padded % set_size == 0
    assert count <= padded < count + set_size


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1),
        ("seed", 2**70),
        ("seed", "1"),
        ("target_qps", 0),
        ("target_qps", -3.5),
        ("target_qps", math.nan),
        ("target_qps", math.inf),
        ("target_qps", 1e300),
        ("target_qps", 5e-324),
        pytest.param("target_qps", 10**5000, id="target_qps-huge"),
        ("target_qps", "39.5"),
        ("target_qps", True),
        ("min_duration_ns", -1),
        pytest.param("min_duration_ns", 10**5000, id="min_duration_ns-huge"),
        ("min_duration_ns", 1e9),
        ("min_queries", 10**15),
        ("min_queries", True),
        ("equal_issue_samples", 10**15),
        ("max_queries", -1),
    ],
)
def test_settings_that_have_no_schedule_are_refused_by_name(field, value):
    """Without a draw, and without printing a number of any length."""
    with pytest.raises(InputError, match=field) as refused:
        settings_with(**{field: value})
    assert len(refused.value.message) < 120


@pytest.mark.parametrize(
    "changes",
    [
        {"target_qps": 1e9, "min_duration_ns": 600 * SECOND},
        {"min_queries": 49_999_999, "equal_issue_samples": 49_999_999},
        {"target_qps": 1e-9, "min_duration_ns": 0, "min_queries": 1},
    ],
)
def test_settings_that_would_take_too_long_are_refused(changes):
    """Each value is fine, the schedule is not."""
    with pytest.raises(InputError, match=r"queries|for years"):
        settings_with(**changes)


def test_the_slowest_rate_stays_within_64_bits():
    """An arrival every 42 minutes, for a thousand queries and the rest of the block."""
    schedule = loadgen_schedule(settings_with(target_qps=4e-4, min_duration_ns=0, min_queries=1000))
    assert (np.diff(schedule) > 0).all()
    assert schedule[-1] == pytest.approx(999 / 4e-4 * SECOND, rel=0.15)


def test_schedules_of_another_seed_are_not_mixed_in():
    """One pass reads one seed."""
    with pytest.raises(UsageError, match=str(V6_1_SEED)):
        extents(V5_1_SEED, [settings_with()])
