"""Capacity: the rate that a modelled server can carry at all, in closed form, and how near a rate comes to it.

For an affine step a + b prompt tokens + c sequences + d context, B sequences at most, prompts of I tokens and
answers of O: the rate is 1 / (E[O] (a/B + c + d ctx) + b E[I]), ctx = E[I O + O^2/2] / E[O]. Here the same for
pieces: B sequences give B tokens a step, so the rate is B / (E[O] t(B)), t(B) a step with its share of prompts.
That is enough for published figures, which say no more of an engine. What a replica of a model file carries by its
own settings is in saturated.py; a fleet of several parts carries what its narrowest part does: parts.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from caveat.errors import CannotSayError, InputError
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.step_time import StepTime

PREDICTABLE_TO = 0.9
"""Load fraction at whose upper end first-token times are no longer told: their error has no bound there."""

LOW, HIGH = 0.1, 0.9
"""The ends of an 80 % interval."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An 80 % range with its median."""

    low: float
    median: float
    high: float


class BatchLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The most sequences that decode together, and which setting says so."""

    sequences: float
    by: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a fleet, and what it can carry.

    replicas, least   that it has, and that are there when autoscaling has given up all it may; 0: none, it is links
    rates             of the whole fleet, in requests/s, at which this part is full: one for each draw
    batch             what limits the batch of its replicas; None: it has none
    """

    name: str
    replicas: int
    least: int
    rates: tuple[float, ...]
    batch: BatchLimit | None

    @property
    def rate_per_s(self) -> Interval:
        """Over the draws."""
        return interval_of(self.rates)

    def with_replicas(self, count: int) -> tuple[float, ...]:
        """The rates with so many of its replicas; links are what they are."""
        return tuple(rate * (count / self.replicas) for rate in self.rates) if self.replicas else self.rates


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The largest rate of one fleet in requests/s, with its range, and what limits the batch.

    parts      of the fleet, of which the first to be full sets the rate; empty where nobody looked at parts
    at_least   rate with the fewest replicas that autoscaling keeps; None: there is no autoscaling
    one_down   rate while the replica is down whose part feels it most; None: none fails. 0 where nobody is left
    """

    rate_per_s: Interval
    batch: BatchLimit
    parts: tuple[Part, ...] = ()
    at_least: Interval | None = None
    one_down: Interval | None = None

    def load_fraction(self, rate_per_s: float) -> Interval:
        """Rate / capacity, with its range. Above 1 the queue grows without end."""
        if not (math.isfinite(rate_per_s) and rate_per_s > 0):
            raise InputError(f"rate: found {rate_per_s}, expected more than 0 requests/s")
        return fraction_of(rate_per_s, self.rate_per_s)


def fraction_of(rate_per_s: float, capacity_per_s: Interval) -> Interval:
    """Rate / capacity with the range of the capacity, endless where nothing is carried."""
    c = capacity_per_s
    low, median, high = (over(rate_per_s, carried) for carried in (c.high, c.median, c.low))
    return Interval(low=low, median=median, high=high)


def over(whole: float, part: float) -> float:
    """whole / part, endless where the part is nothing."""
    return whole / part if part > 0 else math.inf


def batch_limit(
    mix: LengthMix,
    *,
    max_num_seqs: float | None = None,
    token_budget: float | None = None,
    kv_tokens: float | None = None,
) -> BatchLimit:
    """The tightest of the limits that are known. CannotSayError when none is: then there is no capacity to speak of.

    max_num_seqs   of the engine
    token_budget   tokens a step: n sequences need n + n x prompt tokens per output token
    kv_tokens      tokens of KV cache: n sequences hold n x context
    """
    limits = []
    if max_num_seqs is not None:
        limits.append(BatchLimit(sequences=max_num_seqs, by="max_num_seqs"))
    if token_budget is not None:
        limits.append(BatchLimit(sequences=token_budget / (1 + mix.prompt_tokens_per_token), by="token_budget"))
    if kv_tokens is not None:
        limits.append(BatchLimit(sequences=kv_tokens / max(1.0, mix.context_tokens), by="kv_tokens"))
    if not limits:
        raise CannotSayError(
            "capacity: neither max_num_seqs nor a token budget nor the size of the KV cache is known",
            next="give max_num_seqs, or a range of it",
        )
    tightest = min(limits, key=lambda one: one.sequences)
    if not tightest.sequences >= 1:
        raise CannotSayError(
            f"capacity: {tightest.by} leaves room for {tightest.sequences:.2g} sequences of this length mix",
            next=f"a larger {tightest.by}, or shorter requests",
        )
    return tightest


def mean_step_s(step_time: StepTime, mix: LengthMix, sequences: float) -> float:
    """A step with so many decoding sequences of this mix and their steady share of prompt work."""
    prompt_tokens = sequences * mix.prompt_tokens_per_token
    piece = step_time.piece(int(sequences + prompt_tokens))
    return (
        piece.step_s
        + piece.prompt_token_s * prompt_tokens
        + piece.prompt_pair_s * sequences * mix.prompt_pairs_per_token
        + piece.sequence_s * sequences
        + piece.context_token_s * sequences * mix.context_tokens
    )


def prompt_batch_s(step_time: StepTime, mix: LengthMix, prompts: float) -> float:
    """A step that computes so many prompts of this mix, or parts of prompts as long together, and nothing else."""
    tokens = prompts * mix.prompt_tokens
    piece = step_time.piece(int(tokens))
    return piece.step_s + piece.prompt_token_s * tokens + piece.prompt_pair_s * prompts * mix.prompt_pairs


def largest_rate(step_time: StepTime, mix: LengthMix, sequences: float) -> float:
    """Requests/s that one replica carries with at most so many sequences: B / (E[O] t(B)). Endless where no step takes
    any time."""
    return over(sequences, mix.output_tokens * mean_step_s(step_time, mix, sequences))


def steady_sequences(step_time: StepTime, mix: LengthMix, rate_per_s: float, limit: float) -> float | None:
    """Mean number of decoding sequences at a rate: N = rate x E[O] x t(N) (Little). None when N passes the limit.

    Found by bisection: rate x E[O] x t(N) - N is positive at 0 and changes its sign at the first steady state.
    """

    def missing(sequences: float) -> float:
        return rate_per_s * mix.output_tokens * mean_step_s(step_time, mix, sequences) - sequences

    if missing(limit) > 0:
        return None
    low, high = 0.0, limit
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high


def capacity(parts: Sequence[Part], *, scaled: bool = False, works: float | None = None) -> Capacity:
    """Of the parts of a fleet, draw by draw the least of theirs. `scaled`: also with the fewest replicas; `works`: also
    while one is down, where `works` is the share of time, counted in the rates, in which none of them is."""
    tightest = min(parts, key=lambda part: part.rate_per_s.median)
    batch = tightest.batch or BatchLimit(sequences=math.inf, by="links between the pools")
    if len(parts) > 1 and tightest.batch is not None:
        batch = BatchLimit(sequences=batch.sequences, by=f"{batch.by} ({tightest.name})")
    down = None
    if works is not None:
        fewer = (part.with_replicas(part.replicas - 1) for part in parts if part.replicas)
        links = (part.rates for part in parts if not part.replicas)
        down = _least([*(tuple(rate / works for rate in rates) for rates in fewer), *links])
    return Capacity(
        rate_per_s=_least([part.rates for part in parts]),
        batch=batch,
        parts=tuple(parts),
        at_least=_least([part.with_replicas(part.least) for part in parts]) if scaled else None,
        one_down=down,
    )


def _least(rates: Sequence[Sequence[float]]) -> Interval:
    return interval_of(min(draw) for draw in zip(*rates, strict=True))


def interval_of(values: Iterable[float]) -> Interval:
    """Median and 80 % range of draws, as order statistics (no value is made up between two draws)."""
    ordered = sorted(float(value) for value in values)
    if not ordered:
        raise InputError("interval: found no draws, expected at least one")
    at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (LOW, 0.5, HIGH)]
    return Interval(low=at[0], median=at[1], high=at[2])


def why_unpredictable(fraction: Interval) -> str | None:
    """The reason why first-token times cannot be told at this load, or None where they can."""
    if fraction.high <= PREDICTABLE_TO:
        return None
    return (
        f"TTFT is not predictable: the load fraction is {fraction.median:.2f} and may be as high as "
        f"{fraction.high:.2f}, above {PREDICTABLE_TO:g}, and near 1 a small error in capacity is an unbounded error "
        "in waiting"
    )
