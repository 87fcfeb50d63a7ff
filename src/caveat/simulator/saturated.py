"""Saturated: what one replica carries with a queue that never ends, in closed form, by how it fills its steps.

A request of U computed prompt tokens and O answer tokens takes s steps of its replica: its seat-steps over the seats,
its tokens over the budget, what it holds over the KV cache, whichever is most. Then its time is s steps, and its own
tokens, pairs, sequence-steps and context. None of the counts depends on how long a step is.

    in one step      D decode steps and P of prompts hold a seat: s >= (D + P) / B, s >= (U + w D) / T where prompts
                     are cut, s >= 1 / (whole prompts that fit into T - w D / s) where they are not
    prompts first    D / B steps that decode, and after each of them, for the Poisson number of prompts that took the
                     seats of the finished, as many as their tokens need of the budget
    speculation      k tokens a step: D = (O - 1 + overshoot) / k, overshoot (E[k^2] / E[k] - 1) / 2 by renewal

D is O - 1, since the first token comes with the prompt. Prompts are taken as gamma distributed with the mix's spread.
Preemption is not counted; what a replica that is short of blocks loses by it is a few per cent (tests say how many).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np

from caveat.errors import CannotSayError
from caveat.simulator.capacity import BatchLimit, over
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.scheduler import Speculation
from caveat.simulator.step_time import Piece, StepTime

_EXACT_STEPS = 12
"""Budgets up to which the steps of some prompts together are counted exactly; beyond it is half a step more."""


class Filling(msgspec.Struct, frozen=True, kw_only=True):
    """How a replica fills its steps, as far as it matters here. `seats` and `kv_tokens` None: not known, or no limit.

    kv_tokens   that sequences may hold, less the watermark
    """

    seats: float | None
    token_budget: int
    chunked: bool
    prefill_first: bool
    kv_tokens: float | None
    block_tokens: int
    speculation: Speculation | None

    @property
    def width(self) -> int:
        """Tokens that a decoding sequence takes of a step."""
        return 1 + (self.speculation.draft_tokens if self.speculation else 0)


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of a replica for each request: `mixed` ones, or `prompts` and `decode` apart; the batch that decodes.

    decode_steps   in which a request itself takes part
    with_prompts   share of the mixed steps in which there is a prompt
    """

    mixed: float
    prompts: float
    decode: float
    decode_steps: float
    with_prompts: float
    limit: BatchLimit


def requests_per_s(step_time: StepTime, mix: LengthMix, filling: Filling) -> float:
    """Of one replica that is never without work. Endless where no step takes any time. CannotSayError where nothing
    bounds the batch."""
    steps = steps_of(mix, filling)
    return over(1.0, _mixed_s(step_time, mix, filling, steps) + _apart_s(step_time, mix, filling, steps))


def answers_per_s(step_time: StepTime, mix: LengthMix, filling: Filling, sequences: float) -> float:
    """Of one replica that gets requests with their first token and decodes so many at a time. Endless where one token
    is all of every answer."""
    decode = decode_steps(mix, filling.speculation)
    piece = step_time.piece(int(filling.width * sequences))
    return over(sequences, decode * _decode_step_s(piece, mix, filling, decode, sequences))


@lru_cache(maxsize=4096)
def steps_of(mix: LengthMix, filling: Filling) -> Steps:
    """Counted once for all draws of a step time."""
    return _prompts_apart(mix, filling) if filling.prefill_first else _together(mix, filling)


def tokens_a_step(speculation: Speculation | None) -> tuple[float, float]:
    """(mean tokens that a sequence gains in a step, tokens in the mean by which its last step would pass the end)."""
    if speculation is None:
        return 1.0, 0.0
    p, most = speculation.acceptance, speculation.draft_tokens + 1
    shares = [p ** (i - 1) * (1 - p if i < most else 1.0) for i in range(1, most + 1)]
    mean = math.fsum(i * share for i, share in enumerate(shares, 1))
    square = math.fsum(i * i * share for i, share in enumerate(shares, 1))
    return mean, (square / mean - 1) / 2


def decode_steps(mix: LengthMix, speculation: Speculation | None) -> float:
    """Steps in which a request decodes."""
    mean, overshoot = tokens_a_step(speculation)
    left = mix.output_tokens - 1
    return (left + overshoot * min(1.0, left)) / mean


def context_read(mix: LengthMix) -> float:
    """Tokens of context that a request reads, one token a step: E[I (O - 1) + O (O - 1) / 2]."""
    return max(0.0, mix.context_tokens * mix.output_tokens - mix.input_tokens - mix.output_tokens / 2)


