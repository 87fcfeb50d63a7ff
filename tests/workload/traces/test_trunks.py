"""Beginnings that many prompts share."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.workload.traces.trunks import NO_TRUNK, Trunk, depth_of, trunks_of


def columns(prompts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([len(prompt) for prompt in prompts]).astype(np.int64)
    return ends, np.array([block for prompt in prompts for block in prompt], np.int64)


def test_a_tree_of_system_prompts_is_found():
    """One beginning of all, two that part from it, and prompts of their own beyond."""
    prompts = [[0, 1, 2, 3, 100 + n] for n in range(30)] + [[0, 1, 4, 200 + n] for n in range(20)]
    prompts += [[300 + n, 400 + n] for n in range(50)]
    trunks, trunk = trunks_of(*columns(prompts), 10)
    assert trunks == (Trunk(NO_TRUNK, 2, 50), Trunk(0, 3, 20), Trunk(0, 4, 30))
    assert trunk.tolist() == [2] * 30 + [1] * 20 + [NO_TRUNK] * 50
    assert set(depth_of(trunks, trunk).tolist()) == {0, 3, 4}


def test_an_end_that_too_few_have_is_counted_to_a_shorter_one():
    """Three prompts that stop within a system prompt are no trunk of their own."""
    prompts = [[0, 1, 2, 3, 100 + n] for n in range(30)] + [[0, 1], [0, 1], [0, 1, 2]]
    trunks, trunk = trunks_of(*columns(prompts), 10)
    assert trunks == (Trunk(NO_TRUNK, 4, 30),)
    assert trunk.tolist() == [0] * 30 + [NO_TRUNK] * 3


@given(st.lists(st.lists(st.integers(0, 1), max_size=6), min_size=1, max_size=120))
@settings(max_examples=60, deadline=None)
def test_no_trunk_stands_for_too_few(paths: list[list[int]]):
    """Blocks are numbered by the whole beginning, as in a prefix tree."""
    names: dict[tuple[int, ...], int] = {}
    prompts = [
        [names.setdefault(tuple(path[: length + 1]), len(names)) for length in range(len(path))] for path in paths
    ]
    trunks, trunk = trunks_of(*columns(prompts), 10)
    places, counts = np.unique(trunk[trunk != NO_TRUNK], return_counts=True)
    assert all(one.requests >= 10 for one in trunks)
    assert all(count >= 10 for count in counts)
    for place in places:
        own = [tuple(prompts[p][: trunks[place].blocks]) for p in np.flatnonzero(trunk == place)]
        assert len(set(own)) == 1
