"""Runs for tests, made from few words: a published result of the kind that real trees hold."""

from pathlib import Path

from caveat.figures import Check, Conditions, Provenance, Row, Run, Source, Value, conditions_of

SHARED = Path(__file__).parent.parent.parent / "shared"
MLPERF = SHARED / "data" / "mlperf"
NO_SHARED = f"the public result trees are not here ({MLPERF.name} data folder beside the checkout)"

PUBLISHED: dict[str, Value] = {
    "benchmark": "llama2-70b-99.9",
    "dataset": "OpenOrca",
    "model": "llama2-70b",
    "accuracy_track": "99.9",
    "input_tokens_max": 1024,
    "output_tokens_cap": 1024,
    "accuracy_tokens_per_sample": 280.0,
    "scenario": "server",
    "loop": "open",
    "arrivals": "poisson",
    "ttft_limit_s": 2.0,
    "tpot_limit_s": 0.2,
    "weight_precision": "fp4",
    "submitter": "AMD",
    "system": "Box of eight",
    "platform": "8xMI355X_2xEPYC_9575F",
    "accelerator": "MI355X",
    "accelerators": 8,
    "accelerators_per_node": 8,
    "nodes": 1,
    "engine": "vLLM 0.20",
    "prefix_caching": "off",
    "suite": "MLPerf Inference",
    "round": "v6.1",
    "division": "closed",
    "availability": "available",
    "system_type": "datacenter",
    "review": "reviewed",
    "power_run": False,
}

METRIC_OF = {
    "offline": "loadgen-offline-tokens-rate",
    "server": "loadgen-completed-tokens-rate",
    "interactive": "loadgen-completed-tokens-rate",
}


def published_conditions(**changes: Value | None) -> Conditions:
    """The conditions above with changes; None takes a condition away (undisclosed)."""
    return conditions_of({**PUBLISHED, **changes})


def published_run(
    value: float = 103275.0,
    *,
    metric: str | None = None,
    subject: str | None = None,
    rows: tuple[Row, ...] = (),
    validity: tuple[Check, ...] | None = None,
    sha256: str = "00",
    **changes: Value | None,
) -> Run:
    """A published result with one rate (and further rows), whatever the changes to its conditions."""
    conditions = published_conditions(**changes)
    scenario = conditions.words("scenario") or "server"
    key = metric or METRIC_OF.get(scenario, "loadgen-completed-tokens-rate")
    place = [str(conditions.get(name)) for name in ("round", "division", "submitter", "platform", "benchmark")]
    return Run(
        subject=subject or "/".join(("mlperf-inference", *place, scenario, "run_1")),
        conditions=conditions,
        provenance=Provenance(
            origin="imported",
            sources=(Source(kind="published-summary", path="summary.csv", sha256=sha256, place="row 2"),),
        ),
        rows=(Row(metric=key, value=value, source_key="Result"), *rows),
        validity=(Check(aspect="review", outcome="pass", sentence="reviewed, log not seen"),)
        if validity is None
        else validity,
        primary=key,
    )
