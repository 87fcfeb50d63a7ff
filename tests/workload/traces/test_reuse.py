"""What prompts share, against a cache that is written out in full."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caveat.workload import describe_trace
from caveat.workload.traces.reuse import leading, reuse_of
from tests.workload.traces.samples import SECOND, recording

PROMPTS = st.lists(st.lists(st.integers(0, 6), max_size=5), min_size=1, max_size=12)


def told(prompts: list[list[int]]) -> list[tuple[int, int]]:
    """Depth and source of each prompt, by looking at every earlier one."""
    found = []
    for place, prompt in enumerate(prompts):
        users = [[at for at in range(place) if block in prompts[at]] for block in prompt]
        depth = next((d for d, some in enumerate(users) if not some), len(users))
        found.append((depth, users[depth - 1][-1] if depth else -1))
    return found


@given(PROMPTS)
def test_reuse_is_what_a_cache_that_forgets_nothing_would_find(prompts: list[list[int]]):
    """Leading blocks that some earlier prompt has, and who had the deepest of them last."""
    unique = [list(dict.fromkeys(prompt)) for prompt in prompts]
    trace = recording(range(len(unique)), blocks=unique)
    reuse = reuse_of(trace)
    assert list(zip(reuse.depth.tolist(), reuse.source.tolist(), strict=True)) == told(unique)


@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=12))
def test_leading_counts_to_the_first_that_is_not(groups: list[list[bool]]):
    """Group by group, also where groups are empty."""
    ends = np.cumsum([len(group) for group in groups]).astype(np.int64)
    flags = np.array([flag for group in groups for flag in group], np.bool_)
    expected = [([*group, False]).index(False) for group in groups]
    assert leading(flags, ends).tolist() == expected


def test_reuse_within_a_time_or_a_number_of_blocks():
    """A block counts if its last use is near enough, and every block before it in the prompt is."""
    lists = [[1, 2, 3], [4, 5], [1, 2, 3, 6]]
    trace = recording([0, 5 * SECOND, 30 * SECOND], [48, 32, 64], blocks=lists)
    reuse = describe_trace(trace).prefixes
    assert reuse is not None
    assert reuse.blocks == 9
    assert reuse.share == 3 / 9
    assert reuse.share_of_tokens == 48 / 144
    assert reuse.within_s == {"10": 0.0, "60": 3 / 9, "600": 3 / 9, "3600": 3 / 9}
    assert reuse.within_blocks["1000"] == 3 / 9
    assert reuse.reusing == 1 / 3
