"""What is wrong around one run: its logs by themselves, its place, and what the rules ask of it."""

from __future__ import annotations

from caveat.errors import Problem
from caveat.facts import Limits, limits
from caveat.figures import Run
from caveat.importers.mlperf.evidence import Evidence, Known, same_limits
from caveat.importers.mlperf.joined_log import PERFORMANCE_MODES, JoinedLog, has_results
from caveat.importers.mlperf.loadgen_log import SEEDS
from caveat.importers.mlperf.log_conditions import LoggedLimits, limits_of
from caveat.importers.mlperf.problems import problem


def no_results(evidence: Evidence) -> Problem:
    """Why a folder gives no run: no log, a log of another kind of run, or one that breaks off."""
    logs = [log for log in (evidence.summary, evidence.detail) if log is not None]
    if not logs:
        return problem("log-missing", evidence.folder)
    for log in logs:
        if log.text("effective_test_mode") not in (None, *PERFORMANCE_MODES):
            return problem("log-not-performance", log.path, found=log.text("effective_test_mode"))
    return problem("log-truncated", logs[0].path, detail=f"{len(logs[0].values)} keys were read")


def read_problems(evidence: Evidence) -> list[Problem]:
    """What is wrong with each log by itself; one of two that breaks off is not used."""
    logs = [log for log in (evidence.summary, evidence.detail) if log is not None]
    found = [found for log in logs for found in log.problems]
    if len(logs) == 2:
        broken = [log for log in logs if not has_results(log) and not log.problems]
        found += [problem("log-truncated", log.path, detail=f"{len(log.values)} keys were read") for log in broken]
    return found


def description_problems(evidence: Evidence) -> list[Problem]:
    """What is wrong with the files of this run beside the logs; the system's description serves many runs."""
    said = [part.problems for part in (evidence.accuracy, evidence.measurement) if part is not None]
    return [found for part in said for found in part]


def run_problems(evidence: Evidence, log: JoinedLog, run: Run, known: Known) -> list[Problem]:
    """What the log says that does not fit its place."""
    path, found = log.log.path, []
    if run.primary is None:
        found.append(problem("result-missing", path))
    if known.round is None:
        seeds = ", ".join(str(log.log.count(key)) for key in SEEDS)
        found.append(problem("seeds-unknown", path, found=seeds, next="the round stays undisclosed"))
    if evidence.place is not None and known.benchmark is None:
        found.append(problem("benchmark-unknown", evidence.folder, found=evidence.place.model))
    if log.log.count("num_errors"):
        first = log.log.errors[0] if log.log.errors else None
        found.append(
            problem("errors-logged", path, line=first.line if first else None, found=first.text if first else None)
        )
    ruled = (
        limits(known.benchmark.id, known.round_name, known.scenario) if known.benchmark and known.round_name else None
    )
    logged = limits_of(log, known.scenario)
    if ruled is not None and not same_limits(logged, ruled):
        found.append(problem("limits-differ", path, found=_words(logged), expected=_words(ruled)))
    return found


def _words(found: LoggedLimits | Limits) -> str:
    parts = (("TTFT", found.ttft_s), ("TPOT", found.tpot_s), ("latency", found.latency_s))
    return ", ".join(f"{name} {limit:g} s" for name, limit in parts if limit is not None) or "no limit"
