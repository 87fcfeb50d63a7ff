"""Official runs for tests: short, against an endpoint of ours, with the seeds of a real round."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from caveat.loadgen import Endpoint, Settings
from caveat.loadgen.official import OfficialRun, OfficialSettings, official_run

needs_loadgen = pytest.mark.skipif(
    importlib.util.find_spec("mlperf_loadgen") is None, reason="the package mlcommons-loadgen is not installed"
)

SEEDS = {
    "qsl_seed": 2085463073848966840,
    "sample_index_seed": 2747215439041700203,
    "schedule_seed": 16159082839903944936,
}
SHORT: dict[str, Any] = {
    **SEEDS,
    "scenario": "server",
    "target_qps": 100.0,
    "min_duration_s": 0.0,
    "min_queries": 8,
    "input_tokens": (12,),
    "output_tokens": (4,),
}
LIMITS = {"ttft_s": 2.0, "tpot_s": 2.0}


def settings(**changes: Any) -> OfficialSettings:
    """Eight queries of a server scenario, or what the changes make of them."""
    asked = {**SHORT, **changes}
    if asked["scenario"] == "server" and asked.get("token_latencies", True):
        asked = {**LIMITS, **asked}
    return OfficialSettings(**asked)


def ran(
    url: str, folder: Path, *, deadline_s: float = 20.0, environ: Any = None, progress: Any = None, **changes: Any
) -> OfficialRun:
    """Run it."""
    fields = {key: changes.pop(key) for key in list(changes) if key in Endpoint.__struct_fields__}
    endpoint = Endpoint(**{"url": url, "model": "m", **fields})
    run = settings(**{"client": Settings(timeout_s=5.0), **changes})
    return official_run(run, endpoint, folder, deadline_s=deadline_s, environ=environ, progress=progress)
