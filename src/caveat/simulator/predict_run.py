"""The Run of a prediction: rows with 80 % intervals, conditions and validity that say what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from caveat import __version__
from caveat.figures import METRICS, Check, Outcome, Provenance, Row, Run, Spread, Value, conditions_of
from caveat.measure import Summary
from caveat.simulator.capacity import Interval
from caveat.simulator.disclosed import basis_words, coverage_for, coverage_words, hardware_of
from caveat.simulator.grades import CLAIMS, METRICS_OF, factor_of
from caveat.simulator.load import Load
from caveat.simulator.model_file import Model, Range
from caveat.simulator.standing import Standing
from caveat.workload import Plan, plan_digest

PRIMARY = "caveat-output-tokens-rate-usage"
SHOWN = (
    "caveat-tpot-usage.mean",
    "caveat-tpot-usage.p50",
    "caveat-ttft.p50",
    "caveat-ttft.p95",
    "caveat-latency.mean",
    "caveat-latency.p50",
    "caveat-latency.p95",
    "loadgen-tpot.p99",
    "loadgen-ttft.p99",
    "loadgen-latency.p99",
)
"""Metrics of which a run says how such intervals fared."""
SURE = 0.9
"""Share of draws that makes a limit kept, or missed, rather than unknown."""
_WAITING = (*METRICS_OF["ttft"], *METRICS_OF["e2e"], "caveat-goodput", "caveat-concurrency")
_JUDGE_WAITING = ("early stopping (TTFT)", "steady state")
_NO_CLIENT = ("client health", "arrivals", "latency limits")


def holds_waiting(metric: str) -> bool:
    """Whether a metric holds time in a queue."""
    return metric.startswith(_WAITING)


def left_out(metric: str, *, in_scenario: bool = False) -> bool:
    """What a prediction does not have: bounds that a number of requests certifies, a client's lateness, other people's
    definitions (but in a scenario of theirs)."""
    theirs = not metric.startswith("caveat-")
    return (theirs and not in_scenario) or metric.startswith(("caveat-certified", "caveat-send-lateness"))


def simulated_run(
    model: Model,
    best: Summary,
    intervals: Mapping[str, Interval],
    *,
    subject: str,
    plan: Plan,
    standing: Standing,
    probability: float | None,
    limited: bool,
    drawn: str | None,
    conditions: Mapping[str, Value | None],
) -> Run:
    """`best` is the summary of the model's own best guess: its conditions are those of the run. `drawn` says what is
    behind the intervals; None where the scatter of one run is."""
    load, outside = standing.load, standing.outside
    rows = tuple(_rows(model, best, intervals, drawn))
    keys = {row.metric for row in rows}
    return Run(
        subject=subject,
        provenance=Provenance(origin="simulated", tool_version=__version__),
        conditions=conditions_of(
            {**hardware_of(model), **conditions, **_seen(best, load), **_conditions(model, plan, load, outside)}
        ),
        rows=rows,
        primary=PRIMARY if PRIMARY in keys else None,
        validity=(
            *_kept(best, load),
            *_checks(model, best, keys, load, outside, probability, limited),
        ),
        notes=tuple(_notes(model, keys, standing)),
    )


def _rows(model: Model, best: Summary, intervals: Mapping[str, Interval], drawn: str | None) -> Iterator[Row]:
    for row in best.rows:
        found = intervals.get(row.metric)
        if found is not None:
            factor = factor_of(coverage_for(model, row.metric))
            moved = f"; ends moved out by a factor of {factor:.2f} (grade {model.grade})" if factor > 1 else ""
            spread = row.spread if drawn is None else Spread(low=found.low, high=found.high, method=f"{drawn}{moved}")
            yield Row(metric=row.metric, value=found.median, n=row.n, spread=spread)


def _kept(best: Summary, load: Load | None) -> Iterator[Check]:
    """The checks of the best guess, without those of a client; where waiting is not told, none that judges it."""
    untold = load is not None and load.unpredictable is not None
    for check in best.validity:
        if untold and check.aspect in _JUDGE_WAITING:
            said = "Waiting is not told at this load, and this would tell of it."
            yield Check(aspect=check.aspect, outcome="unknown", sentence=said, metrics=check.metrics)
        elif check.aspect not in _NO_CLIENT:
            yield check


def _seen(best: Summary, load: Load | None) -> dict[str, Value | None]:
    """What the best guess shows, without what holds waiting where that is not told."""
    if load is None or load.unpredictable is None:
        return dict(best.conditions)
    return {key: value for key, value in best.conditions.items() if key not in ("headroom_ttft", "headroom_latency")}


def _conditions(model: Model, plan: Plan, load: Load | None, outside: Sequence[str]) -> dict[str, Value | None]:
    s = model.scheduler
    return {
        "review": "simulated",
        "suite": "own simulation",
        "harness": "caveat",
        "harness_version": __version__,
        "plan": plan_digest(plan),
        "model_grade": model.grade,
        "modelled_server": model.name,
        "validated_range": _range_words(model),
        "extrapolated": bool(outside),
        "modality": "text",
        "load_fraction": None if load is None else load.numbers,
        "continuous_batching": "on",
        "chunked_prefill": "on" if s.chunked_prefill else "off",
        "prefix_caching": _caching(model, plan),
        "speculative_decoding": "on" if s.speculation else "off",
        "disaggregation": "on" if model.fleet.disaggregation else "off",
        "multi_model_routing": "on" if model.fleet.several_models else "off",
    }


def _caching(model: Model, plan: Plan) -> str | None:
    """None where nobody knows."""
    if model.scheduler.prefix_cache:
        return "on"
    hit = model.prefix_hit.high if isinstance(model.prefix_hit, Range) else model.prefix_hit
    if hit == "unknown":
        return None
    return "on" if hit and not plan.block_tokens else "off"


def _range_words(model: Model) -> str:
    ranges = {name: getattr(model.validated, name) for name in model.validated.__struct_fields__}
    said = [f"{name} {r.low:.4g} to {r.high:.4g}" for name, r in ranges.items() if isinstance(r, Range)]
    return ", ".join(said) or "none: nothing was validated"


def _checks(
    model: Model,
    best: Summary,
    keys: set[str],
    load: Load | None,
    outside: Sequence[str],
    probability: float | None,
    limited: bool,
) -> Iterator[Check]:
    inside = "The workload lies in the range in which the model was validated."
    beyond = f"Extrapolated: {'; '.join(outside)}."
    yield Check(aspect="model range", outcome="unknown" if outside else "pass", sentence=beyond if outside else inside)
    if load is not None:
        said = load.unpredictable or load.words
        yield Check(
            aspect="load fraction",
            outcome="fail" if load.unpredictable else "pass",
            sentence=f"{said[0].upper()}{said[1:]}.",
            metrics=tuple(key for key in METRICS if holds_waiting(key)) if load.unpredictable else (),
        )
    if probability is not None:
        outcome: Outcome = "pass" if probability >= SURE else "fail" if probability <= 1 - SURE else "unknown"
        yield Check(
            aspect="latency limits",
            outcome=outcome,
            sentence=f"The limits were kept in {probability:.0%} of the draws of the model.",
        )
    elif limited:
        yield Check(aspect="latency limits", outcome="unknown", sentence="The limits cannot be judged at this load.")
    first = tuple(key for key in sorted(keys) if "ttft" in key)
    if model.grade == "C" and first:
        sentence = f"Of grade C there are {CLAIMS['C']}: none were held against anything."
        yield Check(aspect="model range", outcome="unknown", sentence=sentence, metrics=first)


def _notes(model: Model, keys: set[str], standing: Standing) -> Iterator[str]:
    load, outside = standing.load, standing.outside
    if load is not None:
        c = load.capacity.rate_per_s
        rates = f"{c.median:.4g} requests/s ({c.low:.4g} to {c.high:.4g})"
        yield load.words
        yield f"the modelled server carries {rates} of such requests"
        yield from load.beside
    yield f"modelled server: {model.name}, grade {model.grade}, {basis_words(model)}"
    if standing.hit_words:
        yield standing.hit_words
    if load is not None and load.unpredictable:
        yield f"absent: figures that hold waiting: {load.unpredictable}"
    if outside:
        yield f"extrapolated: {'; '.join(outside)}"
    yield from coverage_words(model, [key for key in SHOWN if key in keys])
    yield from model.provenance.note
