"""Words: the counting rule, and the prefix cache in blocks of sixteen of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import answer_words, prompt_words
from caveat.loopback.words import BLOCK_WORDS, PrefixCache

PROMPTS = st.lists(st.lists(st.integers(0, 1), max_size=70), max_size=12)


@given(st.integers(0, 100), st.integers(0, 100))
def test_an_answer_has_as_many_words_as_it_was_asked_for(start, count):
    """Anybody can count them, and its pieces make the whole."""
    assert len(answer_words(start, count).split()) == count
    assert answer_words(0, start + count).split()[start:] == answer_words(start, count).split()


def test_a_prompt_is_counted_text_after_text():
    """White space of any kind and length separates."""
    assert prompt_words(["one  two\n", "", "\tthree four-five "]) == ["one", "two", "three", "four-five"]


def shared_blocks(prompt, others):
    """Whole blocks at the start that some other prompt has as well, leaving a word to compute."""
    ends = range(BLOCK_WORDS, len(prompt), BLOCK_WORDS)
    shared = (any(other[:end] == prompt[:end] for other in others) for end in ends)
    hits = 0
    for is_shared in shared:
        if not is_shared:
            break
        hits += BLOCK_WORDS
    return hits


@given(PROMPTS)
def test_what_is_cached_is_what_an_earlier_prompt_began_with(prompts):
    """Against a plain comparison with all prompts before."""
    cache = PrefixCache(10_000)
    hits = [cache.take(prompt) for prompt in prompts]
    assert hits == [shared_blocks(prompt, prompts[:place]) for place, prompt in enumerate(prompts)]
    assert (cache.hits, cache.queries) == (sum(hits), sum(map(len, prompts)))


@pytest.mark.parametrize(("length", "cached"), [(0, 0), (15, 0), (16, 0), (17, 16), (32, 16), (33, 32)])
def test_the_same_prompt_again_is_cached_but_for_its_last_block(length, cached):
    """A word is always left to compute."""
    cache = PrefixCache(10)
    words = [str(place) for place in range(length)]
    assert [cache.take(words), cache.take(words)] == [0, cached]


def test_a_full_cache_forgets_what_was_used_longest_ago():
    """Two blocks of room: the third prompt drives out the first."""
    cache = PrefixCache(2)
    one, two, three = ([name] * 17 for name in "abc")
    assert [cache.take(one), cache.take(two), cache.take(one), cache.take(three)] == [0, 0, 16, 0]
    assert [cache.take(one), cache.take(two)] == [16, 0]
