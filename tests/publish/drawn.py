"""A small measured run and a small sweep to draw, the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from caveat.figures import Check, Figure, Provenance, Row, Run, Value, conditions_of
from caveat.measure import Series, Slo, WarmUp, run_of, series_of, summarize
from tests.measure.samples import samples

LOAD: dict[str, Value] = {"arrivals": "constant", "loop": "open", "target_qps": 10.0, "scenario": "constant"}
SYSTEM: dict[str, Value] = {"model": "tiny", "accelerator": "H100", "accelerators": 2, "review": "self-reported"}
HOSTILE = "</script><script>alert(1)</script> \x1b[31m\u202e\ufffe & <img src=x onerror=alert(2)> ]]>"


def table(n: int = 40, *, failed: int = 2) -> pa.Table:
    """Requests every 100 ms; TTFT jumps about from 50 ms on, ten tokens of 10 ms each; the last ones fail."""
    at = np.arange(n)
    errors = [None] * (n - failed) + ["http-5xx"] * failed
    ttft = 0.05 + at * 27 % n * 0.001
    return samples(at * 0.1, ttft + 0.09, ttft_s=ttft, error_class=errors)


def run(**changes: Any) -> tuple[Figure, Series]:
    """The run of the table with its curves; conditions by name."""
    rows = table()
    summary = summarize(rows, workload=LOAD, slo=Slo(ttft_s=0.08, percentile="p90"), warmup=WarmUp(first_requests=10))
    made = run_of(
        summary,
        subject="measured/drawn",
        provenance=Provenance(origin=changes.pop("origin", "measured"), sources=(), tool_version="1"),
        conditions={**SYSTEM, **changes},
        primary="caveat-output-tokens-rate-usage",
    )
    return Figure(made, "caveat-output-tokens-rate-usage"), series_of(rows, queries=30)


def point(
    flying: int, rate: float, tpot_s: float, *, limits: str = "pass", outcome: str = "pass", **conditions: Any
) -> Run:
    """A run of a sweep: so many in flight, tokens/s, seconds a token."""
    keys = ("caveat-output-tokens-rate-usage", "caveat-tpot-usage.p50")
    checks = [("latency limits", limits), ("client health", outcome)]
    values = {**SYSTEM, "concurrency": flying, "loop": "closed", "tpot_limit_s": 0.02, **conditions}
    return Run(
        subject=f"measured/{flying}",
        conditions=conditions_of(values),
        provenance=Provenance(origin="measured", sources=()),
        rows=tuple(Row(metric=key, value=value) for key, value in zip(keys, (rate, tpot_s), strict=True)),
        validity=tuple(
            Check(aspect=aspect, outcome=msgspec.convert(said, type=Any), sentence="so") for aspect, said in checks
        ),
        primary=keys[0],
    )


def sweep() -> list[Run]:
    """Three runs, the last one beyond the limit and not valid."""
    return [point(64, 900, 0.025, limits="fail", outcome="fail"), point(1, 100, 0.01), point(8, 400, 0.0125)]


def golden(name: str) -> Path:
    """The file with what is expected."""
    return Path(__file__).parent / "golden" / name


def settled(spec: dict[str, Any]) -> Any:
    """A specification as JSON reads it, without the lines of its head: those change with caveats and conditions."""
    return json.loads(json.dumps({**spec, "title": {**spec["title"], "subtitle": []}}))


def below_head(lines: list[str]) -> str:
    """The panels of a chart in text."""
    return "\n".join(lines[lines.index("") + 1 :]) + "\n"


def texts(content: Any) -> list[str]:
    """Every text of a specification that is not a key."""
    if isinstance(content, str):
        return [content]
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else []
    return [text for part in parts for text in texts(part)]
