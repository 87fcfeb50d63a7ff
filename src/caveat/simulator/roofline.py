"""Roofline: what a step costs at least, from the facts of an accelerator and a model, and the StepTime it becomes.

Per step of one replica: weights read once, KV cache read for every token of context, arithmetic for every prompt
token computed, and what tensor parallelism sends over the links for it. Four multipliers turn that basis into a step
time; they are what calibration finds. How a model lies on several accelerators is in spread.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from caveat.errors import CannotSayError, InputError
from caveat.facts import ACCELERATORS, MODELS, Accelerator, ModelFacts, accelerator_named, model_named
from caveat.simulator.multipliers import Multipliers
from caveat.simulator.spread import check_spread, exchange_token_s, kv_copies, pair_operations
from caveat.simulator.step_time import Piece, StepTime

KvPrecision = Literal["bf16", "fp8", "fp4"]
USABLE_SHARE = 0.9  # of memory, for weights and KV cache; the rest is activations and the runtime (engines' default)
MAX_TENSOR_PARALLEL = 1024
KV_SHARE: Mapping[KvPrecision, float] = {"bf16": 1.0, "fp8": 0.5, "fp4": 0.28125}


class Precision(msgspec.Struct, frozen=True):
    """Bytes of one weight, scales of blocks included, and the arithmetic to look for, best first.

    An accelerator without the first kind of arithmetic computes in the next: FP4 weights on an H100 in FP8.
    """

    weight_bytes: float
    rates: tuple[str, ...]


PRECISIONS: Mapping[str, Precision] = {
    "bf16": Precision(2.0, ("bf16_tflops",)),
    "fp16": Precision(2.0, ("bf16_tflops",)),
    "fp8": Precision(1.0, ("fp8_tflops", "bf16_tflops")),
    "int8": Precision(1.0, ("int8_tops", "bf16_tflops")),
    "fp4": Precision(0.5625, ("fp4_tflops", "fp8_tflops", "bf16_tflops")),  # blocks of 16 share a scale of 8 bit
    "mxfp4": Precision(0.53125, ("fp4_tflops", "fp8_tflops", "bf16_tflops")),  # blocks of 32
    "int4": Precision(0.5625, ("bf16_tflops",)),  # weights only: multiplied after they are widened
    "uint4": Precision(0.5625, ("bf16_tflops",)),
}


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """The least a step of one replica takes, by cause, in seconds.

    weights_s        reading the weights that every step needs
    experts_s        reading all experts of a mixture; 0 for a dense model
    routed_share     share of the experts that one token is sent to (k / E)
    context_token_s  reading the KV cache of one token
    prompt_token_s   2 x active parameters operations for one prompt token
    prompt_pair_s    2 x (head size of keys + of values) x heads x layers operations for one prompt token and one token
                     before it
    exchange_token_s sending the activations of one prompt token between the accelerators of a replica; 0 for one
                     accelerator, and where no link is known, which leaves it to the multipliers
    layers           launches that no hardware figure explains are counted in layers, those of an exchange among them
    """

    weights_s: float
    experts_s: float = 0.0
    routed_share: float = 0.0
    context_token_s: float
    prompt_token_s: float
    prompt_pair_s: float
    exchange_token_s: float = 0.0
    layers: int

    @property
    def prompt_s(self) -> float:
        """One prompt token, computed and sent."""
        return self.prompt_token_s + self.exchange_token_s

    def experts_touched(self, tokens: float) -> float:
        """Share of the experts that a batch of so many tokens needs: 1 - (1 - k/E)^tokens, routing taken as even."""
        return -math.expm1(tokens * math.log1p(-self.routed_share)) if self.routed_share < 1 else 1.0

    def read_s(self, tokens: float) -> float:
        """Reading weights for a batch of so many tokens (decoding sequences and prompt tokens)."""
        return self.weights_s + self.experts_s * self.experts_touched(tokens)


class Roofline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One replica: `tensor_parallel` accelerators that hold one copy of the model.

    `accelerator` and `model` are names of the tables in `facts`, or records of one's own in the same form. With
    `attention_data_parallel` each accelerator attends for sequences of its own and holds all of their keys and values,
    as engines do for latent attention; that it holds all weights of attention too is left out of account.
    """

    accelerator: str | Accelerator
    model: str | ModelFacts
    tensor_parallel: int
    precision: str
    kv_precision: KvPrecision = "bf16"
    attention_data_parallel: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.tensor_parallel <= MAX_TENSOR_PARALLEL:
            raise InputError(
                f"tensor_parallel: found {self.tensor_parallel}, expected a number from 1 to {MAX_TENSOR_PARALLEL}"
            )
        if self.precision not in PRECISIONS:
            raise InputError(f"precision: found {self.precision!r}, expected one of {', '.join(PRECISIONS)}")

    @property
    def hardware(self) -> Accelerator:
        """The accelerator's facts. CannotSayError where the table lacks it."""
        if isinstance(self.accelerator, Accelerator):
            return self.accelerator
        found = accelerator_named(self.accelerator)
        if found is None:
            raise CannotSayError(
                f"accelerator {self.accelerator!r}: no specifications are known",
                next=f"give a record of its own, or one of {', '.join(one.id for one in ACCELERATORS)}",
            )
        return found

    @property
    def shape(self) -> ModelFacts:
        """The model's shape. CannotSayError where the table lacks it."""
        if isinstance(self.model, ModelFacts):
            return self.model
        found = model_named(self.model)
        if found is None:
            raise CannotSayError(
                f"model {self.model!r}: no shape is known",
                next=f"give a record of its own, or one of {', '.join(one.id for one in MODELS)}",
            )
        return found

    @property
    def checked_shape(self) -> ModelFacts:
        """The model's shape, spread as far as it can be. InputError where the heads do not go around."""
        check_spread(self.shape, self.tensor_parallel)
        return self.shape

    @property
    def kv_copies(self) -> float:
        """How often the keys and values of a token are held in the replica."""
        return kv_copies(self.shape, self.tensor_parallel, data_parallel=self.attention_data_parallel)

    @property
    def weight_bytes(self) -> float:
        """Of the whole model."""
        return self.shape.parameters_billion * 1e9 * PRECISIONS[self.precision].weight_bytes

    @property
    def kv_bytes_per_token(self) -> float:
        """Over all layers, held once: see `kv_copies`. A sliding window is left out of account."""
        return self.shape.kv_bytes_per_token_bf16 * KV_SHARE[self.kv_precision]

    def basis(self) -> Basis:
        """Seconds by cause. CannotSayError where a fact is missing."""
        shape, degree = self.checked_shape, self.tensor_parallel
        bandwidth = _known(self.hardware, "memory_bandwidth_gb_per_s") * 1e9 * degree
        operations = self._operations_per_s()
        experts = self.weight_bytes * _expert_share(shape)
        return Basis(
            weights_s=(self.weight_bytes - experts) / bandwidth,
            experts_s=experts / bandwidth,
            routed_share=shape.experts_per_token / shape.experts if shape.experts else 0.0,
            context_token_s=self.kv_bytes_per_token * self.kv_copies / bandwidth,
            prompt_token_s=2e9 * shape.active_parameters_billion / operations,
            prompt_pair_s=pair_operations(shape) / self._attention_per_s(),
            exchange_token_s=exchange_token_s(shape, self.hardware, degree),
            layers=shape.layers,
        )

    def kv_tokens(self) -> int:
        """Tokens of KV cache that fit beside the weights, 90 % of memory used. CannotSayError where none do."""
        hardware, _ = self.hardware, self.checked_shape
        memory_gb = hardware.memory_usable_gb or _known(hardware, "memory_gb")
        left = self.tensor_parallel * memory_gb * 1e9 * USABLE_SHARE - self.weight_bytes
        if left <= 0:
            raise CannotSayError(
                f"{self.shape.id} in {self.precision}: {self.weight_bytes / 1e9:,.0f} GB of weights do not fit into "
                f"{USABLE_SHARE:.0%} of {self.tensor_parallel} x {memory_gb:g} GB of {hardware.id}",
                next="a larger tensor_parallel, or a narrower precision",
            )
        return int(left / (self.kv_bytes_per_token * self.kv_copies))

    def _operations_per_s(self) -> float:
        rates = PRECISIONS[self.precision].rates
        known = [value for name in rates if (value := getattr(self.hardware, name))]
        if not known:
            raise CannotSayError(f"{self.hardware.id}: none of {', '.join(rates)} is known", next="give a record")
        return float(known[0]) * 1e12 * self.tensor_parallel

    def _attention_per_s(self) -> float:
        return _known(self.hardware, "bf16_tflops") * 1e12 * self.tensor_parallel


