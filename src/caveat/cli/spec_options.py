"""The options of `caveat measure` as a Spec: small words for the usual workloads, files for the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from caveat.errors import UsageError
from caveat.figures import TABLE, Value
from caveat.loadgen import Endpoint, Replay, Spec
from caveat.measure import SHARES, Slo, WarmUp
from caveat.workload import (
    Arrivals,
    Concurrency,
    Constant,
    Fixed,
    Gamma,
    Limits,
    Loadgen,
    Lognormal,
    Poisson,
    SampleSet,
    Separate,
    Uniform,
    Weibull,
    Workload,
    read_workload,
)

_KINDS = {row.key: row.kind for row in TABLE}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "": 1.0}
_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
DEFAULT_DURATION_S = 60.0
REQUESTS_A_PLACE = 20
"""A closed loop of which nobody said how long it is."""
QUICKEST_S = 0.005
"""No answer is thought to be quicker: how many requests are planned for a closed loop that its clock ends."""
MOST_PLANNED = 2_000_000

Length = Fixed | Uniform | Lognormal


def length(text: str) -> Length:
    """`512`, `100-900` (uniform) or `lognormal:500:1.2` (mean, cv). UsageError else."""
    if text.isascii() and text.isdigit():
        return Fixed(value=int(text))
    if found := re.fullmatch(r"(\d+)-(\d+)", text):
        return Uniform(low=int(found[1]), high=int(found[2]))
    if found := re.fullmatch(rf"lognormal:({_NUMBER}):({_NUMBER})", text):
        return Lognormal(mean=float(found[1]), cv=float(found[2]))
    raise UsageError(
        f"found the length {text!r}, expected tokens", next="512, 100-900 (uniform) or lognormal:MEAN:CV; or a file"
    )


def seconds(text: str) -> float:
    """`200ms`, `2s`, `5min`, `1h`, or a bare number of seconds."""
    found = re.fullmatch(rf"\s*({_NUMBER})\s*(ms|s|min|h)?\s*", text)
    if found is None:
        raise UsageError(f"found the time {text!r}, expected for instance 200ms, 2s or 5min")
    return float(found[1]) * _SECONDS[found[2] or ""]


def slo(text: str | None) -> Slo | None:
    """`ttft=2s,tpot=200ms,e2e=20s,p95`."""
    if text is None:
        return None
    limits, percentile = _limits(text)
    return Slo(**limits, percentile=percentile or "p99")


def limit_values(text: str | None) -> dict[str, float]:
    """The same as fields of a scenario, the percentile as a share; empty for nothing."""
    limits, percentile = _limits(text or "")
    if percentile is None:
        return limits
    if percentile not in SHARES:
        raise UsageError(f"--slo: found the percentile {percentile!r}, expected one of {', '.join(SHARES)}")
    return {**limits, "percentile": SHARES[percentile]}


def _limits(text: str) -> tuple[dict[str, float], str | None]:
    """Limits by field, and the percentile where one was named."""
    limits: dict[str, float] = {}
    percentile = None
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if value and name in ("ttft", "tpot", "e2e", "latency"):
            limits["latency_s" if name in ("e2e", "latency") else f"{name}_s"] = seconds(value)
        elif re.fullmatch(r"p[\d.]+", part):
            percentile = part
        else:
            raise UsageError(f"--slo: found {part!r}, expected ttft=, tpot=, e2e= or a percentile like p95")
    return limits, percentile


def warmup(text: str | None) -> WarmUp | None:
    """`10s` or `2min`, `100` (requests), or `steady`."""
    if text is None:
        return None
    if text == "steady":
        return WarmUp(until_steady=True)
    return WarmUp(first_requests=int(text)) if text.isascii() and text.isdigit() else WarmUp(first_s=seconds(text))


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
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not value.strip():
            raise UsageError(f"--known: found {text!r}, expected KEY=VALUE", next="--known accelerator=H100")
        found[key.strip()] = _typed(key.strip(), value.strip())
    return found


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
    if kind != "flag":
        return value
    if value not in ("yes", "true", "no", "false"):
        raise UsageError(f"--known: found {key}={value!r}, expected yes or no")
    return value in ("yes", "true")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The small words for a workload. None is what was not said."""

    rate: float | None = None
    cv: float | None = None
    concurrency: int | None = None
    input: str | None = None
    output: str | None = None
    duration: str | None = None
    requests: int | None = None
    seed: int | None = None

    def at(self, what: str, value: float) -> Words:
        """The same at one point of a sweep. UsageError where the swept option was given as well."""
        if self.rate is not None or self.concurrency is not None:
            raise UsageError("found --sweep beside --rate or --concurrency, expected one of them")
        return replace(self, rate=value) if what == "rate" else replace(self, concurrency=int(value))


def workload(words: Words) -> Workload:
    """The usual workloads: Poisson or gamma or constant arrivals, or so many in flight."""
    lengths = Separate(input=length(words.input or "512"), output=length(words.output or "128"))
    if (words.rate is None) == (words.concurrency is None):
        raise UsageError("a workload needs either --rate or --concurrency", next="or --workload FILE, or --spec FILE")
    if words.concurrency is not None:
        arrivals: Arrivals = Concurrency(requests=words.concurrency)
        limits = _closed_limits(words)
    else:
        arrivals, limits = _arrivals(words.rate or 0.0, words.cv), _open_limits(words)
    return Workload(arrivals=arrivals, lengths=lengths, seed=words.seed or 0, limits=limits)


