"""Scheduler: how a replica fills its steps. Each setting is a switch or a limit; what means nothing is refused."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from caveat.errors import InputError

Policy = Literal["fcfs", "priority"]
_MOST = 1 << 40
MOST_BLOCK_TOKENS = 1 << 16
"""Sequences are counted by their place in a block, so that a replica keeps as many numbers."""


class Speculation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Speculative decoding: each step a draft of so many tokens is checked, and those before the first miss are kept.

    A token of the draft is accepted with probability `acceptance` where all before it were, and the check gives one
    token more: P(i tokens in a step) = acceptance^(i-1) (1 - acceptance), and acceptance^draft_tokens for all of them.
    The check computes `draft_tokens` more tokens a sequence, charged as prompt tokens are, each with a pair for every
    token of the context (pairs within the draft are left out); drafting costs
    `draft_step_s` a step and `draft_sequence_s` for each sequence in it. The outcome of step k of request r is a
    function of (seed, r, k) alone.
    """

    draft_tokens: int
    acceptance: float
    draft_step_s: float = 0.0
    draft_sequence_s: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        _whole("speculation: draft_tokens", self.draft_tokens, 1, 64)
        _whole("speculation: seed", self.seed, 0, (1 << 64) - 1)
        _number("speculation: acceptance", self.acceptance, 1.0)
        _number("speculation: draft_step_s", self.draft_step_s, 1e3)
        _number("speculation: draft_sequence_s", self.draft_sequence_s, 1e3)

    def tokens_per_step(self) -> float:
        """Mean tokens that a sequence gains in a step: (1 - acceptance^(draft + 1)) / (1 - acceptance)."""
        return math.fsum(self.acceptance**i for i in range(self.draft_tokens + 1))


class Scheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a replica fills its steps.

    policy            who goes first among the waiting: by arrival, or by the request's priority (the lower, the sooner)
    max_num_seqs      most sequences under way at once
    token_budget      most tokens in a step; decoding sequences always take part, prompts get what is left
    chunked_prefill   whether a prompt may be cut at the budget. If not, the first prompt of a step goes in whole
    prefill_first     a step computes prompts or decodes, prompts first: decoding stands still meanwhile
    static_slots      so many fixed slots that divide `context_tokens` between them (llama.cpp); nothing is preempted
    context_tokens    longest prompt with its answer, or all slots together; None: no limit
    kv_blocks         blocks of `block_tokens` tokens for keys and values; None: no limit. A prompt is admitted when
                      all of it fits and `watermark_blocks` stay free; when a decode step does not fit, the latest
                      arrival (of the least urgent) gives its blocks back and is computed again later
    prefix_cache      whether whole computed blocks are shared between prompts that begin alike, the least recently
                      used given up first
    speculation       speculative decoding, None: off
    intake_s          from a request's arrival to the first moment that it can be scheduled
    output_s          from the end of a step to its tokens' being seen outside
    """

    policy: Policy = "fcfs"
    max_num_seqs: int = 256
    token_budget: int = 8192
    chunked_prefill: bool = True
    prefill_first: bool = False
    static_slots: int | None = None
    context_tokens: int | None = None
    kv_blocks: int | None = None
    block_tokens: int = 16
    watermark_blocks: int = 0
    prefix_cache: bool = False
    speculation: Speculation | None = None
    intake_s: float = 0.0
    output_s: float = 0.0

    def __post_init__(self) -> None:
        for name, most in (("max_num_seqs", _MOST), ("token_budget", _MOST), ("block_tokens", MOST_BLOCK_TOKENS)):
            _whole(f"scheduler: {name}", getattr(self, name), 1, most)
        for name in ("static_slots", "context_tokens", "kv_blocks"):
            value = getattr(self, name)
            if value is not None:
                _whole(f"scheduler: {name}", value, 1, _MOST)
        _whole("scheduler: watermark_blocks", self.watermark_blocks, 0, _MOST)
        _number("scheduler: intake_s", self.intake_s, 1e6)
        _number("scheduler: output_s", self.output_s, 1e6)
        if self.static_slots is not None and self.kv_blocks is not None:
            raise InputError(
                "scheduler: found static_slots with kv_blocks, expected one of them",
                next="give context_tokens: the slots divide it between them",
            )
        if self.token_budget * self.max_num_seqs > 1 << 62:
            raise InputError("scheduler: found a batch beyond any memory, expected max_num_seqs x token_budget < 2^62")

    def seats(self) -> int:
        """Most sequences under way at once."""
        return self.max_num_seqs if self.static_slots is None else self.static_slots

    def context_limit(self) -> int | None:
        """Most tokens of one prompt with its answer; None: no limit."""
        if self.context_tokens is None:
            return None
        return self.context_tokens // (self.static_slots or 1)


def _whole(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"{name}: found {value}, expected a whole number from {low} to {high}")


def _number(name: str, value: float, high: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= high):
        raise InputError(f"{name}: found {value}, expected a number from 0 to {high:g}")
