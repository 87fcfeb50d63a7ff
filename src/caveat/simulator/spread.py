"""Spread: how one model lies on several accelerators with tensor parallelism, and what they send each other.

Heads are divided; whole heads of keys and values are, so that beyond their number each is held several times. Latent
attention (MLA) has one latent for all heads: every accelerator holds all of it, unless attention runs data parallel.
After attention and after the feed-forward part of each layer the activations of every token are summed over the n
accelerators. Each sends at least (n - 1) / n of them: a switch that sums asks for no more, a ring for twice as much.
The bytes of prompts, sent thousands at a time, are here, from the link's figure in `facts`. Sums of decoding are small
and wait for latency, which is in no data sheet: it comes with every layer, as launches do, and so does its multiplier.
"""

from __future__ import annotations

from caveat.errors import InputError
from caveat.facts import Accelerator, ModelFacts

ACTIVATION_BYTES = 2  # bf16, also where weights are narrower
SUMS_A_LAYER = 2


def is_latent(shape: ModelFacts) -> bool:
    """Whether all heads share one latent in place of keys and values."""
    return shape.attention.startswith("MLA")


def check_spread(shape: ModelFacts, degree: int) -> None:
    """InputError where the heads of attention cannot be divided between so many accelerators."""
    if degree > shape.heads or shape.heads % degree:
        raise InputError(
            f"tensor_parallel: found {degree}, expected a divisor of the {shape.heads} attention heads of {shape.id}",
            next="fewer accelerators a replica, and more replicas",
        )


def kv_copies(shape: ModelFacts, degree: int, *, data_parallel: bool = False) -> float:
    """How often all accelerators together hold the keys and values of one token."""
    if data_parallel:
        return 1.0
    if is_latent(shape):
        return float(degree)
    return -(-shape.kv_heads // degree) * degree / shape.kv_heads


def exchange_token_s(shape: ModelFacts, hardware: Accelerator, degree: int) -> float:
    """Sending the activations of one prompt token in all layers. 0 with one accelerator, and where no link is known."""
    if degree == 1 or not hardware.link_gb_per_s:
        return 0.0
    sent = SUMS_A_LAYER * shape.layers * shape.hidden * ACTIVATION_BYTES * (degree - 1) / degree
    return sent / (hardware.link_gb_per_s * 1e9)


def pair_operations(shape: ModelFacts) -> float:
    """For one token that attends to one before it, over all heads and layers: a product with its key and one with its
    value, two operations a number."""
    return 2.0 * ((shape.key_head_dim or shape.head_dim) + shape.head_dim) * shape.heads * shape.layers
