"""Words: what counts as a token here, and the words that answers are made of.

The rule is that a token is a run of characters between white space, in prompts and in answers alike, so that anybody
who has the text can count what the endpoint must report.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache

# One of them is not ASCII: a client that cuts bytes where characters go on shall be found out.
WORDS = ("alpha", "beta", "gamma", "δέλτα", "omega", "sigma", "kappa", "theta")

BLOCK_WORDS = 16
"""Words in one block of the prefix cache."""

_MASK = (1 << 63) - 1


@lru_cache(maxsize=4096)
def answer_words(start: int, count: int) -> str:
    """`count` words of an answer from word number `start` on, with one space between two."""
    return " ".join(WORDS[(start + place) % len(WORDS)] for place in range(count))


def chain_of(words: Sequence[str | int], block_words: int) -> tuple[int, ...]:
    """A number for each whole block of so many words, not negative: it stands for the block and all before it."""
    chain = []
    before = 0
    for end in range(block_words, len(words) + 1, block_words):
        before = hash((before, *words[end - block_words : end])) & _MASK
        chain.append(before)
    return tuple(chain)


def prompt_words(texts: Iterable[str]) -> list[str]:
    """The words of a prompt, text after text; roles and whatever is not text do not count."""
    words: list[str] = []
    for text in texts:
        words += text.split()
    return words


class PrefixCache:
    """Which blocks of 16 words the server has seen after which others; the least recently used leave first.

    At least one word of a prompt is always computed, as in real engines, since the first token needs it.
    """

    def __init__(self, blocks: int) -> None:
        self._room = blocks
        self._known: OrderedDict[int, None] = OrderedDict()
        self.queries = 0
        self.hits = 0

    def take(self, words: Sequence[str | int]) -> int:
        """Number of words, whole blocks, that are found at the start of the prompt; all its blocks are kept."""
        chain = 0
        hits = 0
        found = True
        for end in range(BLOCK_WORDS, len(words) + 1, BLOCK_WORDS):
            chain = hash((chain, *words[end - BLOCK_WORDS : end]))
            found = found and chain in self._known and end < len(words)
            hits += BLOCK_WORDS if found else 0
            self._keep(chain)
        self.count(len(words), hits)
        return hits

    def count(self, words: int, hits: int) -> None:
        """What another cache in its place was asked for, and found."""
        self.queries += words
        self.hits += hits

    def _keep(self, block: int) -> None:
        self._known[block] = None
        self._known.move_to_end(block)
        if len(self._known) > self._room:
            self._known.popitem(last=False)