def workload_of_set(words: Words, size: int) -> Workload:
    """The same over the samples of a data set, whose prompts have the lengths that they have."""
    if words.input is not None:
        raise UsageError("found --input beside --dataset, whose prompts are as long as they are", next="leave it out")
    usual = workload(replace(words, input="1", output=words.output or "1024"))
    return msgspec.structs.replace(usual, samples=SampleSet(size=size, seed=words.seed or 0))


def stop_after_s(words: Words) -> float | None:
    """When the clock ends a closed loop; open arrivals end by their plan."""
    closed = words.concurrency is not None and words.duration is not None
    return seconds(words.duration or "") if closed else None


def _closed_limits(words: Words) -> Limits:
    places = words.concurrency or 0
    if words.cv is not None:
        raise UsageError("found --cv beside --concurrency, expected it beside --rate: a closed loop plans no gaps")
    if words.requests is not None:
        return Limits(requests=words.requests)
    lasting_s = stop_after_s(words)
    if lasting_s is None:
        return Limits(requests=REQUESTS_A_PLACE * places)
    return Limits(requests=max(1, min(MOST_PLANNED, math.ceil(places * lasting_s / QUICKEST_S))))


def _open_limits(words: Words) -> Limits:
    if words.duration is not None:
        return Limits(duration_s=seconds(words.duration), requests=words.requests)
    return Limits(requests=words.requests) if words.requests else Limits(duration_s=DEFAULT_DURATION_S)


def _arrivals(rate: float, cv: float | None) -> Arrivals:
    """cv of the gaps: none or 1 is Poisson, 0 is constant, else gamma."""
    if cv is None or cv == 1:
        return Poisson(rate_qps=rate)
    return Constant(rate_qps=rate) if cv == 0 else Gamma(rate_qps=rate, cv=cv)


def workload_file(path: Path) -> Workload:
    """A workload document."""
    return read_workload(path)


def replayed(
    file: Path | None,
    *,
    first: float | None,
    thin: int,
    speed: float,
    scale: str | None,
    spread: bool,
    rate_scale: float,
) -> Replay | None:
    """The replay that the options describe; None without a file. UsageError for its options without one."""
    changes = {"--first": first, "--scale": scale, "--spread": spread or None}
    said = [name for name, value in changes.items() if value is not None]
    said += [n for n, v in (("--thin", thin), ("--speed", speed), ("--rate-scale", rate_scale)) if v != 1]
    if file is None:
        if said:
            raise UsageError(
                f"found {', '.join(said)} without --replay", next="give the trace or profile with --replay"
            )
        return None
    by_input, by_output = factors(scale) if scale is not None else (1.0, 1.0)
    return Replay(
        file=str(file),
        first_s=first,
        thin=thin,
        speed=speed,
        scale_input=by_input,
        scale_output=by_output,
        spread=spread,
        rate_scale=rate_scale,
    )


def factors(text: str) -> tuple[float, float]:
    """`0.1,0.2`: input and output; one number for both."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise UsageError(f"--scale: found {text!r}, expected INPUT,OUTPUT like 0.1,0.2")
    return numbers[0], numbers[-1]


def at_point(spec: Spec, what: str, value: float) -> Spec:
    """The spec of a file or an earlier run at one point of a sweep. UsageError as in `workload_at`."""
    if spec.workload is None:
        raise UsageError("--sweep: found a replay, expected a workload", next="replay it at several --speed by hand")
    return msgspec.structs.replace(spec, workload=workload_at(spec.workload, what, value))


def workload_at(workload: Workload, what: str, value: float) -> Workload:
    """A whole workload at one point of a sweep, with arrivals of the kind that it has.

    A closed loop of another width makes as many requests a place as before. UsageError for another kind of arrivals.
    """
    arrivals, limits = workload.arrivals, workload.limits
    new: Arrivals
    if what == "rate" and isinstance(arrivals, Poisson | Constant | Gamma | Weibull):
        new = msgspec.structs.replace(arrivals, rate_qps=value)
    elif what == "rate" and isinstance(arrivals, Loadgen):
        new = msgspec.structs.replace(arrivals, target_qps=value)
    elif what == "concurrency" and isinstance(arrivals, Concurrency):
        new = Concurrency(requests=int(value))
        limits = Limits(requests=math.ceil((limits.requests or 1) * value / arrivals.requests))
    else:
        raise UsageError(
            f"--sweep {what}: the workload's arrivals are {arrivals.words()}",
            next="sweep rate where a rate is given, and concurrency where a number in flight is",
        )
    return msgspec.structs.replace(workload, arrivals=new, limits=limits)


def sweep(text: str) -> tuple[str, tuple[float, ...]]:
    """`rate=1,2,4` or `concurrency=1,8,64`."""
    what, _, values = text.partition("=")
    try:
        points = tuple(float(value) for value in values.split(","))
    except ValueError:
        points = ()
    wrong = what not in ("rate", "concurrency") or not points or any(not 0 < value < math.inf for value in points)
    if wrong or (what == "concurrency" and any(not value.is_integer() for value in points)):
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
