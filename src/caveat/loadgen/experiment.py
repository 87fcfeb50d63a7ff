"""One experiment: probes, plan, run, self-measurement and engine facts, all kept in one folder (folder.py).

`record.py` makes the Run from the folder alone, so that a killed run still gives what it had.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from caveat.errors import CannotSayError, UsageError
from caveat.loadgen.client_calibration import ClientCalibration, machine
from caveat.loadgen.clock import WallClock
from caveat.loadgen.endpoint import UNNAMED
from caveat.loadgen.engine import EngineFacts, Fact, engine_facts
from caveat.loadgen.failures import readable
from caveat.loadgen.folder import SAMPLES, Notes, new_folder, write_notes
from caveat.loadgen.generator import HttpTarget
from caveat.loadgen.probe import calibrate_prompts
from caveat.loadgen.prompts import PromptSettings, fresh_salt
from caveat.loadgen.spec import Spec
from caveat.loadgen.stopping import InTime, Stop
from caveat.loadgen.tokens import TokenCalibration, tokenizer_identity
from caveat.measure import Cancel, Live, ParquetSink, Tee
from caveat.workload import Plan, plan_digest, queries_of


class Watched(msgspec.Struct, frozen=True):
    """What a live view needs: how it goes, the plan's clock, and how many requests are planned.

    None where the plan does not say it: a closed loop that ends by the clock, or goes on until it has lasted.
    """

    live: Live
    clock: WallClock
    requests: int | None = None


def experiment(
    spec: Spec,
    folder: Path,
    *,
    version: str,
    started: str,
    rng: random.Random,
    subject: str = "",
    calibration: ClientCalibration | None = None,
    cancel: Cancel | None = None,
    watch: Callable[[Watched], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Notes:
    """Carry out the spec and leave everything in `folder`, which must not hold a run yet.

    `started` is the ISO time of the caller's clock, `rng` gives the salt, `subject` is the run's name in the ledger,
    `watch` is called once when the run begins. Nothing is left on disk where the endpoint refuses the probes; later,
    whatever happens, the samples that came are kept. Raises what endpoint, plan and disk raise.
    """
    if spec.endpoint.model == UNNAMED:
        raise UsageError("endpoint.model: found none", next="give one, or ask the endpoint: served_model")
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401  (loading them takes 0.1 s, which must not fall into the run)

    prompts, learned, unknown = prompts_for(spec, rng, environ)
    target = _target(spec, prompts, environ)
    plan = spec.plan()
    notes = Notes(
        version=version,
        started=started,
        plan=plan_digest(plan),
        subject=subject,
        salt=prompts.salt,
        client=machine(),
        tokenizer=None if spec.tokenizer_file is None else tokenizer_identity(Path(spec.tokenizer_file)),
        prompts=learned,
        prompts_unknown=unknown,
        before=_facts(spec, environ),
        calibration=calibration,
    )
    requests = None if watch is None else _planned_requests(spec, plan)
    clock, live = WallClock(), Live(target.in_flight, spec.scenario)
    stop = Stop(spec.stop_after_s, clock, cancel)
    with new_folder(folder, spec):
        write_notes(folder, notes)
        if watch is not None:
            watch(Watched(live, clock, requests))
        target.offer(plan, InTime(Tee(ParquetSink(folder / SAMPLES), live), stop), clock, stop)
        notes = msgspec.structs.replace(
            notes,
            health=target.health,
            interrupted=stop.interrupted(),
            by_clock=stop.by_clock,
            after=_facts(spec, environ),
        )
        write_notes(folder, notes)
    return notes


def _planned_requests(spec: Spec, plan: Plan) -> int | None:
    if spec.stop_after_s is not None or queries_of(plan) is not None:
        return None
    return sum(len(block) for block in plan.blocks())


def _target(spec: Spec, prompts: PromptSettings, environ: Mapping[str, str] | None) -> HttpTarget:
    return HttpTarget(
        spec.endpoint,
        processes=spec.processes,
        decoding=spec.decoding,
        prompts=prompts,
        settings=spec.settings,
        count_tokens_with=spec.tokenizer_file,
        dataset=spec.dataset.file if spec.dataset is not None else None,
        environ=environ,
    )


def _facts(spec: Spec, environ: Mapping[str, str] | None) -> EngineFacts:
    """What the server says of itself, without what it echoes of our key."""
    said = engine_facts(spec.endpoint, environ=environ)
    secrets = spec.endpoint.secrets(environ)
    clean = {
        name: Fact(readable(fact.value, secrets) if isinstance(fact.value, str) else fact.value, fact.source)
        for name, fact in said.facts.items()
    }
    return msgspec.structs.replace(said, facts=clean)


def prompts_for(
    spec: Spec, rng: random.Random, environ: Mapping[str, str] | None
) -> tuple[PromptSettings, TokenCalibration | None, str | None]:
    """How prompts are made, what the probes said, or why they said nothing. `rng` gives the salt."""
    settings = PromptSettings(
        seed=spec.seed(), salt=fresh_salt(rng) if spec.salts() else None, tokenizer_file=spec.tokenizer_file
    )
    if spec.dataset is not None:
        return settings, None, "not asked: prompts come from a data set"
    if not spec.calibrated:
        return settings, None, "not asked: a word is taken for a token"
    try:
        fitted, found = calibrate_prompts(spec.endpoint, settings, environ=environ)
    except CannotSayError as error:
        return settings, None, error.message
    return fitted, found, None
