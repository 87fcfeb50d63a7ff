"""Turns in one order, numbered, each knowing the one before it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caveat.workload import NO_REQUEST
from caveat.workload.turns import Turns, in_order, last_of_each, no_turns, summed_within


def sessions_table(sessions: list[tuple[int, list[int]]], first_session: int, first_row: int) -> Turns:
    """Sessions of (start, think times): a row a turn."""
    rows: list[tuple[int, int, int, int, int]] = []
    for session, (start, thinks) in enumerate(sessions, first_session):
        at = start
        for turn, think in enumerate([0, *thinks]):
            at += think
            rows.append((at, first_row + len(rows), session, turn, think))
    at_ns, row, session_of, turn_of, think_ns = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    zeros = np.zeros(len(rows), np.int64)
    after = np.full(len(rows), NO_REQUEST)
    nothing = (zeros + 1, zeros + 1, zeros, zeros, zeros)
    return Turns(at_ns, row, session_of, turn_of, think_ns, *nothing, after)


sessions_of = st.lists(st.tuples(st.integers(0, 50), st.lists(st.integers(0, 30), max_size=4)), min_size=1, max_size=20)


@given(sessions_of, st.integers(1, 20))
def test_turns_come_in_order_of_time_and_after_points_back(sessions: list[tuple[int, list[int]]], at_once: int):
    """However sessions are batched: the same rows, in order, each after the turn before it."""
    sessions = sorted(sessions, key=lambda session: session[0])
    batches, first_row = [], 0
    for start in range(0, len(sessions), at_once):
        batches.append(sessions_table(sessions[start : start + at_once], start, first_row))
        first_row += len(batches[-1])
    together = no_turns()
    for part in in_order(batches):
        together = together.joined(part)
    once = no_turns().joined(next(in_order([sessions_table(sessions, 0, 0)])))
    assert [column.tolist() for column in together.columns()] == [column.tolist() for column in once.columns()]
    assert together.at_ns.tolist() == sorted(together.at_ns.tolist())
    keys = zip(together.session.tolist(), together.turn.tolist(), strict=True)
    number_of = {key: number for number, key in enumerate(keys)}
    assert len(number_of) == first_row
    for number, (session, turn) in enumerate(number_of):
        expected = NO_REQUEST if turn == 0 else number_of[session, turn - 1]
        assert together.after[number] == expected
        assert expected < number


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), min_size=1, max_size=8))
def test_sums_begin_again_in_each_group(groups: list[list[int]]):
    """As a loop over groups would add up."""
    values = np.array([value for group in groups for value in group], np.int64)
    counts = np.array([len(group) for group in groups], np.int64)
    expected = [total for group in groups for total in np.cumsum(group).tolist()]
    assert summed_within(values, counts).tolist() == expected


def test_the_last_row_of_each_session_is_known():
    """Where the next belongs to another session, and at the end."""
    assert last_of_each(np.array([3, 3, 4, 5, 5])).tolist() == [False, True, True, False, True]
