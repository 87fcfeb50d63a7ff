"""One experiment: probes, plan, run, self-measurement and engine facts, all kept in one folder.

    spec.json         the resolved spec, without keys
    samples.parquet   one row a request; while the run goes, samples.parquet.parts/
    notes.json        what was learned around the run: plan digest, probes, client, engine facts

`record.py` makes the Run from the folder alone, so that a killed run still gives what it had.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from caveat.errors import CannotSayError
from caveat.loadgen.client_calibration import ClientCalibration
from caveat.loadgen.clock import WallClock
from caveat.loadgen.engine import EngineFacts, engine_facts
from caveat.loadgen.generator import HttpTarget
from caveat.loadgen.probe import calibrate_prompts
from caveat.loadgen.prompts import PromptSettings, fresh_salt
from caveat.loadgen.selfcheck import ClientHealth
from caveat.loadgen.spec import Spec, encode_spec
from caveat.loadgen.tokens import TokenCalibration
from caveat.measure import Cancel, Live, ParquetSink, Tee
from caveat.workload import plan_digest

SPEC, SAMPLES, NOTES = "spec.json", "samples.parquet", "notes.json"


class Notes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learned around a run. None is what was not looked for or not reached."""

    format: str = "caveat-notes/1"
    version: str
    started: str
    plan: str
    salt: int | None = None
    prompts: TokenCalibration | None = None
    prompts_unknown: str | None = None
    before: EngineFacts | None = None
    after: EngineFacts | None = None
    health: ClientHealth | None = None
    calibration: ClientCalibration | None = None
    interrupted: bool = False


class Watched(msgspec.Struct, frozen=True):
    """What a live view needs: how it goes, the plan's clock, and the planned end of arrivals."""

    live: Live
    clock: WallClock


def experiment(
    spec: Spec,
    folder: Path,
    *,
    version: str,
    started: str,
    rng: random.Random,
    calibration: ClientCalibration | None = None,
    cancel: Cancel | None = None,
    watch: Callable[[Watched], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Notes:
    """Carry out the spec and leave everything in `folder`, which must not hold a run yet.

    `started` is the ISO time of the caller's clock, `rng` gives the salt, `watch` is called once when the run begins.
    Raises what endpoint, plan and disk raise; whatever happens, the samples that came are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SPEC).write_bytes(encode_spec(spec))
    prompts, learned, unknown = _prompts(spec, rng, environ)
    plan = spec.workload.plan()
    notes = Notes(
        version=version,
        started=started,
        plan=plan_digest(plan),
        salt=prompts.salt,
        prompts=learned,
        prompts_unknown=unknown,
        before=engine_facts(spec.endpoint, environ=environ),
        calibration=calibration,
    )
    write_notes(folder, notes)
    target = HttpTarget(
        spec.endpoint,
        processes=spec.processes,
        decoding=spec.decoding,
        prompts=prompts,
        settings=spec.settings,
        count_tokens_with=spec.tokenizer_file,
        environ=environ,
    )
    clock, live = WallClock(), Live()
    if watch is not None:
        watch(Watched(live, clock))
    target.offer(plan, Tee(ParquetSink(folder / SAMPLES), live), clock, cancel)
    notes = msgspec.structs.replace(
        notes,
        health=target.health,
        after=engine_facts(spec.endpoint, environ=environ),
        interrupted=cancel is not None and cancel.requested(),
    )
    write_notes(folder, notes)
    return notes


def write_notes(folder: Path, notes: Notes) -> None:
    """Whole or not at all."""
    new = folder / f".{NOTES}"
    new.write_bytes(msgspec.json.format(msgspec.json.encode(notes), indent=1) + b"\n")
    new.replace(folder / NOTES)


def _prompts(
    spec: Spec, rng: random.Random, environ: Mapping[str, str] | None
) -> tuple[PromptSettings, TokenCalibration | None, str | None]:
    """How prompts are made, what the probes said, or why they said nothing."""
    settings = PromptSettings(
        seed=spec.workload.seed, salt=fresh_salt(rng) if spec.salted else None, tokenizer_file=spec.tokenizer_file
    )
    if not spec.calibrated:
        return settings, None, "not asked: a word is taken for a token"
    try:
        fitted, found = calibrate_prompts(spec.endpoint, settings, environ=environ)
    except CannotSayError as error:
        return settings, None, error.message
    return fitted, found, None
