"""Prompts have the wanted length, share what they should, and nothing else."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.loadgen import PromptSettings, fresh_salt
from caveat.loadgen.prompts import Prompts
from caveat.loadgen.words import WORDS

SALTED = Prompts(PromptSettings(seed=1, salt=77), block_tokens=16)


def test_words_are_plain_and_different():
    """Nothing in them that JSON would escape or a tokenizer would split at."""
    assert len(set(WORDS)) == len(WORDS) > 400 and all(
        word.isascii() and word.isalpha() and word.islower() for word in WORDS
    )


@given(number=st.integers(0, 10**7), tokens=st.integers(0, 3000), blocks=st.lists(st.integers(0, 10**12), max_size=5))
def test_a_prompt_has_exactly_the_wanted_words(number, tokens, blocks):
    """One at least."""
    assert len(SALTED.text(number, tokens, tuple(blocks)).split(" ")) == max(1, tokens)


@given(numbers=st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), shared=st.integers(0, 4))
def test_two_prompts_share_the_salt_and_the_planned_blocks_and_then_differ_at_once(numbers, shared):
    """By one word, since a number's lowest place stands first, or within the four of its mark."""
    blocks = tuple(range(100, 100 + shared))
    texts = [SALTED.text(number, 200, blocks).split() for number in numbers]
    common = next((place for place, (a, b) in enumerate(zip(*texts, strict=True)) if a != b), 200)
    if numbers[0] == numbers[1]:
        assert common == 200
    else:
        assert 4 + 16 * shared <= common < 4 + 16 * shared + 4


def test_equal_ids_are_equal_text_wherever_they_stand_and_whoever_asks():
    """Another prompt, another process."""
    first, other = (
        SALTED.text(1, 100, (5, 6)).split(),
        Prompts(PromptSettings(seed=1, salt=77), 16).text(9, 60, (6,)).split(),
    )
    assert first[4 + 16 : 4 + 32] == other[4 : 4 + 16]


def test_another_salt_shares_nothing_from_the_first_word_on():
    """A second run finds nothing of the first in a prefix cache; without a salt it finds everything."""
    other = Prompts(PromptSettings(seed=1, salt=78), 16).text(1, 100, (5,))
    assert SALTED.text(1, 100, (5,)).split()[0] != other.split()[0]
    unsalted = [Prompts(PromptSettings(seed=1), 16).text(1, 100, (5,)) for _ in range(2)]
    assert unsalted[0] == unsalted[1] and unsalted[0].split()[:16] == other.split()[4:20]


def test_lengths_follow_the_calibration():
    """100 tokens, of which 20 are the template's, at 1.6 tokens a word: 50 words; a block of 16 tokens is 10."""
    prompts = Prompts(PromptSettings(tokens_per_word=1.6, overhead_tokens=20), 16)
    assert len(prompts.text(1, 100).split()) == 50
    assert prompts.text(1, 100, (3,)).split()[:10] == prompts.text(2, 100, (3,)).split()[:10]
    assert len(prompts.text(1, 5).split()) == 1


def test_a_prompt_longer_than_the_corpus_goes_on():
    """A million tokens."""
    assert len(SALTED.text(3, 1_000_000).split()) == 1_000_000


def test_fresh_salts_come_from_the_randomness_that_is_handed_in():
    """Equal generators, equal salts."""
    assert fresh_salt(random.Random(4)) == fresh_salt(random.Random(4)) != fresh_salt(random.Random(5))


@pytest.mark.parametrize("wrong", [{"tokens_per_word": 0}, {"overhead_tokens": -1}])
def test_settings_that_cannot_be_are_refused(wrong):
    """The message names the field."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        PromptSettings(**wrong)


def test_prompts_are_described_for_the_conditions():
    """Salted or not is a condition."""
    assert PromptSettings(salt=1).describe() == "synthetic common words, salted for this run"
    assert PromptSettings().describe() == "synthetic common words, the same text in every run"