def step_time(basis: Basis, multipliers: Multipliers) -> StepTime:
    """memory x (weights + KV) + prefill x (arithmetic + exchange) + layer x layers + sequence x sequences, in pieces.

    A dense model is one piece. For a mixture of experts the share of experts touched, which bends, is drawn through
    points `_bends` apart, where it is exact; between them it lies below the curve by less than one part in 100.
    """
    starts = _bends(basis)
    return StepTime(
        pieces=tuple(
            _piece(basis, multipliers, start, end) for start, end in zip(starts, (*starts[1:], None), strict=True)
        )
    )


def _piece(basis: Basis, m: Multipliers, start: int, end: int | None) -> Piece:
    """From `start` tokens to `end`, where the next begins; the last is level: every expert is read."""
    if end is None:
        level, slope = basis.weights_s + (basis.experts_s if basis.routed_share else 0.0), 0.0
    else:
        slope = (_touched_s(basis, end) - _touched_s(basis, start)) / (end - start)
        level = max(0.0, _touched_s(basis, start) - slope * start)
    return Piece(
        from_tokens=start,
        step_s=m.memory * level + m.layer_s * basis.layers,
        prompt_token_s=m.memory * slope + m.prefill * basis.prompt_s,
        prompt_pair_s=m.prefill * basis.prompt_pair_s,
        sequence_s=m.memory * slope + m.sequence_s,
        context_token_s=m.memory * basis.context_token_s,
    )


