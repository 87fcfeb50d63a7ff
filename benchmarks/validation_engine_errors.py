"""Errors of predictions on a real engine: what was seen and predicted for each run, and what that comes to."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq

from caveat.measure import Samples, columns_of
from caveat.simulator import Interval, Model, capacity_of, mix_of
from caveat.simulator.capacity import interval_of
from caveat.simulator.grades import Coverage, Held, measure_coverage
from caveat.simulator.offered import offered_by
from caveat.simulator.predict_draws import inputs_of, simulated
from caveat.workload import Plan

DRAWS = 60
SHARES = {"p50": 0.5, "p95": 0.95}
AIMS = (
    ("TPOT, median error of p50 and p95", ("tpot p50", "tpot p95"), 0.10),
    ("E2E, median error of p50 and p95", ("e2e p50", "e2e p95"), 0.10),
    ("TTFT p95, median error", ("ttft p95",), 0.20),
)
SOURCE = "llama.cpp on one core: five held-out conditions, from two short runs"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one run. `how` is the way to the model; `load` the median load fraction, None in a closed loop."""

    condition: str
    repeat: int
    how: str
    figure: str
    seen: float
    predicted: Interval
    load: float | None
    requests: int

    @property
    def error(self) -> float:
        """Predicted / seen - 1."""
        return self.predicted.median / self.seen - 1

    @property
    def inside(self) -> bool:
        """Whether the interval holds what was seen."""
        return self.predicted.low <= self.seen <= self.predicted.high


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What was aimed at, and what came out. Coverage is aimed at as a range, all else as at most."""

    what: str
    aimed: str
    found: float
    met: bool


def evaluated(condition: str, repeat: int, plan: Plan, samples: Path, model: Model, how: str) -> list[Line]:
    """Every figure of one run beside its prediction for the very same plan."""
    rng = np.random.default_rng([repeat, *condition.encode()])
    offered = offered_by(plan)
    seen = figures(pq.read_table(samples))
    drawn = [figures(one) for one in simulated(model, [plan], inputs_of(model, 0.0, None, DRAWS), rng)][1:]
    load = load_of_plan(model, plan)
    return [
        Line(
            condition=condition,
            repeat=repeat,
            how=how,
            figure=figure,
            seen=value,
            predicted=interval_of(one[figure] for one in drawn),
            load=load,
            requests=offered.requests,
        )
        for figure, value in seen.items()
    ]


def load_of_plan(model: Model, plan: Plan) -> float | None:
    """Rate of a plan by what the model carries of its lengths; None where completions hold back arrivals."""
    offered = offered_by(plan)
    if offered.rate_per_s is None:
        return None
    mix = mix_of(offered.input_tokens, offered.output_tokens)
    return offered.rate_per_s / capacity_of(model, lambda hit: mix).rate_per_s.median


def figures(samples: Samples) -> dict[str, float]:
    """p50 and p95 of times in seconds, by nearest rank, from the moment a request was due."""
    columns = columns_of(samples)
    ready, first, last, end = (
        columns.numbers(name) / 1e9 for name in ("ready_ns", "first_token_ns", "last_token_ns", "end_ns")
    )
    steps = columns.numbers("output_tokens_usage") - 1
    several = steps >= 1
    values = {
        "ttft": first - ready,
        "tpot": (last - first)[several] / steps[several],
        "e2e": end - ready,
    }
    return {
        f"{name} {percentile}": float(ranked[max(0, int(np.ceil(share * len(ranked))) - 1)])
        for name, found in values.items()
        for percentile, share in SHARES.items()
        if len(ranked := np.sort(found[np.isfinite(found)]))
    }


def aims(lines: Sequence[Line]) -> list[Aim]:
    """The fitted model's, over all held-out runs."""
    fitted = [line for line in lines if line.how == "fit"]
    if not fitted:
        return []
    found = []
    for what, names, most in AIMS:
        error = float(np.median([abs(line.error) for line in fitted if line.figure in names]))
        found.append(Aim(what=what, aimed=f"at most {most:.0%}", found=error, met=error <= most))
    share = sum(line.inside for line in fitted) / len(fitted)
    return [*found, Aim(what="80 % intervals that hold", aimed="70 to 95 %", found=share, met=0.7 <= share <= 0.95)]


def coverages_of(lines: Sequence[Line]) -> list[Coverage]:
    """For grade A, of the fitted model: one engine under several conditions, which is one system."""
    fitted = [line for line in lines if line.how == "fit"]
    entries = []
    for figure in dict.fromkeys(line.figure for line in fitted):
        held = [
            Held(seen=o.seen, predicted=o.predicted, system="the engine", condition=o.condition)
            for o in fitted
            if o.figure == figure
        ]
        entries.append(measure_coverage("A", figure, held, SOURCE))
    return entries


def shown(lines: Sequence[Line]) -> Iterator[str]:
    """For the screen."""
    for line in lines:
        p, load = line.predicted, "" if line.load is None else f"load {line.load:.2f}"
        yield (
            f"{line.condition:10}{line.repeat:2} {line.how:7}{line.figure:9} seen {line.seen * 1e3:8.1f} ms, predicted "
            f"{p.median * 1e3:8.1f} ({p.low * 1e3:.1f} to {p.high * 1e3:.1f}) {line.error:+6.1%} "
            f"{'inside' if line.inside else 'OUTSIDE'} {load}"
        )
    for aim in aims(lines):
        yield f"{aim.what}: aimed at {aim.aimed}, found {aim.found:.1%}, {'met' if aim.met else 'missed'}"
