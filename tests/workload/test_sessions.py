"""Conversations: turns, thinking, growing prompts, shared blocks and closed loops, seen in whole plans."""

import math
from itertools import pairwise

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import (
    NO_REQUEST,
    Concurrency,
    Constant,
    ConstantGaps,
    Fixed,
    GammaGaps,
    Geometric,
    Limits,
    LognormalGaps,
    Poisson,
    Prefixes,
    Separate,
    Sessions,
    Think,
    Uniform,
    Workload,
)
from caveat.workload.prefixes import PromptChoice
from caveat.workload.sessions import MAX_TURNS, SessionDraws, by_users
from caveat.workload.streams import PREFIXES, Stream
from tests.workload.cases import SECOND, SHARED, SMALL, TALKS, Row, rows

FIXED = Separate(input=Fixed(20), output=Fixed(10))


def plan(**changes):
    values = {"arrivals": Poisson(5.0), "lengths": SMALL, "limits": Limits(duration_s=60.0), "sessions": TALKS}
    return Workload(**values | changes).plan()


def conversations(requests: list[Row]) -> list[list[tuple[int, Row]]]:
    """Requests by session, with their numbers."""
    found: dict[int, list[tuple[int, Row]]] = {}
    for number, row in enumerate(requests):
        found.setdefault(row[5], []).append((number, row))
    return list(found.values())


def test_one_small_conversation_is_all_there():
    """Two sessions of three turns, five seconds of thought, one start a second: every column."""
    whole = plan(
        arrivals=Constant(1.0),
        lengths=FIXED,
        limits=Limits(requests=5),
        sessions=Sessions(Fixed(3), think=Think(0.4, ConstantGaps())),
        prefixes=Prefixes(block_tokens=16),
    )
    assert rows(whole) == [
        (0, 20, 10, NO_REQUEST, 0, 0, 0, (0,)),
        (400_000_000, 50, 10, 0, 400_000_000, 0, 1, (0, 1, 2)),
        (800_000_000, 80, 10, 1, 400_000_000, 0, 2, (0, 1, 2)),
        (1_000_000_000, 20, 10, NO_REQUEST, 0, 1, 0, (3,)),
        (1_400_000_000, 50, 10, 3, 400_000_000, 1, 1, (3, 4, 5)),
    ]


@pytest.mark.parametrize("prefixes", [None, SHARED])
def test_turns_keep_their_order_and_after_points_back(prefixes: Prefixes | None):
    """Each turn waits for the one before it, which has a lower number; times are the earliest possible."""
    requests = rows(plan(prefixes=prefixes))
    assert [row[0] for row in requests] == sorted(row[0] for row in requests)
    for talk in conversations(requests):
        assert [row[6] for _, row in talk] == list(range(len(talk)))
        assert talk[0][1][3] == NO_REQUEST
        for (before, earlier), (number, row) in pairwise(talk):
            assert row[3] == before < number
            assert row[0] == earlier[0] + row[4]


@pytest.mark.parametrize("prefixes", [None, SHARED])
def test_a_prompt_holds_the_conversation_before_it(prefixes: Prefixes | None):
    """Longer than the last prompt and answer together, by the new tokens; never past the longest context."""
    for talk in conversations(rows(plan(prefixes=prefixes))):
        for (_, earlier), (_, row) in pairwise(talk):
            assert 20 <= row[1] - earlier[1] - earlier[2] <= 200
            assert row[1] <= 4000


def test_turns_that_stand_alone_do_not_grow():
    """Only the new tokens."""
    requests = rows(plan(lengths=FIXED, sessions=Sessions(Geometric(3.0), grows=False)))
    assert {row[1] for row in requests} == {20}
    assert {row[7] for row in requests} == {()}


def test_equal_ids_are_equal_text():
    """Ids fix the blocks before them; a session's turns agree wherever both have ids; sessions share prompts only."""
    requests = rows(plan(prefixes=SHARED))
    before: dict[int, tuple[int, ...]] = {}
    for row in requests:
        assert len(row[7]) * SHARED.block_tokens <= row[1]
        for place, block in enumerate(row[7]):
            assert before.setdefault(block, row[7][:place]) == row[7][:place]
    owners: dict[int, set[int]] = {}
    for row in requests:
        for block in row[7]:
            owners.setdefault(block, set()).add(row[5])
    of_prompts = set(range(PromptChoice(SHARED, Stream(0).child(PREFIXES)).ids_used))
    assert {block for block, sessions in owners.items() if len(sessions) > 1} == of_prompts


