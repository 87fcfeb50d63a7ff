"""The options of `caveat measure` as a Spec: small words for the usual workloads, files for the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import UsageError
from caveat.figures import TABLE, Value
from caveat.loadgen import Endpoint, Spec
from caveat.measure import Slo, WarmUp
from caveat.workload import (
    Arrivals,
    Concurrency,
    Constant,
    Fixed,
    Gamma,
    Limits,
    Lognormal,
    Poisson,
    Separate,
    Uniform,
    Workload,
    read_workload,
)

_KINDS = {row.key: row.kind for row in TABLE}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "": 1.0}

Length = Fixed | Uniform | Lognormal


def length(text: str) -> Length:
    """`512`, `100-900` (uniform) or `lognormal:500:1.2` (mean, cv). UsageError else."""
    if text.isdigit():
        return Fixed(value=int(text))
    if found := re.fullmatch(r"(\d+)-(\d+)", text):
        return Uniform(low=int(found[1]), high=int(found[2]))
    if found := re.fullmatch(r"lognormal:([\d.]+):([\d.]+)", text):
        return Lognormal(mean=float(found[1]), cv=float(found[2]))
    raise UsageError(
        f"found the length {text!r}, expected tokens", next="512, 100-900 (uniform) or lognormal:MEAN:CV; or a file"
    )


def seconds(text: str) -> float:
    """`200ms`, `2s`, `5min`, `1h`, or a bare number of seconds."""
    found = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|min|h)?\s*", text)
    try:
        return float(found[1]) * _SECONDS[found[2] or ""] if found else float("nan") or float(text)
    except ValueError as error:
        raise UsageError(f"found the time {text!r}, expected for instance 200ms, 2s or 5min") from error


def slo(text: str | None) -> Slo | None:
    """`ttft=2s,tpot=200ms,e2e=20s,p95`."""
    if text is None:
        return None
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if value and name in ("ttft", "tpot", "e2e", "latency"):
            values["latency_s" if name in ("e2e", "latency") else f"{name}_s"] = seconds(value)
        elif re.fullmatch(r"p[\d.]+", part):
            values["percentile"] = part
        else:
            raise UsageError(f"--slo: found {part!r}, expected ttft=, tpot=, e2e= or a percentile like p95")
    return Slo(**values)


def warmup(text: str | None) -> WarmUp | None:
    """`10s` or `2min`, `100` (requests), or `steady`."""
    if text is None:
        return None
    if text == "steady":
        return WarmUp(until_steady=True)
    return WarmUp(first_requests=int(text)) if text.isdigit() else WarmUp(first_s=seconds(text))


def headers(texts: Sequence[str]) -> dict[str, str]:
    """`Name: value` each."""
    found = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon:
            raise UsageError("--header: found no colon, expected 'NAME: VALUE'")
        found[name.strip()] = value.strip()
    return found


def known(texts: Sequence[str]) -> dict[str, Value]:
    """Conditions as KEY=VALUE, each as the kind that the table asks."""
    return {key: _typed(key, value) for key, _, value in (text.partition("=") for text in texts)}


def _typed(key: str, value: str) -> Value:
    kind = _KINDS.get(key)
    if kind is None:
        raise UsageError(f"--known: no condition is called {key!r}", next="docs/conditions.md lists all")
    try:
        if kind == "count":
            return int(value)
        if kind in ("number", "seconds"):
            return float(value)
    except ValueError as error:
        raise UsageError(f"--known: found {key}={value!r}, expected a number") from error
    return value in ("yes", "true") if kind == "flag" else value


def workload(
    *,
    rate: float | None,
    cv: float | None,
    concurrency: int | None,
    input_length: str,
    output_length: str,
    duration: str | None,
    requests: int | None,
    seed: int,
) -> Workload:
    """The usual workloads: Poisson or gamma or constant arrivals, or so many in flight."""
    lengths = Separate(input=length(input_length), output=length(output_length))
    if (rate is None) == (concurrency is None):
        raise UsageError("a workload needs either --rate or --concurrency", next="or --workload FILE, or --spec FILE")
    if concurrency is not None:
        limits = Limits(requests=requests if requests is not None else 20 * concurrency)
        return Workload(arrivals=Concurrency(requests=concurrency), lengths=lengths, seed=seed, limits=limits)
    limits = Limits(duration_s=seconds(duration or "60s"), requests=requests)
    return Workload(arrivals=_arrivals(rate or 0.0, cv), lengths=lengths, seed=seed, limits=limits)


def _arrivals(rate: float, cv: float | None) -> Arrivals:
    """cv of the gaps: none or 1 is Poisson, 0 is constant, else gamma."""
    if cv is None or cv == 1:
        return Poisson(rate_qps=rate)
    return Constant(rate_qps=rate) if cv == 0 else Gamma(rate_qps=rate, cv=cv)


def workload_file(path: Path) -> Workload:
    """A workload document."""
    return read_workload(path)


def at_point(spec: Spec, what: str, value: float) -> Spec:
    """The spec at one point of a sweep: another rate, or another number in flight."""
    arrivals: Any = spec.workload.arrivals
    limits = spec.workload.limits
    if what == "concurrency":
        new: Arrivals = Concurrency(requests=int(value))
        limits = Limits(requests=limits.requests or int(20 * value))
    elif hasattr(arrivals, "rate_qps"):
        new = msgspec.structs.replace(arrivals, rate_qps=value)
    else:
        new = Poisson(rate_qps=value)
        limits = limits if limits.duration_s is not None else Limits(duration_s=60.0)
    return msgspec.structs.replace(spec, workload=msgspec.structs.replace(spec.workload, arrivals=new, limits=limits))


def sweep(text: str) -> tuple[str, tuple[float, ...]]:
    """`rate=1,2,4` or `concurrency=1,8,64`."""
    what, _, values = text.partition("=")
    try:
        points = tuple(float(value) for value in values.split(","))
    except ValueError:
        points = ()
    if what not in ("rate", "concurrency") or not points or any(not value > 0 for value in points):
        raise UsageError(f"--sweep: found {text!r}, expected rate=1,2,4 or concurrency=1,8,64")
    return what, points


def endpoint(
    url: str, model: str, *, key_env: str | None, header: Sequence[str], completions: bool, stream: bool
) -> Endpoint:
    """The endpoint that the options describe."""
    return Endpoint(
        url=url,
        model=model,
        key_env=key_env,
        headers=headers(header),
        dialect="openai-completions" if completions else "openai-chat",
        stream=stream,
    )
