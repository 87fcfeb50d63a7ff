"""Prompts: text of a wanted length in tokens, with wanted shared beginnings, and none of anybody's words.

A prompt is  salt | shared blocks | the request's own text. Equal block ids give equal text, whoever asks; own texts
begin with the request's number in words, so no two share more than was planned. The salt stands first and is the
run's: a second run finds no prompt of the first in a prefix cache. All words are plain lower-case ASCII.
"""

from __future__ import annotations

import random
from functools import cached_property

import msgspec

from caveat.errors import UsageError
from caveat.loadgen.tokens import single_token_words
from caveat.loadgen.words import WORDS

_CORPUS_WORDS = 1 << 16
_MASK = (1 << 64) - 1
_MARK_WORDS = 4
SALT_WORDS = 4


class PromptSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What prompts are made of.

    seed             of the texts; not of the plan
    salt             a number that all prompts of one run begin with; None for prompts that repeat from run to run
    tokens_per_word  and
    overhead_tokens  tokens of a prompt of n words are overhead + n x per word, as calibrated (see tokens.py)
    tokenizer_file   tokenizer.json: only words that are one token each are used, so that counts are exact
    """

    seed: int = 0
    salt: int | None = None
    tokens_per_word: float = 1.0
    overhead_tokens: float = 0.0
    tokenizer_file: str | None = None

    def __post_init__(self) -> None:
        if not 0.05 <= self.tokens_per_word <= 50:
            raise UsageError(f"prompts.tokens_per_word: found {self.tokens_per_word!r}, expected 0.05 to 50")
        if not 0 <= self.overhead_tokens <= 1e6:
            raise UsageError(f"prompts.overhead_tokens: found {self.overhead_tokens!r}, expected 0 or more")

    def describe(self) -> str:
        """For the conditions: how prompts were made."""
        salted = "salted for this run" if self.salt is not None else "the same text in every run"
        counted = "words of one token each by the given tokenizer" if self.tokenizer_file else "common words"
        return f"synthetic {counted}, {salted}"


def fresh_salt(rng: random.Random) -> int:
    """A salt that no other run has (36 bits)."""
    return rng.getrandbits(36)


class Prompts:
    """Makes prompts. The same settings and block size give the same texts on every machine."""

    def __init__(self, settings: PromptSettings, block_tokens: int) -> None:
        self._settings = settings
        self._words = single_token_words(settings.tokenizer_file) if settings.tokenizer_file else WORDS
        self._block_words = round(block_tokens / settings.tokens_per_word)
        self._salt = [] if settings.salt is None else self._mark(settings.salt, SALT_WORDS)

    @cached_property
    def _corpus(self) -> list[str]:
        rng = random.Random(self._settings.seed)  # noqa: S311  (text, not a secret)
        # Two copies, so that a slice that begins anywhere has a whole corpus before it.
        return 2 * rng.choices(self._words, k=_CORPUS_WORDS)

    def text(self, number: int, tokens: int, blocks: tuple[int, ...] = ()) -> str:
        """The prompt of request `number`: `tokens` tokens long, one word at least, beginning with these blocks."""
        count = self.words_for(tokens)
        words = list(self._salt)
        for block in blocks:
            if len(words) >= count:
                break
            words += self._run(_mixed(block, 1), block, self._block_words)
        if len(words) < count:
            words += self._run(_mixed(number, 2), number, count - len(words))
        return " ".join(words[:count])

    def words_for(self, tokens: int) -> int:
        """Words in a prompt of so many tokens."""
        settings = self._settings
        return max(1, round((tokens - settings.overhead_tokens) / settings.tokens_per_word))

    def _run(self, start: int, mark: int, count: int) -> list[str]:
        """`count` words that begin with a mark of their own."""
        words = self._mark(mark, _MARK_WORDS)
        corpus = self._corpus
        begin = start % _CORPUS_WORDS
        while len(words) < count:
            words += corpus[begin : begin + min(count - len(words), _CORPUS_WORDS)]
        return words[:count]

    def _mark(self, number: int, places: int) -> list[str]:
        """A number in words, its lowest place first: neighbours differ in the first word."""
        words = []
        for _ in range(places):
            number, place = divmod(number, len(self._words))
            words.append(self._words[place])
        return words


def _mixed(number: int, stream: int) -> int:
    """A number whose bits depend on all of the bits of another: splitmix64's finish (Steele et al. 2014)."""
    z = (number * 2 + stream) * 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
