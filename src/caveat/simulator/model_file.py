"""Model files: a modelled server as a TOML document, with where it comes from and the range it was validated in.

format history
    caveat-model/1   first version
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from caveat.errors import CannotSayError, CaveatError, InputError
from caveat.simulator.assembly import FleetShape
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.grades import Grade
from caveat.simulator.length_mix import checked_share
from caveat.simulator.scheduler import Policy, Scheduler, Speculation
from caveat.simulator.step_models import RooflineSteps, StepModel

FORMAT = "caveat-model/1"
MAX_BYTES = 4 << 20
_NEXT = "docs/models.md shows a whole model file"
_REASON_LENGTH = 300

Unknown = Literal["unknown"]


class Range(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From low to high, both included."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 <= self.low <= self.high < math.inf):
            raise InputError(f"range: found {self.low} to {self.high}, expected low and high from 0 in order")

    def check(self, name: str, value: float) -> None:
        """InputError for a value outside."""
        if not self.low <= value <= self.high:
            raise InputError(f"{name}: found {value:g}, expected from {self.low:g} to {self.high:g}")


class SchedulerTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `Scheduler` as a document gives them. `max_num_seqs` has no default: a value, a range, or
    "unknown" said aloud. None leaves a limit out because there is none, never because nobody looked."""

    max_num_seqs: int | Range | Unknown
    policy: Policy = "fcfs"
    token_budget: int = 8192
    chunked_prefill: bool = True
    prefill_first: bool = False
    static_slots: int | None = None
    context_tokens: int | None = None
    kv_blocks: int | None = None
    block_tokens: int = 16
    watermark_blocks: int = 0
    prefix_cache: bool = False
    speculation: Speculation | None = None

    def __post_init__(self) -> None:
        least = self.max_num_seqs.low if isinstance(self.max_num_seqs, Range) else self.max_num_seqs
        if least != "unknown" and least < 1:
            raise InputError(f"scheduler.max_num_seqs: found {least:g}, expected a number from 1")
        self._settings(1, Overheads(intake_s=0.0))

    def scheduler(self, overheads: Overheads, *, max_num_seqs: int | None = None) -> Scheduler:
        """The settings to simulate with. CannotSayError where `max_num_seqs` is a range or unknown and none is given;
        InputError where the one given lies outside the range."""
        if max_num_seqs is None and not isinstance(self.max_num_seqs, int):
            raise CannotSayError(
                "scheduler.max_num_seqs is not one number, and waiting depends on it",
                next="give max_num_seqs, or simulate both ends of a range",
            )
        if isinstance(self.max_num_seqs, Range) and max_num_seqs is not None:
            self.max_num_seqs.check("scheduler.max_num_seqs", max_num_seqs)
        chosen = max_num_seqs if max_num_seqs is not None else self.max_num_seqs
        assert isinstance(chosen, int)
        return self._settings(chosen, overheads)

    def _settings(self, max_num_seqs: int, overheads: Overheads) -> Scheduler:
        same = {name: getattr(self, name) for name in self.__struct_fields__ if name != "max_num_seqs"}
        return Scheduler(**same, max_num_seqs=max_num_seqs, intake_s=overheads.intake_s, output_s=overheads.output_s)


