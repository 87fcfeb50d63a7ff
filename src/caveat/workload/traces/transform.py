"""Changes to a recording that leave a trace of themselves: cut, thinned, scaled, sped up, spread within clock steps."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_SPAN_S, MAX_TOKENS, between
from caveat.workload.loadgen_schedule import MAX_SPAN_NS
from caveat.workload.plan import Int64, Whole
from caveat.workload.streams import Stream
from caveat.workload.traces.audit import on_grid
from caveat.workload.traces.recording import Recording


def first_seconds(recording: Recording, seconds: float) -> Recording:
    """The requests of the first so many seconds."""
    between("first", seconds, 1e-9, MAX_SPAN_S, next="change --first, or first_s of the replay")
    count = int(np.searchsorted(recording.t_ns, round(seconds * NS_PER_S)))
    return recording.at(slice(0, count)).changed(f"first {seconds:g} s")


def thinned(recording: Recording, every: int, *, start: int = 0) -> Recording:
    """Every k-th request, beginning with number `start`: the rate divided by k, less bursty, and less is reused."""
    between("thin", every, 1, 1 << 40, next="change --thin, or thin of the replay")
    between("start", start, 0, every - 1)
    return recording.at(slice(start, None, every)).changed(f"every {_ordinal(every)} request")


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def scaled_lengths(recording: Recording, *, input: float = 1.0, output: float = 1.0) -> Recording:
    """Lengths times a factor, at least one token; blocks shrink or grow with the input, so that their ids stay."""
    for name, factor in (("input", input), ("output", output)):
        between(f"scale of {name}", factor, 1e-6, 1e6, next=f"change --scale, or scale_{name} of the replay")
    columns = {
        "input_tokens": _scaled(recording.input_tokens, input),
        "output_tokens": _scaled(recording.output_tokens, output),
    }
    changed = recording.changed(f"input x {input:g}, output x {output:g}", **columns)
    if not recording.has_blocks or input == 1.0:
        return changed
    size = max(1, round(recording.block_tokens * input))
    most = -(-columns["input_tokens"] // size)
    counts = np.minimum(recording.block_counts(), most)
    place = np.arange(len(recording.prefix_blocks)) - np.repeat(
        recording.prefix_ends - recording.block_counts(), recording.block_counts()
    )
    kept = place < np.repeat(counts, recording.block_counts())
    return replace(
        changed, prefix_ends=np.cumsum(counts), prefix_blocks=recording.prefix_blocks[kept], block_tokens=size
    )


def sped_up(recording: Recording, speed: float) -> Recording:
    """All times divided by a factor; above 1 is faster."""
    between("speed", speed, 1e-3, 1e6, next="change --speed, or speed of the replay")
    between("last time / speed", float(recording.t_ns[-1]) / speed if len(recording) else 0.0, 0, MAX_SPAN_NS)
    faster = recording.changed(f"{speed:g} times as fast", t_ns=_times(recording.t_ns, speed))
    grid_ns = round(recording.source.grid_ns / speed)
    return replace(faster, source=msgspec.structs.replace(faster.source, grid_ns=grid_ns))


def spread_within_steps(recording: Recording, seed: int = 0) -> Recording:
    """Requests of a clock that steps, spread evenly within their steps; as it is where the clock does not step."""
    grid_ns = recording.source.grid_ns
    if not grid_ns:
        return recording
    within = np.floor(Stream(seed).uniforms(len(recording)) * grid_ns).astype(np.int64)
    t_ns = on_grid(recording.t_ns, grid_ns) + within
    order = np.argsort(t_ns, kind="stable")
    spread = recording.changed(f"spread within steps of {grid_ns / NS_PER_S:g} s").at(order)
    return replace(spread, t_ns=t_ns[order], source=msgspec.structs.replace(spread.source, grid_ns=0))


def _scaled(tokens: Whole, factor: float) -> Whole:
    if factor == 1.0:
        return tokens
    scaled = np.rint(tokens * factor).astype(np.int64)
    clipped: Int64 = np.minimum(np.maximum(scaled, np.minimum(tokens, 1)), MAX_TOKENS)
    return clipped


def _times(t_ns: Int64, speed: float) -> Int64:
    return t_ns if speed == 1.0 else np.rint(t_ns / speed).astype(np.int64)
