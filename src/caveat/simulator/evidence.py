"""Evidence: what was seen of a server, each kind brought to one form: five coefficients and the time seen.

A step is linear in its parameters once it is known what was in the batch, so that a sighting of any kind is a row:
coefficients times parameters should be the time. A fit never runs a simulation. Here the parameters are those of a
roofline (memory, prefill, layers, sequences, overhead); `measured` makes rows for a step without facts.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.multipliers import EVIDENCE_SD, Float64
from caveat.simulator.roofline import Basis

LEAST_SD = 0.01
FIRST_TOKEN_STEPS = {"p50": 1.5, "p95": 1.95}
"""Steps that a first token takes when nothing waits: a uniform wait for the step to end, and one step."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One sighting. `coefficients` times the parameters (in the order of the priors) should be `seen_s`.

    `sd` is the standard deviation of log(seen / model); `what` says for people what was seen.
    """

    coefficients: tuple[float, float, float, float, float]
    seen_s: float
    sd: float
    what: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seen_s) and self.seen_s > 0):
            raise InputError(f"{self.what}: found {self.seen_s} s, expected a time above 0")
        if not LEAST_SD <= self.sd < 10:
            raise InputError(f"{self.what}: found sd {self.sd}, expected from {LEAST_SD} to 10")


def step_coefficients(basis: Basis, mix: LengthMix, sequences: float) -> Float64:
    """(5,) seconds, or counts, of a mean step: so many decoding sequences with their steady share of prompt work."""
    prompt_tokens = sequences * mix.prompt_tokens_per_token
    pairs = sequences * mix.prompt_pairs_per_token
    memory_s = basis.read_s(sequences + prompt_tokens) + basis.context_token_s * sequences * mix.context_tokens
    prefill_s = basis.prompt_s * prompt_tokens + basis.prompt_pair_s * pairs
    return np.array([memory_s, prefill_s, float(basis.layers), sequences, 0.0])


def closed_loop(
    basis: Basis, mix: LengthMix, *, sequences: float, tpot_s: float, sd: float = EVIDENCE_SD, what: str = ""
) -> Evidence:
    """So many requests decoding in one replica at any time, and the mean time per output token."""
    _check("sequences", sequences)
    text = what or f"TPOT {tpot_s:.4g} s with {sequences:g} sequences"
    return _evidence(step_coefficients(basis, mix, sequences), tpot_s, sd, text)


def open_loop(
    basis: Basis, mix: LengthMix, *, rate_per_s: float, tpot_s: float, sd: float = EVIDENCE_SD, what: str = ""
) -> Evidence:
    """A rate that one replica kept up with, and the mean TPOT: N = rate x output tokens x TPOT (Little)."""
    _check("rate_per_s", rate_per_s)
    sequences = rate_per_s * mix.output_tokens * tpot_s
    text = what or f"TPOT {tpot_s:.4g} s at {rate_per_s:g} requests/s"
    return _evidence(step_coefficients(basis, mix, sequences), tpot_s, sd, text)


def offline(
    basis: Basis, mix: LengthMix, *, tokens_per_s: float, most_sequences: float, sd: float = EVIDENCE_SD, what: str = ""
) -> Evidence:
    """Output tokens/s of one replica that always had work, at a batch nobody told.

    The batch lies between all that fits (`most_sequences`: KV cache or the engine's limit) and half of it. Seconds
    per token are averaged over that range; what they vary over it is added to `sd`.
    """
    _check("tokens_per_s", tokens_per_s)
    _check("most_sequences", most_sequences)
    batches = np.linspace(most_sequences / 2, most_sequences, 9)
    rows = np.array([step_coefficients(basis, mix, n) / n for n in batches])
    spread = float(np.ptp(np.log(rows[:, :2].sum(axis=1)))) / math.sqrt(12)  # uniform over the range
    text = what or f"{tokens_per_s:,.0f} tokens/s offline"
    return _evidence(rows.mean(axis=0), 1.0 / tokens_per_s, math.hypot(sd, spread), text)


def first_token(
    basis: Basis,
    mix: LengthMix,
    *,
    sequences: float,
    ttft_s: float,
    percentile: str = "p50",
    sd: float = EVIDENCE_SD,
    what: str = "",
) -> Evidence:
    """A percentile of the time to first token while nothing waited: overhead + 1.5 (p50) or 1.95 (p95) steps.

    The only evidence of the overhead. InputError for another percentile: no formula is known for it.
    """
    _check("sequences", sequences)
    if percentile not in FIRST_TOKEN_STEPS:
        raise InputError(f"percentile: found {percentile!r}, expected one of {', '.join(FIRST_TOKEN_STEPS)}")
    row = FIRST_TOKEN_STEPS[percentile] * step_coefficients(basis, mix, sequences)
    row[4] = 1.0
    return _evidence(row, ttft_s, sd, what or f"TTFT {percentile} {ttft_s:.4g} s with {sequences:.4g} sequences")


def _evidence(row: Float64, seen_s: float, sd: float, what: str) -> Evidence:
    memory, prefill, layers, sequences, overhead = (float(value) for value in row)
    return Evidence(coefficients=(memory, prefill, layers, sequences, overhead), seen_s=seen_s, sd=sd, what=what)


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name}: found {value}, expected a number above 0")