# Steps with prompts and decoding together


def _together(mix: LengthMix, f: Filling) -> Steps:
    decode = decode_steps(mix, f.speculation)
    steps, by = _fewest(lambda s: _needed(mix, f, decode, s))
    prompt_steps = _prompt_steps(mix, f, decode, steps)
    return Steps(
        mixed=steps,
        prompts=0.0,
        decode=0.0,
        decode_steps=decode,
        with_prompts=-math.expm1(-prompt_steps / steps),
        limit=BatchLimit(sequences=(decode + prompt_steps) / steps, by=by),
    )


def _needed(mix: LengthMix, f: Filling, decode: float, steps: float) -> tuple[float, str]:
    """The steps a request needs by the tightest limit where it takes so many, and which limit that is."""
    prompt_steps = _prompt_steps(mix, f, decode, steps)
    needs = [(_by_budget(mix, f, decode, steps), "token_budget")]
    if f.seats is not None:
        needs.append(((decode + prompt_steps) / f.seats, "max_num_seqs"))
    if f.kv_tokens is not None:
        needs.append((_held(mix, f, decode, prompt_steps) / _kv_room(mix, f), "kv_tokens"))
    return max(needs)


def _by_budget(mix: LengthMix, f: Filling, decode: float, steps: float) -> float:
    if f.chunked:
        return (mix.prompt_tokens + f.width * decode) / f.token_budget
    return 1.0 / prompts_that_fit(max(0.0, f.token_budget - f.width * decode / steps), mix.prompt_tokens, mix.prompt_cv)


def _prompt_steps(mix: LengthMix, f: Filling, decode: float, steps: float) -> float:
    """In which a prompt is computed: one, or as many as its tokens need of what decoding leaves."""
    if not f.chunked:
        return 1.0
    room = f.token_budget - f.width * decode / steps
    if room <= 0:
        return math.inf
    return min(steps_for(1, room, mix.prompt_tokens, mix.prompt_cv), 1 + mix.prompt_tokens / room)


def _held(mix: LengthMix, f: Filling, decode: float, prompt_steps: float) -> float:
    """Token-steps of KV cache of one request. What was found in the cache is held once for all."""
    shared = mix.input_tokens - mix.prompt_tokens
    mean, _ = tokens_a_step(f.speculation)
    decoding = context_read(mix) / mean - shared * decode
    return max(0.0, decoding) + prompt_steps * mix.prompt_tokens + (decode + prompt_steps) * (f.block_tokens - 1) / 2


def _kv_room(mix: LengthMix, f: Filling) -> float:
    """Tokens in use in the mean: the next prompt waits until all of it fits, so that half of one is free."""
    assert f.kv_tokens is not None
    room = f.kv_tokens - mix.prompt_tokens / 2
    if room < mix.prompt_tokens:
        raise CannotSayError(
            f"capacity: kv_tokens of {f.kv_tokens:.4g} leave room for less than two requests of this length mix",
            next="more kv_blocks, or shorter requests",
        )
    return room


def _fewest(needed: Callable[[float], tuple[float, str]]) -> tuple[float, str]:
    """The fewest steps that are as many as they need to be; what is needed falls with what there is."""
    high = 1.0
    while needed(high)[0] > high:
        high *= 2
        if high > 1e12:
            raise CannotSayError("capacity: nothing is ever served with these settings and this length mix")
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle)[0] > middle else (low, middle)
    return high, needed(high)[1]


def _mixed_s(step_time: StepTime, mix: LengthMix, f: Filling, steps: Steps) -> float:
    """Time of a request's steps with its own work, in steps that are of two kinds: with a prompt, and without."""
    if not steps.mixed:
        return 0.0
    batch = steps.decode_steps / steps.mixed
    shares = {True: steps.with_prompts, False: 1 - steps.with_prompts}
    total = 0.0
    for prompts, share in shares.items():
        if share <= 0:
            continue
        tokens = mix.prompt_tokens / (steps.mixed * share) if prompts else 0.0
        piece = step_time.piece(int(f.width * batch + tokens))
        total += share * steps.mixed * _decode_step_s(piece, mix, f, steps.decode_steps, batch)
        if prompts:
            total += piece.prompt_token_s * mix.prompt_tokens + piece.prompt_pair_s * mix.prompt_pairs
    return total


# Steps that are prompts or decoding


