"""Spec: everything that makes a measured run what it is, as a document that can be kept, sent and repeated.

Keys and the values of headers never enter the document: it names the environment variable, and header names alone.

format history
    caveat-spec/1   first version
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from caveat.errors import CaveatError, InputError, UsageError
from caveat.figures import TABLE, Conditions, Value, conditions_of
from caveat.loadgen.body import Decoding
from caveat.loadgen.dataset import DatasetFile, DatasetPlan
from caveat.loadgen.endpoint import HIDDEN, Endpoint
from caveat.loadgen.replay import Replay
from caveat.loadgen.settings import Settings, check_processes
from caveat.measure import Scenario, Slo, WarmUp, offers
from caveat.workload import Concurrency, Limits, Plan, Streams, Workload, explained

FORMAT: Literal["caveat-spec/1"] = "caveat-spec/1"
MAX_BYTES = 64 << 20
MAX_STOP_S = 1e8
SHOWN = "docs/measuring.md has a whole spec, docs/workloads.md every kind of arrivals and lengths with its fields"

# What a person may say of a run. All else is what the run itself shows, or the word of a publisher.
_SAYABLE_GROUPS = ("model", "system", "stack")
_SAYABLE = {
    *(row.key for row in TABLE if row.group in _SAYABLE_GROUPS),
    *("modality", "availability", "power_run", "review"),
}
_REVIEWS = ("unverified", "self-reported")


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One experiment: a workload, an endpoint, how to ask, what to demand, what is known of the system.

    workload        what is offered, as a document; or
    replay          a recorded trace or a traffic profile in its place
    scenario        what the run must keep to, in place of slo and warmup; the workload arrives as it says
    dataset         prompts for the workload's set of samples, each sent as its own text, never salted
    salted          prompts of this run share no beginning with those of any other
    tokenizer_file  words of one token each, and answers counted by it as well; else calibrated by the server's usage
    calibrated      ask the server a few probes first, to learn tokens per word; without, a word is taken for a token
    stop_after_s    closed loops: no request is sent after so long, those in flight are waited for
    known           conditions that only a person knows: accelerator, engine, weight_precision, ...

    Raises UsageError or DocumentError naming the field.
    """

    endpoint: Endpoint
    workload: Workload | None = None
    replay: Replay | None = None
    format: Literal["caveat-spec/1"] = FORMAT
    decoding: Decoding = Decoding()
    settings: Settings = Settings()
    slo: Slo | None = None
    scenario: Scenario | None = None
    dataset: DatasetFile | None = None
    warmup: WarmUp | None = None
    processes: int = 1
    salted: bool = True
    calibrated: bool = True
    tokenizer_file: str | None = None
    stop_after_s: float | None = None
    known: dict[str, Value] = {}

    def __post_init__(self) -> None:
        _check_known(self.known)
        if (self.workload is None) == (self.replay is None):
            raise UsageError("spec: expected either a workload or a replay", next="give one of the two")
        check_processes(self.processes)
        _check_scenario(self)
        if self.processes > 1 and self.workload is not None and isinstance(self.workload.arrivals, Streams):
            raise UsageError(f"processes: found {self.processes}, expected 1: a query of a stream begins in one place")
        if self.dataset is not None and (self.workload is None or self.workload.samples is None):
            raise UsageError("dataset: found no set of samples in the workload", next="give workload.samples")
        if self.stop_after_s is None:
            return
        if not 0 < self.stop_after_s <= MAX_STOP_S:
            raise UsageError(f"stop_after_s: found {self.stop_after_s!r}, expected more than 0 s")
        if self.workload is None or not isinstance(self.workload.arrivals, Concurrency):
            raise UsageError(
                f"stop_after_s: found {self.stop_after_s:g} s beside planned arrivals, expected a closed loop",
                next="give workload.limits.duration_s: it ends the plan itself",
            )

    def plan(self) -> Plan:
        """What is offered, request by request. InputError where the file of a replay or data set is not there."""
        plan = self._offered().plan()
        return plan if self.dataset is None else DatasetPlan(plan, self.dataset.read())

    def salts(self) -> bool:
        """Whether prompts begin with words of this run's own."""
        return self.salted and self.dataset is None

    def seed(self) -> int:
        """The seed of the plan, which the texts of prompts share."""
        return self._offered().seed

    def limits(self) -> Limits:
        """Where the plan ends, as far as the document says it."""
        if self.workload is not None:
            return self.workload.limits
        replay = self.replay or Replay(file="")
        return Limits(replay.first_s, replay.requests)

    def _offered(self) -> Workload | Replay:
        offered = self.workload or self.replay
        assert offered is not None  # one of the two, as checked at construction
        return offered

    def conditions(self) -> Conditions:
        """What the person said of the system."""
        return conditions_of(self.known)

    def kept(self) -> Spec:
        """The spec as it may be written to disk: header values are hidden."""
        hidden = dict.fromkeys(self.endpoint.headers, HIDDEN)
        return msgspec.structs.replace(self, endpoint=msgspec.structs.replace(self.endpoint, headers=hidden))

    def repeated(self, headers: Mapping[str, str]) -> Spec:
        """The spec of an earlier run with its headers' values given anew; UsageError names those that are missing.

        Names are one whatever their case; the names of the earlier run stay as they were.
        """
        given = {name.lower(): (name, value) for name, value in headers.items()}
        both = {}
        for name, value in self.endpoint.headers.items():
            _, both[name] = given.pop(name.lower(), (name, value))
        missing = [name for name, value in both.items() if value == HIDDEN]
        if missing:
            raise UsageError(
                f"the run had headers whose values were not kept: {', '.join(missing)}",
                next="give them again with --header 'NAME: VALUE'",
            )
        both |= dict(given.values())
        return msgspec.structs.replace(self, endpoint=msgspec.structs.replace(self.endpoint, headers=both))


