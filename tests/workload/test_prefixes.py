"""Shared prompts: who gets which, how popular they are, and that equal ids mean equal text."""

import math
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Fixed, Limits, Poisson, Prefixes, Separate, Uniform, Workload
from caveat.workload.prefixes import NO_PROMPT, PromptChoice, looked_up, ragged
from caveat.workload.streams import Stream
from tests.workload.cases import SHARED, rows


def choices(prefixes: Prefixes, count: int):
    return PromptChoice(prefixes, Stream(0)).choose(count)


def test_popularity_falls_by_zipfs_law():
    """In proportion to 1, 1/2, 1/3, 1/4 of 20,000, within 5 standard errors."""
    found = Counter(choices(Prefixes(prompts=4), 20_000).tolist())
    for place in range(4):
        expected = 20_000 / (place + 1) / (1 + 1 / 2 + 1 / 3 + 1 / 4)
        assert abs(found[place] - expected) < 5 * math.sqrt(expected)


def test_only_a_share_has_a_prompt():
    """A quarter, whichever prompt."""
    chosen = choices(Prefixes(prompts=3, share=0.25, zipf=0.0), 20_000)
    assert (chosen != NO_PROMPT).mean() == pytest.approx(0.25, abs=0.02)
    assert np.bincount(chosen[chosen >= 0]) / (chosen >= 0).sum() == pytest.approx([1 / 3] * 3, abs=0.04)


def test_without_prompts_nobody_has_one():
    """And no random number is used."""
    assert choices(Prefixes(), 3).tolist() == [NO_PROMPT] * 3


def test_prompts_have_ids_one_after_the_other():
    """40 tokens are two full blocks of 16."""
    prompts = PromptChoice(Prefixes(prompts=3, tokens=Fixed(40)), Stream(0))
    assert (prompts.blocks.tolist(), prompts.first_id.tolist(), prompts.ids_used) == ([2, 2, 2], [0, 2, 4], 6)
    assert looked_up(prompts.first_id, np.array([2, NO_PROMPT, 0])).tolist() == [4, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 4), st.integers(0, 99), st.integers(0, 4)), min_size=1))
def test_ragged_ids_are_runs_one_after_the_other(requests: list[tuple[int, int, int, int]]):
    """As a plain loop would write them."""
    first, count, other_first, other_count = (np.array(column, np.int64) for column in zip(*requests, strict=True))
    ends, ids = ragged([(first, count), (other_first, other_count)])
    lists = [[*range(a, a + m), *range(b, b + n)] for a, m, b, n in requests]
    assert ids.tolist() == [each for one in lists for each in one]
    assert ends.tolist() == np.cumsum([len(one) for one in lists]).tolist()


def test_requests_of_one_prompt_share_its_ids_and_carry_its_tokens():
    """Input = prompt + own; requests without a prompt share nothing."""
    lengths = Separate(input=Uniform(1, 9), output=Fixed(1))
    prefixes = Prefixes(block_tokens=8, prompts=3, tokens=Fixed(20), share=0.7)
    requests = rows(
        Workload(arrivals=Poisson(9.0), lengths=lengths, limits=Limits(requests=400), prefixes=prefixes).plan()
    )
    assert {row[7] for row in requests} == {(), (0, 1), (2, 3), (4, 5)}
    assert all(21 <= row[1] <= 29 if row[7] else 1 <= row[1] <= 9 for row in requests)


def test_prompts_leave_arrivals_and_own_lengths_as_they_were():
    """A stream of their own."""
    lengths = Separate(input=Uniform(1, 9), output=Uniform(1, 9))
    plain = Workload(arrivals=Poisson(9.0), lengths=lengths, limits=Limits(requests=50))
    shared = msgspec.structs.replace(plain, prefixes=Prefixes(prompts=1, tokens=Fixed(100)))
    assert [(t, i + 100, o) for t, i, o, *_ in rows(plain.plan())] == [(t, i, o) for t, i, o, *_ in rows(shared.plan())]


def test_the_words_say_the_structure():
    """For a condition."""
    assert SHARED.words() == (
        "4 system prompts of uniform 30 to 90 tokens, popularity i^-1.2, for 0.8 of all, blocks of 16 tokens"
    )


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Prefixes(block_tokens=0), "prefixes.block_tokens: found 0"),
        (lambda: Prefixes(prompts=10**9), "prefixes.prompts: found 1000000000"),
        (lambda: Prefixes(zipf=math.nan), "prefixes.zipf: found nan"),
        (lambda: Prefixes(share=1.5), "prefixes.share: found 1.5"),
        (
            lambda: PromptChoice(Prefixes(block_tokens=1, prompts=1000, tokens=Fixed(1 << 24)), Stream(0)),
            "blocks of system prompts",
        ),
        (lambda: ragged([(np.array([0]), np.array([1 << 40]))]), "shared blocks in one block of the plan"),
    ],
)
def test_prefixes_that_are_none_are_refused(make, expected: str):
    """With the field; and before memory is taken."""
    with pytest.raises(InputError, match=expected):
        make()
