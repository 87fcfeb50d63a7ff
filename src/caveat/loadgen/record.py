"""The Run of an experiment, from its folder alone: spec, samples and notes. Also for a run that was killed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from caveat.errors import InputError
from caveat.figures import Check, Provenance, Run, Source, Value
from caveat.loadgen.engine import EngineFacts, change
from caveat.loadgen.experiment import NOTES, SAMPLES, SPEC, Notes
from caveat.loadgen.selfcheck import ClientHealth, limit_sentences
from caveat.loadgen.spec import Spec, decode_spec
from caveat.measure import Client, Summary, run_of, summarize
from caveat.workload import PlanStatistics

HARNESS = "caveat"
PRIMARY = ("caveat-output-tokens-rate-usage", "caveat-output-tokens-rate-client", "caveat-request-rate")


def record(folder: Path, *, subject: str, seed: int = 0) -> Run:
    """The Run of the experiment in `folder`. Raises InputError where the folder holds no experiment."""
    spec, notes = read_folder(folder)
    workload = spec.workload.plan().describe()
    summary = summarize(
        folder / SAMPLES,
        workload=workload,
        slo=spec.slo,
        warmup=spec.warmup,
        seed=seed,
        client=_client(spec, notes),
    )
    samples = folder / SAMPLES
    run = run_of(
        summary,
        subject=subject,
        provenance=Provenance(
            origin="measured",
            sources=(Source(kind="samples", path=str(samples), sha256=_hash(samples)),),
            tool_version=notes.version,
        ),
        conditions=_conditions(spec, notes),
        primary=_primary(summary),
        samples=str(samples),
    )
    return msgspec.structs.replace(
        run, validity=(*run.validity, *_cache_check(spec, notes)), notes=(*run.notes, *_notes(notes))
    )


def read_folder(folder: Path) -> tuple[Spec, Notes]:
    """The spec and the notes of an experiment."""
    try:
        spec = decode_spec((folder / SPEC).read_bytes(), "json", name=SPEC)
        notes = msgspec.json.decode((folder / NOTES).read_bytes(), type=Notes)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{folder}: no experiment here: {error}", next=f"give a folder with {SPEC}, {NOTES} and {SAMPLES}"
        ) from error
    return spec, notes


def _hash(path: Path) -> str:
    """Of the whole file; empty while a run still goes or was killed, when there are only parts."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _client(spec: Spec, notes: Notes) -> Client:
    health, calibration = notes.health, notes.calibration
    ceiling = calibration.requests_per_s if calibration else None
    if health is None:
        return Client(ceiling_per_s=ceiling)
    planned = None if notes.interrupted else PlanStatistics(spec.workload.plan()).requests
    return Client(
        planned=planned,
        cpu_share=health.cpu_share_p95,
        loop_lag_s=health.loop_lag_p99_s,
        ceiling_per_s=ceiling,
        limits=limit_sentences(health),
    )


def _conditions(spec: Spec, notes: Notes) -> dict[str, Value | None]:
    """What is known beside the samples. A person's word for the system; the server's word for itself."""
    said: dict[str, Value | None] = {
        "decoding": spec.decoding.describe(),
        "harness": HARNESS,
        "harness_version": notes.version,
        "review": "self-reported",
        "run_date": notes.started,
        "model": spec.endpoint.model,
        "suite": "own measurement",
        "prefix_caching": _caching(notes),
        "engine": _engine(notes.before),
        "modality": "text",
        "fingerprint": notes.plan,
    }
    return {**said, **spec.known}


def _engine(facts: EngineFacts | None) -> str | None:
    """Family and version, where the server states them."""
    if facts is None:
        return None
    parts = [facts.facts[name].value for name in ("engine_family", "version") if name in facts.facts]
    return " ".join(str(part) for part in parts) or None


def _caching(notes: Notes) -> str | None:
    """On where the server's own counters say that prompts hit its cache; a cache that was never hit may be on."""
    grown = change(notes.before, notes.after) if notes.before and notes.after else {}
    return "on" if grown.get("prefix_cache_hits", 0) > 0 else None


def _cache_check(spec: Spec, notes: Notes) -> tuple[Check, ...]:
    grown = change(notes.before, notes.after) if notes.before and notes.after else {}
    hits, asked = grown.get("prefix_cache_hits"), grown.get("prefix_cache_queries")
    if hits is not None and asked:
        share = hits / asked
        sentence = f"The server's counters say that {share:.1%} of prompt tokens came from its prefix cache."
        planned = spec.workload.shares_blocks()
        return (Check(aspect="cache state", outcome="pass" if planned or share < 0.01 else "fail", sentence=sentence),)
    if spec.salted:
        sentence = "Prompts were salted for this run, so that no earlier run can have warmed a prefix cache for them."
        return (Check(aspect="cache state", outcome="pass", sentence=sentence),)
    sentence = "Prompts were not salted and the server says nothing of its cache: an earlier run may have warmed it."
    return (Check(aspect="cache state", outcome="unknown", sentence=sentence),)


def _primary(summary: Summary) -> str | None:
    return next((key for key in PRIMARY if summary.row(key) is not None), None)


def _notes(notes: Notes) -> tuple[str, ...]:
    lengths = notes.prompts.sentence() if notes.prompts else notes.prompts_unknown
    said = (
        f"prompt lengths: {lengths}" if lengths else "",
        notes.calibration.sentence() if notes.calibration else "",
        "the run was interrupted; what had been sent was drained" if notes.interrupted else "",
        "the client's notes on itself are missing: the run did not end" if notes.health is None else "",
        *_said(notes.before),
    )
    return tuple(text for text in said if text)


def _said(facts: EngineFacts | None) -> tuple[str, ...]:
    if facts is None:
        return ()
    return tuple(f"{name}: {fact.value} ({fact.source})" for name, fact in sorted(facts.facts.items()))


def health_json(health: ClientHealth | None) -> Mapping[str, object] | None:
    """The client's notes on itself for JSON."""
    return msgspec.to_builtins(health) if health is not None else None
