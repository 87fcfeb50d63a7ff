"""Load of a model file: the first line of every answer. How near a rate comes to what the model can carry at all.

Draws of the step time, the range of `max_num_seqs` and the range of the prefix hit are gone through together, each
draw with one value of each range, evenly spread and out of step with each other.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from caveat.errors import CannotSayError
from caveat.simulator.capacity import BatchLimit, Capacity, Interval, batch_limit, capacity, why_unpredictable
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.model_file import Model, Range

MixAt = Callable[[float], LengthMix]
"""The length mix of a workload at a prefix hit: `mix_of` with its lengths bound."""

_GOLDEN = 0.6180339887498949
_LEAST_STEPS = 50  # values of a range where the model has fewer draws


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Capacity and load fraction at a rate. `unpredictable` says why first-token times cannot be told, or None."""

    rate_per_s: float
    capacity: Capacity
    fraction: Interval
    unpredictable: str | None

    @property
    def words(self) -> str:
        """The load fraction for people, with its range."""
        f = self.fraction
        return f"load fraction {f.median:.2f} ({f.low:.2f} to {f.high:.2f}), batch limited by {self.capacity.batch.by}"


def load_of(
    model: Model,
    mix_at: MixAt,
    rate_per_s: float,
    *,
    max_num_seqs: float | None = None,
    prefix_hit: float | None = None,
) -> Load:
    """Load of a modelled fleet at a rate in requests/s. What is given here goes before what the file says.

    CannotSayError where the prefix hit is unknown, or no limit of the batch is known: neither is ever taken as 0 or
    endless.
    """
    found = capacity_of(model, mix_at, max_num_seqs=max_num_seqs, prefix_hit=prefix_hit)
    fraction = found.load_fraction(rate_per_s)
    return Load(rate_per_s=rate_per_s, capacity=found, fraction=fraction, unpredictable=why_unpredictable(fraction))


def capacity_of(
    model: Model, mix_at: MixAt, *, max_num_seqs: float | None = None, prefix_hit: float | None = None
) -> Capacity:
    """Requests/s that the modelled fleet carries, with its range. CannotSayError as in `load_of`."""
    draws = model.step_time.draws_of()
    hit = model.prefix_hit if prefix_hit is None else prefix_hit
    if hit == "unknown":
        raise CannotSayError(
            "prefix_hit is unknown, and capacity depends on it more than on anything else",
            next="give the share of prompt tokens found in the cache, or a range in the model file",
        )
    hits = _spread(hit, max(len(draws), _LEAST_STEPS if isinstance(hit, Range) else 1), 0.0)
    limits = _limits(model, max_num_seqs, len(hits))
    steps = [draws[i % len(draws)].step_time for i in range(max(len(draws), len(hits), len(limits)))]
    mixes = [mix_at(hits[i % len(hits)]) for i in range(len(steps))]
    bounds = [_bound(model, limits[i % len(limits)], mixes[i]) for i in range(len(steps))]
    return capacity(steps, mixes, bounds, replicas=model.fleet.replicas)


def _limits(model: Model, given: float | None, count: int) -> list[float | None]:
    slots = model.scheduler.static_slots
    said = given if given is not None else (slots if slots is not None else model.scheduler.max_num_seqs)
    if said == "unknown":
        return [None]
    return list(_spread(said, max(count, _LEAST_STEPS if isinstance(said, Range) else 1), 0.5))


def _spread(value: float | Range, count: int, offset: float) -> list[float]:
    """One value, or so many over a range: the golden sequence, whose every stretch is even."""
    if not isinstance(value, Range):
        return [value]
    return [value.low + (value.high - value.low) * ((offset + i * _GOLDEN) % 1.0) for i in range(count)]


def _bound(model: Model, max_num_seqs: float | None, mix: LengthMix) -> BatchLimit:
    s = model.scheduler
    if max_num_seqs is None and s.kv_blocks is None:
        raise CannotSayError(
            "scheduler.max_num_seqs is unknown, and so is the size of the KV cache: nothing bounds the batch",
            next="give max_num_seqs, or a range of it",
        )
    kv_tokens = None if s.kv_blocks is None else float(s.kv_blocks * s.block_tokens)
    found = batch_limit(mix, max_num_seqs=max_num_seqs, token_budget=s.token_budget, kv_tokens=kv_tokens)
    if max_num_seqs is None:  # then the capacity is what the rest allows, and says so
        return BatchLimit(sequences=found.sequences, by=f"{found.by} (max_num_seqs unknown)")
    return found
