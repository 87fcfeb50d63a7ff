"""LengthMix: the few means of a workload's lengths that a step of continuous batching depends on."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from caveat.errors import InputError

Int64 = NDArray[np.int64]


class LengthMix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Means over requests, in tokens.

    input_tokens    E[I]
    output_tokens   E[O]
    context_tokens  of one decoding sequence at a random moment: E[I O + O^2 / 2] / E[O]
    prompt_tokens   of a prompt that are computed: E[I] less what a prefix cache holds
    prompt_pairs    pairs of a computed prompt token and a token before it: E[U (I - U) + U^2 / 2], U computed
    prompt_cv       coefficient of variation of U; 0 where the requests are alike, or nobody knows
    """

    input_tokens: float
    output_tokens: float
    context_tokens: float
    prompt_tokens: float
    prompt_pairs: float
    prompt_cv: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            least = 1.0 if name == "output_tokens" else 0.0
            if not (math.isfinite(value) and value >= least):
                raise InputError(f"length mix: {name}: found {value}, expected a number from {least:g}")

    @property
    def prompt_tokens_per_token(self) -> float:
        """Prompt tokens computed for each output token."""
        return self.prompt_tokens / self.output_tokens

    @property
    def prompt_pairs_per_token(self) -> float:
        """Prompt pairs for each output token."""
        return self.prompt_pairs / self.output_tokens


def mix_of(input_tokens: Int64, output_tokens: Int64, *, prefix_hit: float = 0.0) -> LengthMix:
    """The mix of the requests of a plan or a trace. `prefix_hit`: share of every prompt found in the prefix cache.

    Requests without output are left out: they decode nothing.
    """
    answered = output_tokens > 0
    inputs, outputs = input_tokens[answered].astype(float), output_tokens[answered].astype(float)
    if not len(outputs):
        raise InputError("length mix: found no request with output, expected at least one")
    computed = inputs * (1.0 - checked_share(prefix_hit))
    return LengthMix(
        input_tokens=float(inputs.mean()),
        output_tokens=float(outputs.mean()),
        context_tokens=float((inputs * outputs + outputs**2 / 2).mean() / outputs.mean()),
        prompt_tokens=float(computed.mean()),
        prompt_pairs=float((computed * (inputs - computed) + computed**2 / 2).mean()),
        prompt_cv=float(computed.std() / computed.mean()) if computed.any() else 0.0,
    )


def mix_of_means(input_tokens: float, output_tokens: float, *, prompt_tokens: float | None = None) -> LengthMix:
    """The mix of requests that are all alike, which is all that two published means allow.

    Spread of lengths raises context and pairs; it is not known here, and calibration carries it.
    """
    computed = input_tokens if prompt_tokens is None else prompt_tokens
    return LengthMix(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        context_tokens=input_tokens + output_tokens / 2,
        prompt_tokens=computed,
        prompt_pairs=computed * (input_tokens - computed) + computed**2 / 2,
    )


def checked_share(value: float) -> float:
    """A share from 0 to 1, or InputError."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f"prefix_hit: found {value}, expected a share from 0 to 1")
    return value
