"""A small fixed ledger: two systems with partners, a twin, own runs. What pages are tested with."""

from typing import Any

from caveat.figures import Row, Run
from tests.builders import published_run
from tests.caveats.cases import LENGTH, contested, offline, own

SERVED: dict[str, Any] = {"headroom_ttft": 0.32, "headroom_tpot": 0.35, "target_qps": 3200.0, "completed_qps": 3168.0}
NEAR: dict[str, Any] = {"headroom_ttft": 0.73, "headroom_tpot": 0.76, "target_qps": 3100.0, "completed_qps": 3100.0}


def latencies(p50: float, p90: float, longest: float) -> tuple[Row, ...]:
    rows = (("p50", p50), ("p90", p90), ("max", longest))
    return tuple(Row(metric=f"loadgen-latency.{statistic}", value=value) for statistic, value in rows)


def small_ledger() -> tuple[Run, ...]:
    rack: dict[str, Any] = {"submitter": "CoreWeave", "accelerators": 72, "engine": "TensorRT-LLM"}
    slow: dict[str, Any] = {**rack, "platform": "GB300x72", "accelerator": "GB300"}
    near: dict[str, Any] = {**rack, "platform": "GB200x72", "accelerator": "GB200"}
    twin: dict[str, Any] = {"round": "v6.0", "benchmark": "llama2-70b-99", "accuracy_track": "99"}
    return (
        offline(1136100.0, rows=latencies(300.0, 590.0, 640.0), **slow),
        published_run(944902.0, rows=(LENGTH,), **slow, **SERVED),
        offline(894002.0, rows=latencies(310.0, 540.0, 600.0), **near),
        published_run(910621.0, **near, **NEAR),
        offline(rows=(LENGTH,), output_tokens={"mean": 280.0}),
        published_run(output_tokens={"mean": 267.0}),
        published_run(90000.0, submitter="Dell", platform="XE9785L", availability="preview"),
        published_run(round="v6.0", fingerprint="aa"),
        published_run(fingerprint="aa", **twin),
        contested(submitter="AMD", round="v6.0"),
        published_run(5.0, metric="loadgen-completed-tokens-rate-inferred", benchmark="gptj-99", round="v4.1"),
        own(loop="closed", concurrency=64, scenario="concurrency(64)", harness="some client").run,
    )