_ALL_TOUCHED = 0.999


def _touched_s(basis: Basis, tokens: int) -> float:
    share = basis.experts_touched(tokens)
    return basis.weights_s + basis.experts_s * (1.0 if share >= _ALL_TOUCHED else share)


def _bends(basis: Basis) -> tuple[int, ...]:
    """Where pieces begin: 0, then ever wider steps until nearly all experts are touched. (0,) for a dense model."""
    if not 0 < basis.routed_share < 1:
        return (0,)
    last = math.ceil(math.log(1 - _ALL_TOUCHED) / math.log1p(-basis.routed_share))
    starts = [0, 1]
    while starts[-1] < last:
        starts.append(min(last, max(starts[-1] + 1, round(starts[-1] * 1.3))))
    return tuple(starts)


def _expert_share(shape: ModelFacts) -> float:
    """Share of the parameters that lie in routed experts.

    All less active parameters are the experts that one token does not use: (E - k) / E of them.
    """
    if not shape.experts or shape.experts_per_token >= shape.experts:
        return 0.0
    unused = shape.parameters_billion - shape.active_parameters_billion
    return unused / shape.parameters_billion * shape.experts / (shape.experts - shape.experts_per_token)


def _known(hardware: Accelerator, field: str) -> float:
    value = getattr(hardware, field)
    if not value:
        raise CannotSayError(f"{hardware.id}: {field} is not known", next="give a record of its own with it")
    return float(value)
