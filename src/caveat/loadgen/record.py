"""The Run of an experiment, from its folder alone: spec, samples and notes. Also for a run that was killed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.figures import Check, Outcome, Provenance, Run, Source, Value
from caveat.loadgen.engine import EngineFacts, change
from caveat.loadgen.folder import SAMPLES, Notes, read_folder
from caveat.loadgen.prompts import SALT_WORDS
from caveat.loadgen.selfcheck import limit_sentences
from caveat.loadgen.spec import Spec
from caveat.measure import CACHED_SHARE, Client, SampleColumns, Summary, columns_of, run_of, summarize, unchecked
from caveat.units import format_number, format_seconds
from caveat.workload import Plan, PlanStatistics, Streams, queries_of

HARNESS = "caveat"
SUITE = "own measurement"
_ENGINES = ("vllm", "sglang", "llamacpp")  # that name themselves as the owner of what they serve
PRIMARY = ("caveat-output-tokens-rate-usage", "caveat-output-tokens-rate-client", "caveat-request-rate")
OF_SCENARIO = {
    "offline": "loadgen-offline-tokens-rate",
    "server": "loadgen-completed-tokens-rate",
    "interactive": "loadgen-completed-tokens-rate",
    "single-stream": "loadgen-single-stream-latency.p90",
    "multi-stream": "loadgen-multi-stream-latency.p99",
}
"""What a scenario is about, by the definition of those who made it."""


def record(folder: Path, *, subject: str | None = None, seed: int = 0) -> Run:
    """The Run of the experiment in `folder`, however often it is asked for.

    `subject` is that of the notes unless given; the document names the samples as `<subject>/samples.parquet`, which
    is where they stand inside a ledger, and no other path. Raises InputError where the folder holds no experiment.
    """
    spec, notes = read_folder(folder)
    name = subject or notes.subject
    if not name:
        raise InputError(f"{folder}: the run has no name of its own", next="hand in a subject")
    path = folder / SAMPLES
    columns, plan = columns_of(path), spec.plan()
    summary = summarize(
        columns,
        workload=plan.describe(),
        slo=spec.slo,
        warmup=spec.warmup,
        seed=seed,
        client=_client(spec, plan, notes),
        scenario=spec.scenario,
    )
    samples = f"{name}/{SAMPLES}"
    source = Source(kind="samples", path=samples, sha256=_hash(path))
    run = run_of(
        summary,
        subject=name,
        provenance=Provenance(origin="measured", sources=(source,), tool_version=notes.version),
        conditions=_conditions(spec, notes, summary),
        not_applicable=_not_applicable(spec),
        primary=_primary(spec, summary),
        samples=samples,
    )
    cache = _cache_checks(spec, notes, summary, planned=plan.block_tokens > 0)
    validity = (*run.validity, _completion(spec, notes, columns), *cache, *_accuracy(spec))
    return msgspec.structs.replace(run, validity=validity, notes=(*run.notes, *_notes(spec, notes)))


def _hash(path: Path) -> str:
    """Of the whole file; empty while a run still goes or was killed, when there are only parts."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _client(spec: Spec, plan: Plan, notes: Notes) -> Client | None:
    """What the generator knows of itself; nothing where it did not live to say it."""
    health, calibration = notes.health, notes.calibration
    if health is None:
        return None
    whole = not (notes.interrupted or notes.by_clock or queries_of(plan) is not None)
    return Client(
        planned=PlanStatistics(plan).requests if whole else None,
        cpu_share=health.cpu_share_p95,
        loop_lag_s=health.loop_lag_p99_s,
        ceiling_per_s=calibration.requests_per_s if calibration else None,
        limits=limit_sentences(health),
    )