def _prompts_apart(mix: LengthMix, f: Filling) -> Steps:
    decode = decode_steps(mix, f.speculation)
    limits = []
    if f.seats is not None:
        limits.append(BatchLimit(sequences=f.seats, by="max_num_seqs"))
    if f.kv_tokens is not None:
        each = _held(mix, f, decode, 1.0) / (decode + 1.0)
        limits.append(BatchLimit(sequences=max(1.0, _kv_room(mix, f) / max(1.0, each)), by="kv_tokens"))
    limit = min(limits, key=lambda one: one.sequences)
    apart = decode / limit.sequences
    return Steps(
        mixed=0.0,
        prompts=apart * _steps_between(1 / apart, mix, f) if apart else _steps_of_many(mix, f),
        decode=apart,
        decode_steps=decode,
        with_prompts=0.0,
        limit=limit,
    )


def _steps_between(mean: float, mix: LengthMix, f: Filling) -> float:
    """Mean steps for the prompts that came between two steps of decoding, Poisson with this mean."""
    if mean > 200:
        return mean * _steps_of_many(mix, f) + 0.5
    most = int(mean + 8 * math.sqrt(mean) + 12)
    chance, total = math.exp(-mean), 0.0
    for count in range(1, most):
        chance *= mean / count
        total += chance * _steps_for_prompts(count, mix, f)
    return total


def _steps_for_prompts(count: int, mix: LengthMix, f: Filling) -> float:
    if f.chunked:
        return steps_for(count, f.token_budget, mix.prompt_tokens, mix.prompt_cv)
    fit = prompts_that_fit(f.token_budget, mix.prompt_tokens, mix.prompt_cv)
    return max(1.0, count / fit + (1 - 1 / fit) / 2)


def _steps_of_many(mix: LengthMix, f: Filling) -> float:
    """Steps for each of very many prompts."""
    if f.chunked:
        return mix.prompt_tokens / f.token_budget
    return 1 / prompts_that_fit(f.token_budget, mix.prompt_tokens, mix.prompt_cv)


def _apart_s(step_time: StepTime, mix: LengthMix, f: Filling, steps: Steps) -> float:
    total = 0.0
    if steps.decode:
        batch = steps.decode_steps / steps.decode
        piece = step_time.piece(int(f.width * batch))
        total += steps.decode * _decode_step_s(piece, mix, f, steps.decode_steps, batch)
    if steps.prompts:
        piece = step_time.piece(int(mix.prompt_tokens / steps.prompts))
        drafts_s = f.speculation.draft_step_s if f.speculation else 0.0
        total += steps.prompts * (piece.step_s + drafts_s)
        total += piece.prompt_token_s * mix.prompt_tokens + piece.prompt_pair_s * mix.prompt_pairs
    return total


# What both share


def _decode_step_s(piece: Piece, mix: LengthMix, f: Filling, decode: float, batch: float) -> float:
    """A step in which so many sequences decode, each with a draft where there are any."""
    context = context_read(mix) / (decode * tokens_a_step(f.speculation)[0]) if decode else 0.0
    sequence_s, step_s, context_s = piece.sequence_s, piece.step_s, piece.context_token_s
    if (s := f.speculation) is not None:
        step_s += s.draft_step_s
        sequence_s += s.draft_sequence_s + s.draft_tokens * piece.prompt_token_s
        context_s += s.draft_tokens * piece.prompt_pair_s
    return step_s + batch * (sequence_s + context_s * context)


def steps_for(count: int, budget: float, mean: float, cv: float) -> float:
    """E[ceil(S / budget)], S the tokens of so many prompts together: the sum over j of P(S > j budget)."""
    whole = count * mean / budget
    if cv < 1e-3:
        return float(max(1, math.ceil(whole - 1e-9)))
    if whole > _EXACT_STEPS:
        return whole + 0.5
    from scipy.special import gammaincc

    shape = count / cv**2
    places = np.arange(1, 6 * _EXACT_STEPS) * budget
    return 1.0 + float(gammaincc(shape, places * shape / (count * mean)).sum()) if mean > 0 else 1.0


def prompts_that_fit(budget: float, mean: float, cv: float) -> float:
    """Whole prompts that a step takes in the mean: the first whatever its length, others while they fit."""
    if mean <= 0:
        return math.inf
    if cv < 1e-3:
        return float(max(1, math.floor(budget / mean + 1e-9)))
    if budget > 100 * mean:
        return budget / mean - (1 - cv**2) / 2
    from scipy.special import gammainc

    counts = np.arange(2, int(4 * budget / mean) + 12)
    shapes = counts / cv**2
    return 1.0 + float(gammainc(shapes, budget * shapes / (counts * mean)).sum())
