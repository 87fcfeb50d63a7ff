"""Published figures as evidence: what a Run of someone else's says of the step time, checked by Little's law.

A Server or Interactive run gives one point: so many requests in decode, and the mean time per output token. Two of
one system give an intercept and a slope, and a check whether both ran the same way. Offline gives a rate at a batch
that nobody told. Neither gives other lengths, waiting, prefix caching or the overhead of a network.
"""

from __future__ import annotations

from typing import cast, get_args

import msgspec

from caveat.errors import CannotSayError
from caveat.facts import Accelerator, accelerator_in, accelerator_named, model_named
from caveat.figures import Run
from caveat.simulator.roofline import PRECISIONS, KvPrecision, Roofline

LITTLE_WITHIN = 0.03
"""How far the two ways to N may lie apart; more is a wrong field or unit, or chunks counted as tokens."""
APART = 1.15
"""Two points of one system are two only if one has this many times the requests of the other in decode."""
WEIGHTS_WITHIN = 0.7
"""Share of the usable memory that weights may take when nobody said how a model is spread."""

OPEN_LOOP = ("server", "interactive")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What one open-loop run says of its whole system.

    `sequences` are requests in decode by Little's law from latencies, `sequences_by_tokens` from the token rate and
    TPOT. Percentiles are of the run's own definition. `figures` are ids that the values came from.
    """

    run_id: str
    scenario: str
    rate_per_s: float
    tokens_per_s: float
    output_tokens: float
    sequences: float
    sequences_by_tokens: float
    tpot_s: float
    tpot_min_s: float
    tpot_p99_s: float
    ttft_s: float
    ttft_p99_s: float
    figures: tuple[str, ...]

    @property
    def little_ratio(self) -> float:
        """By tokens / by latencies; 1 where the run is consistent."""
        return self.sequences_by_tokens / self.sequences


class OfflineRate(msgspec.Struct, frozen=True, kw_only=True):
    """Output tokens/s of a whole system that always had work, and its mean output length."""

    run_id: str
    tokens_per_s: float
    output_tokens: float | None
    figures: tuple[str, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Step time of a whole system over requests in decode, through two points: t = intercept + slope x N."""

    intercept_s: float
    slope_s: float
    tpot_min_s: float

    @property
    def holds(self) -> bool:
        """The intercept check: no token ever came faster than the step that an empty batch is said to take."""
        return 0 < self.intercept_s <= self.tpot_min_s and self.slope_s > 0

    def pools_with(self, point: Point) -> bool:
        """Whether another run may be of the same line: its fastest token is no faster than the intercept."""
        return self.holds and self.intercept_s <= point.tpot_min_s


_METRICS = {
    "rate": "loadgen-completed-samples-rate",
    "tokens": "loadgen-completed-tokens-rate",
    "latency": "loadgen-latency.mean",
    "ttft": "loadgen-ttft.mean",
    "ttft_p99": "loadgen-ttft.p99",
    "tpot": "loadgen-tpot.mean",
    "tpot_min": "loadgen-tpot.min",
    "tpot_p99": "loadgen-tpot.p99",
}


def point_of(run: Run) -> Point:
    """The point of a Server or Interactive run.

    N = rate x (mean latency - mean TTFT), and N = (tokens/s - requests/s) x mean TPOT, since the first token of a
    request is not decoded. Raises CannotSayError: another scenario, a figure undisclosed, or N two ways 3 % apart.
    """
    scenario = run.conditions.words("scenario")
    if scenario not in OPEN_LOOP:
        raise CannotSayError(f"run {run.id[:10]}: found scenario {scenario!r}, expected one of {', '.join(OPEN_LOOP)}")
    v = {name: _value(run, metric) for name, metric in _METRICS.items()}
    point = Point(
        run_id=run.id,
        scenario=scenario,
        rate_per_s=v["rate"],
        tokens_per_s=v["tokens"],
        output_tokens=v["tokens"] / v["rate"],
        sequences=v["rate"] * (v["latency"] - v["ttft"]),
        sequences_by_tokens=(v["tokens"] - v["rate"]) * v["tpot"],
        tpot_s=v["tpot"],
        tpot_min_s=v["tpot_min"],
        tpot_p99_s=v["tpot_p99"],
        ttft_s=v["ttft"],
        ttft_p99_s=v["ttft_p99"],
        figures=tuple(f"{run.id}.{metric}" for metric in _METRICS.values()),
    )
    _check_little(point)
    return point