def _conditions(spec: Spec, notes: Notes, summary: Summary) -> dict[str, Value | None]:
    """What is known beside the samples. A person's word for the system; the server's word for itself."""
    said: dict[str, Value | None] = {
        "decoding": spec.decoding.describe(),
        "salted": spec.salts(),
        "plan": notes.plan,
        "suite": SUITE,
        "harness": HARNESS,
        "harness_version": notes.version,
        "api": f"{spec.endpoint.dialect}, {'streamed' if spec.endpoint.stream else 'whole answers'}",
        "client": f"{notes.client}, generator processes: {spec.processes}" if notes.client else None,
        "review": "unverified",
        "run_date": notes.started,
        "model": spec.endpoint.model,
        "cached_share": _counted_share(notes),
        "prefix_caching": _caching(notes, summary),
        "tokenizer": notes.tokenizer,
        "engine": _engine(notes.before),
        "modality": "text",
    }
    return {**said, **spec.known}


def _engine(facts: EngineFacts | None) -> str | None:
    """Family and version, where the server states them. A version of nobody knows what names no engine."""
    stated = {name: str(fact.value) for name, fact in facts.facts.items()} if facts else {}
    owner = stated.get("owned_by", "")
    family = stated.get("engine_family") or (owner if owner in _ENGINES else "")
    return f"{family} {stated.get('version', '')}".strip() if family else None


def _caching(notes: Notes, summary: Summary) -> str | None:
    """On where the server says that prompts hit its cache; a cache that was never hit may be on."""
    stated = summary.row(CACHED_SHARE)
    hit = _grown(notes).get("prefix_cache_hits", 0) > 0 or (stated is not None and stated.value > 0)
    return "on" if hit else None


def _grown(notes: Notes) -> dict[str, float]:
    return change(notes.before, notes.after) if notes.before and notes.after else {}


def _counted_share(notes: Notes) -> float | None:
    """Prompt tokens from the cache by the server's counters. SGLang counts hits and prompt tokens, vLLM queries too."""
    grown = _grown(notes)
    hits, asked = grown.get("prefix_cache_hits"), grown.get("prefix_cache_queries", grown.get("prompt_tokens"))
    return hits / asked if hits is not None and asked else None


_NOT_OURS = (
    *("model_submitted", "platform", "system_type", "coalesced", "whole_sets"),
    *("schedule", "schedule_ns", "round", "division", "result_id", "location", "fingerprint"),
    *("load_fraction", "extrapolated", "modelled_server", "model_grade", "validated_range"),
)
"""Conditions of published results and of modelled servers: a run of one's own cannot have them."""
_OF_SCENARIOS = ("profile", "profile_changes", "seeds", "min_duration_s", "min_queries")


def _not_applicable(spec: Spec) -> tuple[str, ...]:
    """What this run cannot have: the share of conditions that are disclosed is of those that it can."""
    without_tokenizer = ("tokenizer",) if spec.tokenizer_file is None else ()
    return (*_NOT_OURS, *without_tokenizer, *(_OF_SCENARIOS if spec.scenario is None else ()))


def _completion(spec: Spec, notes: Notes, columns: SampleColumns) -> Check:
    """Whether what was asked for was done. Figures of a run that was cut short are true of what came before."""
    aspect = "completion"
    if notes.health is None:
        sentence = "The run was interrupted: its process did not end it. These are the requests that were on disk."
        return Check(aspect=aspect, outcome="unknown", sentence=sentence)
    if notes.interrupted:
        sentence = "The run was interrupted before its end; what was in flight was drained and is not measured."
        return Check(aspect=aspect, outcome="unknown", sentence=sentence)
    if not notes.by_clock:
        return Check(aspect=aspect, outcome="pass", sentence=_went_through(spec))
    cut = int(np.count_nonzero(columns.equal("phase", "drain") & columns.equal("error_class", "cancelled")))
    sentence = (
        f"No request was sent after {format_seconds(spec.stop_after_s or 0.0)}, as asked; those in flight were waited "
        f"for, and {cut:,} did not end within {format_seconds(spec.settings.drain_s)}."
    )
    return Check(aspect=aspect, outcome="fail" if cut else "pass", sentence=sentence)


def _went_through(spec: Spec) -> str:
    if spec.workload is not None and isinstance(spec.workload.arrivals, Streams):
        return "Queries went on until there were enough, or to the end of the plan."
    if spec.stop_after_s is None:
        return "The plan was carried out to its end."
    return f"The plan came to its end before the {format_seconds(spec.stop_after_s)} that were asked for."