def _check_scenario(spec: Spec) -> None:
    """One demand, not two; and arrivals that are the scenario's."""
    scenario, workload = spec.scenario, spec.workload
    if scenario is None:
        return
    beside = {"slo": spec.slo, "warmup": spec.warmup, "stop_after_s": spec.stop_after_s, "replay": spec.replay}
    beside["settings.warmup_s"] = spec.settings.warmup_s or None
    said = [name for name, value in beside.items() if value is not None]
    if said:
        raise UsageError(f"found {', '.join(said)} beside a scenario, which says it", next=f"leave out {said[0]}")
    if workload is not None and not offers(scenario, workload):
        raise UsageError(
            f"scenario {scenario.name}: found arrivals {workload.arrivals.words()!r}, expected those of the scenario",
            next="arrivals of kind loadgen for server and interactive, burst for offline, streams for the streams",
        )


def _check_known(known: Mapping[str, Value]) -> None:
    """DocumentError for what is no condition, UsageError for what is not a person's to say."""
    conditions_of(known)
    for key in known:
        if key not in _SAYABLE:
            raise UsageError(
                f"known.{key}: found a value, expected none: the run itself says it, or a publisher",
                next="give what only a person knows of model, system and software: docs/conditions.md",
            )
    if known.get("review", _REVIEWS[0]) not in _REVIEWS:
        raise UsageError(f"known.review: found {known['review']!r}, expected one of {', '.join(_REVIEWS)}")


def read_spec(path: Path) -> Spec:
    """The spec in a .toml or .json file; InputError says which field is wrong."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name}: found {path.stat().st_size:,} bytes, expected at most {MAX_BYTES:,}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error
    return decode_spec(data, "json" if path.suffix.lower() == ".json" else "toml", name=path.name)


def decode_spec(data: bytes, form: Literal["toml", "json"], *, name: str = "spec") -> Spec:
    """The spec in a document. Raises InputError with the field; a value is quoted only where it is no secret."""
    plain: object = None
    try:
        plain = msgspec.toml.decode(data) if form == "toml" else msgspec.json.decode(data)
        _refuse_unknown(plain)
        return msgspec.convert(plain, Spec)
    except CaveatError as error:
        raise InputError(f"{name}: {error.message}", next=error.next or SHOWN) from error
    except msgspec.ValidationError as error:
        raise InputError(
            f"{name}: {explained(error, plain, Spec, data.decode(errors='replace'))}", next=SHOWN
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise InputError(f"{name}: not {form.upper()}: {error}", next=SHOWN) from error


def _refuse_unknown(plain: Any) -> None:
    """Dataclasses let unknown fields pass in silence when decoded; an option that is not heard must be refused."""
    for part, record in (("slo", Slo), ("warmup", WarmUp)):
        given = plain.get(part) if isinstance(plain, dict) else None
        names = [field.name for field in dataclasses.fields(record)]
        unknown = [key for key in given if key not in names] if isinstance(given, dict) else []
        if unknown:
            raise InputError(f"{part}: found the field {unknown[0]!r}, expected one of {', '.join(names)}")


def spec_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the document. Bounds, and what excludes what, are known to reading alone."""
    shape = msgspec.json.schema(Spec, schema_hook=_any_value)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:caveat:spec:1", **shape}


def _any_value(hint: type) -> dict[str, Any]:
    """Fields of a body may hold anything."""
    if hint is object:
        return {"description": "any JSON value"}
    raise NotImplementedError  # how a schema hook tells msgspec that a type is not its own; msgspec names it then


def encode_spec(spec: Spec) -> bytes:
    """The spec as JSON with every default written out, header values hidden."""
    return msgspec.json.format(msgspec.json.encode(spec.kept(), order="deterministic"), indent=1) + b"\n"
