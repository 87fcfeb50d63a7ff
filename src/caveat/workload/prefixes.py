"""What prompts have in common: system prompts shared by many requests, as ids of blocks of tokens.

Equal ids mean equal text, in the manner of a paged KV cache: a prompt is cut into blocks of `block_tokens`, and only
a full block can be shared. A request lists the blocks at its start that another request has as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from caveat.workload.bounds import MAX_TOKENS, between, refuse
from caveat.workload.exact import exp, log
from caveat.workload.lengths import AnyShape, Fixed
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream

_LENGTHS, _CHOICE = range(2)
_MAX_PROMPTS = 100_000
_MAX_PROMPT_BLOCKS = 50_000_000
_MAX_IDS_AT_ONCE = 1 << 27
NO_PROMPT = -1


class Prefixes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shared system prompts, and the size of a block.

    Of all requests (or sessions), `share` begin with one of `prompts` system prompts; the i-th most popular is chosen
    in proportion to i^-zipf. A prompt's tokens come on top of the request's own.

    block_tokens  tokens of a block; only whole blocks are shared
    prompts       how many different system prompts there are
    tokens        how long they are
    zipf          0 to 10: how much more popular the first is than the next; 0 makes all alike
    share         0 to 1, of the requests (or sessions) that have one
    """

    block_tokens: int = 16
    prompts: int = 0
    tokens: AnyShape = Fixed(1024)
    zipf: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        between("prefixes.block_tokens", self.block_tokens, 1, MAX_TOKENS)
        between("prefixes.prompts", self.prompts, 0, _MAX_PROMPTS)
        between("prefixes.zipf", self.zipf, 0.0, 10.0)
        between("prefixes.share", self.share, 0.0, 1.0)

    def words(self) -> str:
        """The structure for people."""
        if self.prompts == 0:
            return f"no system prompts, blocks of {self.block_tokens} tokens"
        whom = "all" if self.share == 1 else f"{self.share:.3g} of all"
        return (
            f"{self.prompts:,} system prompts of {self.tokens.words()} tokens, popularity i^-{self.zipf:g}, "
            f"for {whom}, blocks of {self.block_tokens} tokens"
        )


class PromptChoice:
    """The system prompts of one plan, and who gets which: a stream of its own, one number a choice."""

    def __init__(self, prefixes: Prefixes, stream: Stream) -> None:
        self._share = prefixes.share
        self._stream = stream.child(_CHOICE)
        self.tokens = _prompt_lengths(prefixes, stream.child(_LENGTHS))
        self.blocks = self.tokens // prefixes.block_tokens
        self.first_id = np.concatenate([[0], np.cumsum(self.blocks)[:-1]]).astype(np.int64)
        self.ids_used = int(self.blocks.sum())
        if self.ids_used > _MAX_PROMPT_BLOCKS:
            raise refuse("prefixes", f"{self.ids_used:,} blocks of system prompts", f"at most {_MAX_PROMPT_BLOCKS:,}")
        ranks = np.arange(1, prefixes.prompts + 1, dtype=np.float64)
        self._popularity = np.cumsum(exp(-prefixes.zipf * log(ranks)))

    def choose(self, count: int) -> Int64:
        """The prompt of each of the next requests, or NO_PROMPT."""
        chosen = np.full(count, NO_PROMPT, np.int64)
        if len(self.tokens):
            u = self._stream.uniforms(count)
            having = np.flatnonzero(u < self._share)
            rank = u[having] / self._share * self._popularity[-1]
            places = np.searchsorted(self._popularity, rank, side="right")
            chosen[having] = np.minimum(places, len(self.tokens) - 1)
        return chosen


def looked_up(table: Int64, prompts: Int64) -> Int64:
    """A value of each prompt; 0 for NO_PROMPT."""
    return np.append(table, 0)[prompts]


def ragged(ranges: Sequence[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    """Block ids of consecutive requests, from runs of ids (first, count) that follow each other in each request.

    Returns the end of each request's ids, and the ids.
    """
    total = int(sum(count.sum() for _, count in ranges))
    if total > _MAX_IDS_AT_ONCE:
        raise refuse("prefixes.block_tokens", f"{total:,} shared blocks in one block of the plan", "larger blocks")
    counts = np.stack([count for _, count in ranges], axis=1)
    firsts = np.stack([first for first, _ in ranges], axis=1)
    ends = np.cumsum(counts.sum(axis=1))
    flat = counts.ravel()
    run_starts = np.cumsum(flat) - flat
    ids = np.arange(int(flat.sum()), dtype=np.int64)
    ids += np.repeat(firsts.ravel() - run_starts, flat)
    return ends, ids


def _prompt_lengths(prefixes: Prefixes, stream: Stream) -> Int64:
    if prefixes.prompts == 0:
        return np.empty(0, np.int64)
    return prefixes.tokens.tokens(stream.uniforms(prefixes.prompts))