_STRAY = 0.01  # of prompt tokens may come from a cache that nobody planned


def _cache_checks(spec: Spec, notes: Notes, summary: Summary, *, planned: bool) -> Iterator[Check]:
    """What the server itself says comes first, in its answers and in its counters; that prompts were salted, last."""
    stated, counted = summary.row(CACHED_SHARE), _counted_share(notes)
    shares = {
        "The server's usage records say": None if stated is None else stated.value,
        "The server's counters say": counted,
    }
    alike, said = _begin_alike(notes, summary)
    for who, share in shares.items():
        if share is not None:
            outcome: Outcome = "pass" if planned or share < _STRAY + alike else "fail"
            may = f", {_STRAY + alike:.1%} may: {said}" if alike else f", {_STRAY:.0%} may where none was planned"
            why = "; the plan has prompts that begin alike" if planned else may
            sentence = f"{who} that {share:.1%} of prompt tokens came from a cache{why}."
            yield Check(aspect="cache state", outcome=outcome, sentence=sentence)
    if stated is not None or counted is not None:
        return
    if spec.salts():
        sentence = "Prompts were salted for this run, so that no earlier run can have warmed a prefix cache for them."
        yield Check(aspect="cache state", outcome="pass", sentence=sentence)
        return
    sentence = "Prompts were not salted and the server says nothing of its cache: an earlier run may have warmed it."
    yield Check(aspect="cache state", outcome="unknown", sentence=sentence)


def _begin_alike(notes: Notes, summary: Summary) -> tuple[float, str]:
    """The share of prompt tokens with which every prompt of the run begins, planned or not, and what they are.

    The server's own template stands before ours, and the salt after it. What a template has behind the prompt counts
    as before it: the calibration of prompts cannot tell one from the other.
    """
    lengths = summary.conditions.get("input_tokens")
    mean = lengths.get("mean", 0.0) if isinstance(lengths, dict) else 0.0
    if notes.prompts is None or mean <= 0:
        return 0.0, ""
    salt = SALT_WORDS * notes.prompts.tokens_per_word if notes.salt is not None else 0.0
    tokens = min(mean, notes.prompts.overhead_tokens + salt)
    return (
        tokens / mean,
        f"all prompts begin with {tokens:.3g} of {mean:.4g} tokens, the server's template and our salt",
    )


def _accuracy(spec: Spec) -> tuple[Check, ...]:
    """A benchmark's rules ask for answers that are good enough; with no accuracy run nobody has looked."""
    if spec.scenario is None or spec.scenario.profile is None:
        return ()
    return (unchecked("no accuracy run was named"),)


def _primary(spec: Spec, summary: Summary) -> str | None:
    first = OF_SCENARIO.get(spec.scenario.name, "") if spec.scenario is not None else ""
    return next((key for key in (first, *PRIMARY) if summary.row(key) is not None), None)


def _notes(spec: Spec, notes: Notes) -> tuple[str, ...]:
    lengths = notes.prompts.sentence() if notes.prompts else notes.prompts_unknown
    said = (
        "endpoint: " + ", ".join(f"{name} {value}" for name, value in spec.endpoint.describe().items()),
        f"profile: {spec.scenario.note}" if spec.scenario is not None and spec.scenario.note else "",
        f"prompt words: one token each by {notes.tokenizer}" if notes.tokenizer else "",
        f"prompt lengths: {lengths}" if lengths else "",
        f"salt of the prompts: {notes.salt}" if notes.salt is not None else "",
        notes.calibration.sentence() if notes.calibration else "",
        notes.health.sentence() if notes.health else "",
        *_said(notes.before),
    )
    return tuple(text for text in said if text)


def _said(facts: EngineFacts | None) -> tuple[str, ...]:
    if facts is None:
        return ()
    return tuple(f"{name}: {_fact(fact.value)} ({fact.source})" for name, fact in sorted(facts.facts.items()))


def _fact(value: str | float) -> str:
    return value if isinstance(value, str) else format_number(value)
