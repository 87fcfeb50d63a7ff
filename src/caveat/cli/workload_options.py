"""The options that describe a workload: small words for the usual ones, a document or a trace for the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from caveat.cli.spec_options import factors, length, seconds
from caveat.errors import InputError, UsageError
from caveat.loadgen import Replay, Spec
from caveat.workload import (
    Arrivals,
    Concurrency,
    Constant,
    Gamma,
    Limits,
    Loadgen,
    Poisson,
    SampleSet,
    Separate,
    Weibull,
    Workload,
    read_workload,
)

DEFAULT_DURATION_S = 60.0
REQUESTS_A_PLACE = 20
"""A closed loop of which nobody said how long it is."""
QUICKEST_S = 0.005
"""No answer is thought to be quicker: how many requests are planned for a closed loop that its clock ends."""
MOST_PLANNED = 2_000_000


# Fields of a workload, and the options that they come from: an error names what its reader wrote.
_OPTIONS = {
    **{f"{kind}.rate_qps": "--rate" for kind in ("poisson", "constant", "gamma")},
    "gamma.cv": "--cv",
    "concurrency.requests": "--concurrency",
    "limits.duration_s": "--duration",
    "limits.requests": "--requests",
    "seed": "--seed",
}


@contextmanager
def said_by(**options: str) -> Iterator[None]:
    """An InputError about one of these fields, raised inside, becomes a UsageError about the option of it."""
    try:
        yield
    except InputError as error:
        field, colon, said = error.message.partition(": ")
        option = options.get(field)
        if option is None or not colon:
            raise
        raise UsageError(f"{option}: {said}", next=f"change {option}") from error


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
    with said_by(**_OPTIONS):
        return _workload(words)


def _workload(words: Words) -> Workload:
    given, wanted = length(words.input or "512", "--input"), length(words.output or "128", "--output")
    lengths = Separate(input=given, output=wanted)
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
    return seconds(words.duration or "", "--duration") if closed else None


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
        return Limits(duration_s=seconds(words.duration, "--duration"), requests=words.requests)
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
    for option, value in (("--first", first), ("--speed", speed), ("--rate-scale", rate_scale)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{option}: found {value:g}, expected more than 0")
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


def at_point(spec: Spec, what: str, value: float) -> Spec:
    """The spec of a file or an earlier run at one point of a sweep. UsageError as in `workload_at`."""
    if spec.workload is None:
        raise UsageError("--sweep: found a replay, expected a workload", next="replay it at several --speed by hand")
    return msgspec.structs.replace(spec, workload=workload_at(spec.workload, what, value))


def workload_at(workload: Workload, what: str, value: float) -> Workload:
    """A whole workload at one point of a sweep, with arrivals of the kind that it has.

    A closed loop of another width makes as many requests a place as before. UsageError for another kind of arrivals.
    """
    with said_by(**dict.fromkeys((*_OPTIONS, "weibull.rate_qps", "loadgen.target_qps"), "--sweep")):
        return _at(workload, what, value)


def _at(workload: Workload, what: str, value: float) -> Workload:
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
