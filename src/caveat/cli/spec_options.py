"""What the options say, as values: lengths, times, limits, conditions, a sweep, an endpoint."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from caveat.errors import CaveatError, InputError, UsageError
from caveat.figures import TABLE, Value
from caveat.loadgen import Decoding
from caveat.measure import SHARES, Slo, WarmUp
from caveat.workload import Fixed, Lognormal, Uniform

_KINDS = {row.key: row.kind for row in TABLE}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "": 1.0}
_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_OWN_FIELDS = ("model", "messages", "prompt", "stream", "max_tokens", "max_completion_tokens", "temperature")
Length = Fixed | Uniform | Lognormal


def length(text: str, option: str = "") -> Length:
    """`512`, `100-900` (uniform) or `lognormal:500:1.2` (mean, cv). UsageError else, naming the option if given."""
    place = f"{option}: " if option else ""
    try:
        return _length(text)
    except InputError as error:
        raise UsageError(f"{place}{error.message}", next=f"change {option or 'the length'}") from error
    except UsageError as error:
        raise UsageError(f"{place}{error.message}", next=error.next) from error


def _length(text: str) -> Length:
    if text.isascii() and text.isdigit():
        return Fixed(value=int(text))
    if found := re.fullmatch(r"(\d+)-(\d+)", text):
        return Uniform(low=int(found[1]), high=int(found[2]))
    if found := re.fullmatch(rf"lognormal:({_NUMBER}):({_NUMBER})", text):
        return Lognormal(mean=float(found[1]), cv=float(found[2]))
    raise UsageError(
        f"found the length {text!r}, expected tokens", next="512, 100-900 (uniform) or lognormal:MEAN:CV; or a file"
    )


def seconds(text: str, option: str = "") -> float:
    """`200ms`, `2s`, `5min`, `1h`, or a bare number of seconds. UsageError else, naming the option if given."""
    found = re.fullmatch(rf"\s*({_NUMBER})\s*(ms|s|min|h)?\s*", text)
    if found is None:
        place = f"{option}: " if option else ""
        raise UsageError(f"{place}found the time {text!r}, expected for instance 200ms, 2s or 5min")
    return float(found[1]) * _SECONDS[found[2] or ""]


def slo(text: str | None) -> Slo | None:
    """`ttft=2s,tpot=200ms,e2e=20s,p95`."""
    if text is None:
        return None
    limits, percentile = _limits(text)
    try:
        return Slo(**limits, percentile=percentile or "p99")
    except CaveatError as error:
        raise UsageError(f"--slo: {error.message.removeprefix('limits: ')}", next=error.next) from error


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
            limits["latency_s" if name in ("e2e", "latency") else f"{name}_s"] = seconds(value, "--slo")
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
    return (
        WarmUp(first_requests=int(text))
        if text.isascii() and text.isdigit()
        else WarmUp(first_s=seconds(text, "--warmup"))
    )


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


def factors(text: str) -> tuple[float, float]:
    """`0.1,0.2`: input and output; one number for both."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise UsageError(f"--scale: found {text!r}, expected INPUT,OUTPUT like 0.1,0.2")
    return numbers[0], numbers[-1]


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


def body_fields(texts: Sequence[str]) -> dict[str, object]:
    """`NAME=VALUE` each, the value as JSON (`top_k=20`, `stop=["END"]`); what is no JSON is a text. UsageError else."""
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError("--extra-body: found no NAME=VALUE, expected one", next="--extra-body top_k=20")
        if name.strip() in _OWN_FIELDS:
            raise UsageError(
                f"--extra-body: found {name.strip()}, which caveat writes by itself",
                next="--temperature, --model, --output and --no-stream say it",
            )
        found[name.strip()] = _json_or_text(value)
    return found


def _json_or_text(value: str) -> object:
    try:
        return msgspec.json.decode(value.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value


def decoding(temperature: str | None, *, exact: bool) -> Decoding:
    """A temperature, or `server` for the one that the server takes by itself; 0 where nothing is said."""
    if temperature is None:
        return Decoding(exact_length=exact)
    if temperature == "server":
        return Decoding(temperature=None, exact_length=exact)
    try:
        return Decoding(temperature=float(temperature), exact_length=exact)
    except (ValueError, UsageError) as error:
        raise UsageError(f"--temperature: found {temperature!r}, expected 0 or more, or server") from error