def test_a_turn_lists_all_that_the_next_one_repeats():
    """The full blocks of a prompt that continues, and in the next turn those of prompt and answer."""
    for talk in conversations(rows(plan(limits=Limits(requests=2000)))):
        for (_, earlier), (_, row) in pairwise(talk):
            assert row[7][: len(earlier[7])] == earlier[7]
            assert len(earlier[7]) == earlier[1] // 16
            assert len(row[7]) >= (earlier[1] + earlier[2]) // 16


def test_a_conversation_ends_before_the_longest_context():
    """20 + 30 a turn: 20, 50, 80; a limit of 79 leaves two turns. A first turn is cut."""
    sessions = Sessions(Fixed(5), context_max=79)
    requests = rows(plan(lengths=FIXED, sessions=sessions))
    assert {row[6] for row in requests} == {0, 1}
    cut = rows(plan(lengths=FIXED, sessions=Sessions(Fixed(5), context_max=15), prefixes=Prefixes(prompts=1)))
    assert {row[1:3] for row in cut} == {(15, 10)}
    assert {row[7] for row in cut} == {()}


def test_think_times_and_turns_have_their_distributions():
    """Means of 20,000 think times of cv 1 and 20,000 geometric numbers of turns, within 5 standard errors."""
    draws = SessionDraws(Sessions(Geometric(4.0), think=Think(2.0, LognormalGaps(1.0))), Stream(0))
    assert draws.think_ns(20_000).mean() / SECOND == pytest.approx(2.0, abs=5 * 2.0 / math.sqrt(20_000))
    assert draws.turns(20_000).mean() == pytest.approx(4.0, abs=5 * math.sqrt(12 / 20_000))


def test_turns_are_bounded():
    """A length distribution may be far longer than any conversation."""
    draws = SessionDraws(Sessions(Uniform(1, 1 << 20)), Stream(0))
    assert draws.turns(100).max() == MAX_TURNS


def test_other_think_times_leave_lengths_as_they_were():
    """The same conversations, faster or slower."""

    def talks(think: Think) -> list[tuple[int, ...]]:
        requests = rows(plan(limits=Limits(requests=5000), sessions=Sessions(Geometric(3.0), think=think)))
        return sorted([row[5:7] + row[1:3] for row in requests if row[5] < 50])

    assert talks(Think(1.0)) == talks(Think(0.1, GammaGaps(2.0)))


def test_a_closed_loop_gives_the_next_session_to_whoever_is_free():
    """Two users: one has the long session, the other takes both short ones; both are then free in round 3."""
    users = [(0, 0), (0, 1)]
    assert by_users(np.array([3, 1, 2, 1]), users).tolist() == [0, 0, 1, 3]
    assert sorted(users) == [(3, 1), (4, 0)]


def test_a_closed_loop_keeps_no_times_and_never_has_more_sessions_than_users():
    """In the order of the plan at most eight conversations are under way, and `after` still points back."""
    whole = plan(arrivals=Concurrency(8), limits=Limits(requests=1000))
    requests = rows(whole)
    assert whole.concurrency == 8
    assert {row[0] for row in requests} == {0}
    last = {row[5]: number for number, row in enumerate(requests)}
    open_sessions: set[int] = set()
    for number, row in enumerate(requests):
        assert row[3] < number
        open_sessions.add(row[5])
        assert len(open_sessions) <= 8
        if last[row[5]] == number:
            open_sessions.remove(row[5])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Think(-1.0), "think.mean_s: found -1.0"),
        (lambda: Think(math.nan), "think.mean_s: found nan"),
        (lambda: Think(1e300), "think.mean_s: found 1e[+]300"),
        (lambda: Sessions(Fixed(3), context_max=0), "context_max: found 0"),
    ],
)
def test_sessions_that_are_none_are_refused(make, expected: str):
    """With the field."""
    with pytest.raises(InputError, match=expected):
        make()
