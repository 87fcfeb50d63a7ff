"""The Run of a prediction: rows with 80 % intervals, conditions and validity that say what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from caveat import __version__
from caveat.figures import METRICS, Check, Outcome, Provenance, Row, Run, Spread, Value, conditions_of
from caveat.measure import Summary
from caveat.simulator.capacity import Interval
from caveat.simulator.disclosed import basis_words, hardware_of
from caveat.simulator.grades import CLAIMS, statement
from caveat.simulator.load import Load
from caveat.simulator.model_file import Model, Range
from caveat.workload import Plan, plan_digest

if TYPE_CHECKING:
    from caveat.simulator.predict import Offered

PRIMARY = "caveat-output-tokens-rate-usage"
SHOWN = ("caveat-tpot-usage.p50", "caveat-ttft.p50", "caveat-ttft.p95", "caveat-latency.p50", "caveat-latency.p95")
SURE = 0.9
"""Share of draws that makes a limit kept, or missed, rather than unknown."""
_WAITING = ("caveat-ttft", "caveat-latency", "caveat-normalized-latency", "caveat-goodput", "caveat-concurrency")
_NO_CLIENT = ("client health", "arrivals", "latency limits")


def holds_waiting(metric: str) -> bool:
    """Whether a metric holds time in a queue."""
    return metric.startswith(_WAITING)


def left_out(metric: str, *, in_scenario: bool = False) -> bool:
    """What a prediction does not have: bounds that a number of requests certifies, a client's lateness, other people's
    definitions (but in a scenario of theirs)."""
    theirs = not metric.startswith("caveat-")
    return (theirs and not in_scenario) or metric.startswith(("caveat-certified", "caveat-send-lateness"))


def figure_name(metric: str) -> str:
    """Under which the coverage of a metric's intervals was measured."""
    return metric


def asked_of(offered: Offered, load: Load | None) -> dict[str, float]:
    """What is held against the validated range."""
    asked = {
        "input_tokens": float(offered.input_tokens.mean()),
        "output_tokens": float(offered.output_tokens.mean()),
    }
    if load is not None:
        asked |= {"rate_per_s": load.rate_per_s, "load_fraction": load.fraction.median}
    if offered.concurrency is not None:
        asked["concurrency"] = float(offered.concurrency)
    return asked


def simulated_run(
    model: Model,
    best: Summary,
    intervals: Mapping[str, Interval],
    *,
    subject: str,
    plan: Plan,
    load: Load | None,
    outside: Sequence[str],
    probability: float | None,
    limited: bool,
    draws: int,
    conditions: Mapping[str, Value | None],
) -> Run:
    """`best` is the summary of the model's own best guess: its conditions are those of the run."""
    rows = tuple(_rows(best, intervals, draws))
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
            *(check for check in best.validity if check.aspect not in _NO_CLIENT),
            *_checks(model, best, keys, load, outside, probability, limited),
        ),
        notes=tuple(_notes(model, keys, load, outside)),
    )


def _rows(best: Summary, intervals: Mapping[str, Interval], draws: int) -> Iterator[Row]:
    method = f"80 % of {draws} draws of the model, each a simulation"
    for row in best.rows:
        found = intervals.get(row.metric)
        if found is not None:
            spread = row.spread if draws == 1 else Spread(low=found.low, high=found.high, method=method)
            yield Row(metric=row.metric, value=found.median, n=row.n, spread=spread)


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
        "load_fraction": None if load is None else _fraction(load),
        "continuous_batching": "on",
        "chunked_prefill": "on" if s.chunked_prefill else "off",
        "prefix_caching": "on" if s.prefix_cache or model.prefix_hit else "off",
        "speculative_decoding": "on" if s.speculation else "off",
    }


def _fraction(load: Load) -> dict[str, float]:
    f = load.fraction
    return {"low": f.low, "median": f.median, "high": f.high}


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
        sentence = f"A model of grade C may be asked for {CLAIMS['C']}."
        yield Check(aspect="model range", outcome="unknown", sentence=sentence, metrics=first)


def _notes(model: Model, keys: set[str], load: Load | None, outside: Sequence[str]) -> Iterator[str]:
    if load is not None:
        c = load.capacity.rate_per_s
        rates = f"{c.median:.4g} requests/s ({c.low:.4g} to {c.high:.4g})"
        yield load.words
        yield f"the modelled server carries {rates} of such requests"
    yield f"modelled server: {model.name}, grade {model.grade}, {basis_words(model)}"
    if load is not None and load.unpredictable:
        yield f"absent: figures that hold waiting: {load.unpredictable}"
    if outside:
        yield f"extrapolated: {'; '.join(outside)}"
    if model.provenance.origin != "stated":
        yield from (f"{key}: {statement(model.grade, figure_name(key))}" for key in SHOWN if key in keys)
    yield from model.provenance.note