class Overheads(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fixed times beside steps: `intake_s` before a request is scheduled (also network and API), `output_s` after
    each token. Where the step model has draws, each draw has its own intake."""

    intake_s: float
    output_s: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"overheads.{name}: found {value}, expected seconds from 0")


class ModelProvenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the model comes from: `sources` are ids of figures or names of fact tables, `note` what was assumed.
    A model made from the samples of another model is "simulated"."""

    origin: Literal["measured", "published", "datasheet", "stated", "simulated"]
    date: str
    tool: str = "caveat"
    tool_version: str = ""
    sources: tuple[str, ...] = ()
    note: tuple[str, ...] = ()


class Validated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The range in which the model was held against what it had not seen. None: nothing was tried, so all is outside.

    rate_per_s, load_fraction, concurrency       of the whole fleet
    input_tokens, output_tokens                  means over requests
    input_cv, output_cv, arrival_cv              standard deviation by mean of lengths, and of the gaps between arrivals
    basis                                        what the range rests on, in words
    """

    rate_per_s: Range | None = None
    load_fraction: Range | None = None
    concurrency: Range | None = None
    input_tokens: Range | None = None
    output_tokens: Range | None = None
    input_cv: Range | None = None
    output_cv: Range | None = None
    arrival_cv: Range | None = None
    basis: str | None = None

    def outside(self, asked: Mapping[str, float | Range]) -> tuple[str, ...]:
        """One sentence for each value asked for that lies outside, or about which nothing was validated. Of a range
        both ends must lie inside."""
        return tuple(said for name, value in asked.items() if (said := self._outside(name, value)))

    def refuse_outside(self, asked: Mapping[str, float | Range]) -> None:
        """CannotSayError (exit 3) where something lies outside."""
        if found := self.outside(asked):
            raise CannotSayError(
                f"outside the range in which the model was validated{self._basis()}: {'; '.join(found)}",
                code="outside-validated-range",
                next="--extrapolate answers all the same, and marks it",
            )

    def _basis(self) -> str:
        return f" ({self.basis})" if self.basis else ""

    def _outside(self, name: str, asked: float | Range) -> str | None:
        known = [field for field in self.__struct_fields__ if field != "basis"]
        if name not in known:
            raise InputError(f"validated: found {name!r}, expected one of {', '.join(known)}")
        given: Range | None = getattr(self, name)
        low, high = (asked.low, asked.high) if isinstance(asked, Range) else (asked, asked)
        said = f"{name} {low:.4g}" + (f" to {high:.4g}" if high > low else "")
        if given is None:
            return f"{said}, of which nothing was validated"
        if given.low <= low and high <= given.high:
            return None
        return f"{said}, validated from {given.low:.4g} to {given.high:.4g}"


class Residual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a calibrated model leaves unexplained, as standard deviations of logarithms.

    condition_sd       how far a whole run is off; every draw of the step holds it already, here it can be read
    ttft_sd, token_sd  how far a single request's first token and time per token are off
    """

    condition_sd: float = 0.0
    ttft_sd: float = 0.0
    token_sd: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not 0 <= value < 10:
                raise InputError(f"residual.{name}: found {value}, expected a number from 0 to 10")


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A modelled server. `prefix_hit` is the share of prompt tokens found in a prefix cache: a value, a range, or
    "unknown"; it counts where a workload has no prefix structure of its own."""

    format: str
    name: str
    grade: Grade
    step_time: StepModel
    overheads: Overheads
    scheduler: SchedulerTable
    prefix_hit: float | Range | Unknown
    provenance: ModelProvenance
    fleet: FleetTable = FleetTable()
    validated: Validated = Validated()
    residual: Residual = Residual()

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise InputError(f"format: found {self.format[:40]!r}, expected {FORMAT!r}")
        most = self.prefix_hit.high if isinstance(self.prefix_hit, Range) else self.prefix_hit
        if most != "unknown":
            checked_share(most)
        self.shape().check(self.fleet.replicas)

    def shape(self, draw: int | None = None) -> FleetShape:
        """The switches of the fleet as the simulator takes them. A token's keys and values that the file does not say
        are those of the model's shape, where its step time has one."""
        step = self.step_time
        kv_bytes = step.replica.kv_bytes_per_token if isinstance(step, RooflineSteps) else None
        return self.fleet.shape(draw, kv_bytes_per_token=kv_bytes)

    @property
    def not_known(self) -> tuple[str, ...]:
        """The inputs that the file itself says are unknown: an answer needs them, or a range of them."""
        names = []
        if self.scheduler.max_num_seqs == "unknown":
            names.append("scheduler.max_num_seqs")
        if self.prefix_hit == "unknown":
            names.append("prefix_hit")
        return tuple(names)


def read_model(path: Path) -> Model:
    """The model in a .toml file. InputError says which field is wrong."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(f"{path.name}: found {size:,} bytes, expected at most {MAX_BYTES:,}", next=_NEXT)
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror or error}", next="check the path") from error
    return decode_model(data, name=path.name)


def decode_model(data: bytes | str, *, name: str = "model") -> Model:
    """The model in a document. InputError with the field, what was found and what was expected."""
    try:
        return msgspec.toml.decode(data, type=Model)
    except CaveatError as error:
        raise InputError(f"{name}: {error.message}", code="model", next=error.next or _NEXT) from error
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, CaveatError):
            raise InputError(f"{name}: {error.__cause__.message}", code="model", next=_NEXT) from error
        what, _, place = str(error).rpartition(" - at ")
        said = f"{place.strip('`').removeprefix('$.')}: {what}" if what else str(error)
        raise InputError(f"{name}: {said[:_REASON_LENGTH]}", code="model", next=_NEXT) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, ValueError) as error:
        raise InputError(f"{name}: not TOML: {str(error)[:_REASON_LENGTH]}", code="model", next=_NEXT) from error


def encode_model(model: Model) -> bytes:
    """The model as TOML; reading it gives the same model."""
    import tomli_w

    return tomli_w.dumps(_plain(model)).encode()


def model_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the document. That draws are equally many and pieces in order is known to reading."""
    shape = msgspec.json.schema(Model)
    shape["$defs"]["Model"]["properties"]["format"] = {"const": FORMAT}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:caveat:model:1", **shape}


def _plain(model: Model) -> dict[str, Any]:
    """Without None, which TOML cannot write and which a default stands for."""
    plain: dict[str, Any] = _without_none(msgspec.to_builtins(model))
    return plain


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_without_none(one) for one in value]
    return value