def offline_of(run: Run) -> OfflineRate:
    """The rate of an Offline run. Raises CannotSayError: another scenario, or tokens that were not counted."""
    scenario = run.conditions.words("scenario")
    if scenario != "offline":
        raise CannotSayError(f"run {run.id[:10]}: found scenario {scenario!r}, expected offline")
    metric = "loadgen-offline-tokens-rate"
    lengths = run.conditions.numbers("output_tokens")
    return OfflineRate(
        run_id=run.id,
        tokens_per_s=_value(run, metric),
        output_tokens=lengths.get("mean") or run.conditions.number("accuracy_tokens_per_sample"),
        figures=(f"{run.id}.{metric}",),
    )


def line_through(one: Point, other: Point) -> Line:
    """Intercept and slope from two points of one system. CannotSayError where their loads are too alike."""
    low, high = sorted((one, other), key=lambda point: point.sequences)
    if high.sequences < APART * low.sequences:
        raise CannotSayError(
            f"two runs with {low.sequences:,.0f} and {high.sequences:,.0f} requests in decode are one point, not two",
            next=f"runs whose loads differ by a factor of {APART}",
        )
    slope_s = (high.tpot_s - low.tpot_s) / (high.sequences - low.sequences)
    return Line(
        intercept_s=low.tpot_s - slope_s * low.sequences,
        slope_s=slope_s,
        tpot_min_s=min(low.tpot_min_s, high.tpot_min_s),
    )


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How a system holds the model: `replicas` copies of `roofline`, which says how many accelerators each takes.

    `assumed` is true where nobody said so and the narrowest spread that fits was taken.
    """

    roofline: Roofline
    replicas: int
    assumed: bool = True


def layout_of(run: Run, *, tensor_parallel: int | None = None) -> Layout:
    """The replicas of a published system. Raises CannotSayError where accelerator, count, model or precision is not
    known, or where the weights fit nowhere.

    Unless `tensor_parallel` is given, the smallest power of two is taken at which weights take up to 70 % of memory.
    A KV cache whose precision is undisclosed is taken as FP8 beside weights of 8 bits or fewer: most published runs
    hold more requests than a wider one would have room for.
    """
    c = run.conditions
    accelerator, count = _accelerator(run), c.number("accelerators")
    model = model_named(c.words("model") or c.words("benchmark") or "")
    precision = (c.words("weight_precision") or "").lower()
    if model is None or precision not in PRECISIONS or not count:
        raise CannotSayError(
            f"run {run.id[:10]}: model {c.words('model')!r}, weight precision {precision!r} and "
            f"{count} accelerators do not make a roofline"
        )
    degree = tensor_parallel or _narrowest(accelerator, model.id, precision, int(count))
    if int(count) % degree:
        raise CannotSayError(f"run {run.id[:10]}: {count:g} accelerators are not whole groups of {degree}")
    roofline = Roofline(
        accelerator=accelerator.id,
        model=model.id,
        tensor_parallel=degree,
        precision=precision,
        kv_precision=_kv_precision(run, precision),
    )
    return Layout(roofline=roofline, replicas=int(count) // degree, assumed=tensor_parallel is None)


def _accelerator(run: Run) -> Accelerator:
    stated, family = run.conditions.words("accelerator_stated"), run.conditions.words("accelerator")
    found = accelerator_in(stated or "") or accelerator_named(family or "")
    if found is None:
        raise CannotSayError(f"run {run.id[:10]}: no specifications are known of {stated or family!r}")
    return found


def _kv_precision(run: Run, weights: str) -> KvPrecision:
    stated = (run.conditions.words("kv_cache_precision") or "").lower()
    for known in get_args(KvPrecision):
        if stated == known:
            return cast(KvPrecision, known)
    return "fp8" if PRECISIONS[weights].weight_bytes <= 1 else "bf16"


def _narrowest(accelerator: Accelerator, model: str, precision: str, count: int) -> int:
    memory_gb = accelerator.memory_usable_gb or accelerator.memory_gb
    degree = 1
    while degree <= count and memory_gb:
        one = Roofline(accelerator=accelerator.id, model=model, tensor_parallel=degree, precision=precision)
        if one.weight_bytes <= WEIGHTS_WITHIN * degree * memory_gb * 1e9:
            return degree
        degree *= 2
    raise CannotSayError(f"{model} in {precision} does not fit into {count} x {accelerator.id}")


def _check_little(point: Point) -> None:
    if not (point.sequences > 0 and abs(point.little_ratio - 1) <= LITTLE_WITHIN):
        raise CannotSayError(
            f"run {point.run_id[:10]}: {point.sequences:,.1f} requests in decode by latency and "
            f"{point.sequences_by_tokens:,.1f} by tokens, expected within {LITTLE_WITHIN:.0%} of each other",
            next="a wrong unit, or chunks counted as tokens: leave this run out",
        )


def _value(run: Run, metric: str) -> float:
    row = run.row(metric)
    if row is None or not row.value > 0:
        raise CannotSayError(f"run {run.id[:10]}: {metric} is not disclosed", next="import the log of the run")
    return row.value
