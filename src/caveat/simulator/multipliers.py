"""Multipliers: how far a real engine is from its roofline, with what is believed of them before anything is seen.

Priors were set once by hand after fits to closed-loop figures of dense models on NVIDIA accelerators; they are a
belief, not a measurement. How intervals made from them fare is in `grades`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from caveat.errors import InputError

Float64 = NDArray[np.float64]

RESIDUAL = 0.12
"""Standard deviation of log(seen / model) under other conditions, which no choice of multipliers explains."""

EVIDENCE_SD = 0.05
"""Standard deviation of log(seen / model) where something was seen: what is published is a mean over many requests."""


class Multipliers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """memory times weights and KV cache read, prefill times arithmetic, seconds a layer, seconds a sequence."""

    memory: float
    prefill: float
    layer_s: float
    sequence_s: float

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"multipliers.{name}: found {value}, expected a number from 0")


class Prior(msgspec.Struct, frozen=True):
    """A log-normal belief: half of it below `median`, `sd` that of the logarithm."""

    name: str
    median: float
    sd: float


PRIORS: tuple[Prior, ...] = (
    Prior("memory", 1.6, 0.5),
    Prior("prefill", 2.0, 0.6),
    Prior("layer_s", 30e-6, 0.5),
    Prior("sequence_s", 20e-6, 1.0),
    Prior("overhead_s", 20e-3, math.log(2.0)),
)
"""The four multipliers, and the fixed time that a first token takes beside waiting and steps."""

NAMES: tuple[str, ...] = tuple(prior.name for prior in PRIORS)


def multipliers_of(parameters: Sequence[float] | Float64) -> Multipliers:
    """From the first four of a row of parameters in the order of `NAMES`."""
    memory, prefill, layer_s, sequence_s = (float(value) for value in parameters[:4])
    return Multipliers(memory=memory, prefill=prefill, layer_s=layer_s, sequence_s=sequence_s)
