"""A plan served by each draw of a model: samples, with the noise of single requests that the model keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from caveat.measure import Kept
from caveat.simulator.assumed_prefix import with_assumed_prefix
from caveat.simulator.model_file import Model, Range, Residual
from caveat.simulator.modelled import server_of
from caveat.simulator.multipliers import Float64
from caveat.simulator.target import VirtualClock
from caveat.workload import Plan

if TYPE_CHECKING:
    import pyarrow as pa

_GOLDEN = 0.6180339887498949  # every stretch of its multiples is even


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What one draw is simulated with. `draw` None is the model's own best guess."""

    draw: int | None
    prefix_hit: float
    max_num_seqs: int | None


def inputs_of(model: Model, prefix_hit: float | Range, max_num_seqs: int | None, draws: int) -> list[Inputs]:
    """The best guess, then so many draws of the model, evenly spread over those that it has. A range is gone through
    evenly, each draw with a value of it; the best guess has its middle."""
    held = len(model.step_time.draws_of())
    places: Sequence[int | None] = [
        None,
        *(place * held // draws if draws <= held else place for place in range(draws)),
    ]
    limit = model.scheduler.max_num_seqs
    seqs = max_num_seqs if max_num_seqs is not None or not isinstance(limit, Range) else limit
    return [
        Inputs(
            draw=draw,
            prefix_hit=_at(prefix_hit, 0.5 if draw is None else place * _GOLDEN % 1.0),
            max_num_seqs=None
            if seqs is None
            else round(_at(seqs, 0.5 if draw is None else (0.5 + place * _GOLDEN) % 1)),
        )
        for place, draw in enumerate(places)
    ]


def simulated(
    model: Model,
    plans: Sequence[Plan],
    inputs: Sequence[Inputs],
    rng: np.random.Generator,
    *,
    stop_after_s: float | None = None,
    stepping: bool = False,
) -> Iterator[pa.Table]:
    """Samples of each draw in turn; the plans are gone around, one for each draw."""
    for place, one in enumerate(inputs):
        yield _samples(model, plans[place % len(plans)], one, rng, stop_after_s, stepping)


def _samples(
    model: Model,
    plan: Plan,
    inputs: Inputs,
    rng: np.random.Generator,
    stop_after_s: float | None,
    stepping: bool,
) -> pa.Table:
    if inputs.prefix_hit > 0 and not plan.block_tokens:
        plan = with_assumed_prefix(plan, inputs.prefix_hit, model.scheduler.block_tokens)
        cached = msgspec.structs.replace(model.scheduler, prefix_cache=True)
        model = msgspec.structs.replace(model, scheduler=cached)
    sink = Kept()
    server = server_of(model, draw=inputs.draw, max_num_seqs=inputs.max_num_seqs)
    server.stop_after_s, server.stepping = stop_after_s, stepping
    server.offer(plan, sink, VirtualClock())
    return noisy(sink.table(), model.residual, rng)


def noisy(samples: pa.Table, residual: Residual, rng: np.random.Generator) -> pa.Table:
    """Samples whose first-token times and times per token are each off by a log-normal factor; medians stay."""
    if not (residual.ttft_sd or residual.token_sd):
        return samples
    ready, first, last = (_numbers(samples, name) for name in ("ready_ns", "first_token_ns", "last_token_ns"))
    factors = np.exp(rng.standard_normal((2, len(ready))) * [[residual.ttft_sd], [residual.token_sd]])
    new_first = np.rint(ready + (first - ready) * factors[0])
    new_last = np.rint(new_first + (last - first) * factors[1])
    for name, values in (
        ("first_byte_ns", new_first),
        ("first_token_ns", new_first),
        ("last_token_ns", new_last),
        ("end_ns", np.where(np.isfinite(new_last), new_last, _numbers(samples, "end_ns"))),
    ):
        samples = _with(samples, name, values)
    return samples


def _with(samples: pa.Table, name: str, values: Float64) -> pa.Table:
    import pyarrow as pa

    unknown = ~np.isfinite(values)
    column = pa.array(np.where(unknown, 0, values).astype(np.int64), mask=unknown)
    place = samples.column_names.index(name)
    return samples.set_column(place, samples.schema.field(place), column)


def _numbers(samples: pa.Table, name: str) -> Float64:
    """NaN where null."""
    return np.asarray(samples.column(name).to_numpy(), dtype=np.float64)


def _at(value: float | Range, share: float) -> float:
    return value.low + (value.high - value.low) * share if isinstance(value, Range) else value
