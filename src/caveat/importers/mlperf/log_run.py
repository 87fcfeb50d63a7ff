"""One run from everything that a scenario's folder holds: logs, accuracy report, descriptions, rules, folder names.

Each source gives a partial run of the same subject; `figures.merge_all` makes one document of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from caveat.errors import Problem
from caveat.facts import benchmark_named
from caveat.figures import Check, Conditions, Provenance, Run, Source, Value, conditions_of, merge_all
from caveat.importers.mlperf.accuracy_report import AccuracyReport
from caveat.importers.mlperf.evidence import Evidence, Known, known_of, scenario_of_log
from caveat.importers.mlperf.joined_log import JoinedLog, joined
from caveat.importers.mlperf.log_checks import checks_of
from caveat.importers.mlperf.log_conditions import conditions_logged
from caveat.importers.mlperf.log_rows import primary_key, rows_of
from caveat.importers.mlperf.place import Place
from caveat.importers.mlperf.result_metrics import LOADGEN_METRICS
from caveat.importers.mlperf.rules_conditions import rules_run
from caveat.importers.mlperf.run_problems import description_problems, no_results, read_problems, run_problems


def run_of(evidence: Evidence) -> tuple[Run | None, tuple[Problem, ...]]:
    """The run and the problems met; no run where no log has results of a performance run in this scenario."""
    log = joined(evidence.detail, evidence.summary)
    if log is None:
        return None, (*read_problems(evidence), no_results(evidence))
    scenario, refusal = scenario_of_log(evidence, log)
    if refusal is not None or scenario is None:
        return None, (*read_problems(evidence), *([refusal] if refusal else []))
    known = known_of(evidence, log, scenario)
    run = merge_all(_partials(evidence, log, known))
    problems = (read_problems(evidence), log.problems(), description_problems(evidence))
    return run, (*(found for part in problems for found in part), *run_problems(evidence, log, run, known))


def _partials(evidence: Evidence, log: JoinedLog, known: Known) -> list[Run]:
    partials = [_log_partial(evidence, log, known)]
    partials.append(_rules_partial(evidence, known))
    if evidence.place is not None:
        partials.append(_folder_partial(evidence, evidence.place, known))
    if evidence.accuracy is not None and evidence.accuracy.scores:
        partials.append(_accuracy_partial(evidence.accuracy, known.subject))
    for kind, said in (
        ("system-description", evidence.system),
        ("measurement-description", evidence.measurement),
    ):
        if said is not None and (said.values or said.not_applicable):
            conditions = conditions_of(said.values, not_applicable=said.not_applicable, claims=said.claims)
            partials.append(_partial(known.subject, Source(kind=kind, path=said.path, sha256=said.sha256), conditions))
    return partials


def _log_partial(evidence: Evidence, log: JoinedLog, known: Known) -> Run:
    """Rows, settings and validity. Its sources are the summary and the detail log."""
    rows = rows_of(log, known.scenario)
    key = primary_key(log, known.benchmark.id if known.benchmark else None, known.round_name, known.scenario)
    values, not_applicable = conditions_logged(log, known.scenario, rows, known.round_name)
    checks = checks_of(
        log,
        rows,
        evidence.accuracy,
        benchmark=known.benchmark,
        round_name=known.round_name,
        scenario=known.scenario,
        closed=known.closed,
    )
    sources = log.sources(key)
    return Run(
        subject=known.subject,
        conditions=conditions_of(values, not_applicable=not_applicable, source=len(sources) - 1),
        provenance=Provenance(origin="imported", sources=sources),
        rows=rows,
        validity=(*checks, _review(evidence)),
        primary=LOADGEN_METRICS[key] if key else None,
    )


def _review(evidence: Evidence) -> Check:
    if evidence.place is None:
        return Check(aspect="review", outcome="unknown", sentence="a log by itself does not say who reviewed it")
    return Check(aspect="review", outcome="pass", sentence="filed in a published results tree; its log was read")


def _rules_partial(evidence: Evidence, known: Known) -> Run:
    """What the rules fix. For a stray log only what its scenario is: no place says that it was a submission."""
    division = evidence.place.division if evidence.place else ""
    run = rules_run(known.subject, known.benchmark, known.round_name, known.scenario, division)
    return run if evidence.place else _without(run, frozenset(("suite",)))


def _without(run: Run, keys: frozenset[str]) -> Run:
    old = run.conditions
    conditions = Conditions(
        known={key: value for key, value in old.known.items() if key not in keys},
        not_applicable=old.not_applicable,
        sources={key: index for key, index in old.sources.items() if key not in keys},
    )
    return msgspec.structs.replace(run, conditions=conditions)


def _folder_partial(evidence: Evidence, place: Place, known: Known) -> Run:
    official = benchmark_named(place.model)
    renamed = official is None or official != known.benchmark
    values: dict[str, Value | None] = {
        "submitter": place.submitter,
        "platform": place.platform,
        "division": place.division,
        "location": place.location,
        "model_submitted": place.model if renamed else None,
        "power_run": evidence.power_run,
        "review": "reviewed",
    }
    return _partial(known.subject, Source(kind="folder-names", path=evidence.folder), conditions_of(values))


def _accuracy_partial(report: AccuracyReport, subject: str) -> Run:
    values: Mapping[str, Value | None] = {
        "accuracy": dict(report.scores),
        "accuracy_tokens_per_sample": report.tokens_per_sample,
    }
    source = Source(kind="accuracy-report", path=report.path, sha256=report.sha256, place=f"line {report.line}")
    return _partial(subject, source, conditions_of(values))


def _partial(subject: str, source: Source, conditions: Conditions) -> Run:
    provenance = Provenance(origin="imported", sources=(source,))
    return Run(subject=subject, conditions=conditions, provenance=provenance, rows=())
