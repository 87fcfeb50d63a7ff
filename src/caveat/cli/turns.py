"""Which runs a call of `caveat measure` makes, in which draw each: the points of a sweep, and every point repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from caveat.loadgen import Spec
from caveat.workload import Concurrency, Workload


@dataclass(frozen=True, slots=True)
class Turn:
    """One run that is to be made, and the place of its point among those that were asked for."""

    point: int
    spec: Spec


def turns(specs: Sequence[Spec], repeats: int, *, same_draw: bool) -> list[Turn]:
    """Each point so often, each time drawn from the next seed; with `same_draw` all of them from the one given."""
    return [
        Turn(point, spec if same_draw else redrawn(spec, number))
        for point, spec in enumerate(specs)
        for number in range(repeats)
    ]


def redrawn(spec: Spec, further: int) -> Spec:
    """The same experiment with every seed of its plan so much further on.

    A scenario keeps its draw: the rules name its seeds. A recorded trace has none, unless its times are spread.
    """
    if spec.scenario is not None or further == 0:
        return spec
    if spec.replay is not None:
        replay = msgspec.structs.replace(spec.replay, seed=spec.replay.seed + further)
        return msgspec.structs.replace(spec, replay=replay)
    assert spec.workload is not None  # a spec has one of the two
    return msgspec.structs.replace(spec, workload=_next_draw(spec.workload, further))


def _next_draw(workload: Workload, further: int) -> Workload:
    samples = workload.samples
    if samples is not None:
        samples = msgspec.structs.replace(samples, seed=samples.seed + further)
    return msgspec.structs.replace(workload, seed=workload.seed + further, samples=samples)


def load_words(spec: Spec) -> str:
    """What a run asks of the server: `4 requests/s`, `8 in flight`, or the arrivals by their name."""
    if spec.workload is None:
        return "the replay"
    arrivals = spec.workload.arrivals
    if isinstance(arrivals, Concurrency):
        return f"{arrivals.requests:,} in flight"
    rate_qps = arrivals.rate()
    return arrivals.words() if rate_qps is None else f"{rate_qps:g} requests/s"
