"""What was read for one result, and what follows before anything else: subject, scenario, benchmark, round."""

from __future__ import annotations

import msgspec

from caveat.errors import Problem
from caveat.facts import (
    BENCHMARKS,
    Benchmark,
    Limits,
    Round,
    benchmark_named,
    limits,
    round_of_seeds,
    scenario_of,
    scenario_within,
)
from caveat.importers.mlperf.accuracy_report import AccuracyReport
from caveat.importers.mlperf.descriptions import Description
from caveat.importers.mlperf.joined_log import PERFORMANCE_MODES, JoinedLog, joined
from caveat.importers.mlperf.loadgen_log import SEEDS, LoadgenLog
from caveat.importers.mlperf.log_conditions import LoggedLimits, limits_of
from caveat.importers.mlperf.log_rows import OPEN_LOOP
from caveat.importers.mlperf.place import Place
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.schedule_check import ScheduleClaim
from caveat.units import MS_PER_S, NS_PER_S


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was read for one result. `folder` is its path as published; `place` is None for a stray log.

    `model` is the official name of the model, where a mapping of the submission gives one for the folder's name.
    """

    folder: str
    place: Place | None = None
    detail: LoadgenLog | None = None
    summary: LoadgenLog | None = None
    accuracy: AccuracyReport | None = None
    system: Description | None = None
    measurement: Description | None = None
    model: str | None = None
    power_run: bool | None = None


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known before anything else can be said about a run."""

    subject: str
    scenario: str
    benchmark: Benchmark | None
    round: Round | None
    closed: bool

    @property
    def round_name(self) -> str | None:
        """Name of the round, where its seeds are known."""
        return self.round.name if self.round else None


def known_of(evidence: Evidence, log: JoinedLog, scenario: str) -> Known:
    """Subject, benchmark and round of a run whose scenario is settled."""
    qsl, index, schedule = (log.log.count(key) for key in SEEDS)
    found = None
    if qsl is not None and index is not None and schedule is not None:
        found = round_of_seeds(qsl=qsl, sample_index=index, schedule=schedule)
    place = evidence.place
    name = found.name if found else None
    return Known(
        subject=place.subject(name) if place else f"loadgen-log/{log.fingerprint[:16]}",
        scenario=scenario,
        benchmark=benchmark_named(evidence.model or place.model) if place else None,
        round=found,
        closed=place is not None and place.division == "closed",
    )


def scenario_of_log(evidence: Evidence, log: JoinedLog) -> tuple[str | None, Problem | None]:
    """The folder's scenario, if the log is of its kind: LoadGen calls Interactive a Server run."""
    said, mode = log.log.text("effective_scenario"), log.log.text("effective_test_mode")
    logged = scenario_of(said or "")
    if mode not in PERFORMANCE_MODES:
        return None, problem("log-not-performance", log.log.path, found=mode)
    if evidence.place is None:
        return _stray_scenario(log, logged), None if logged else problem("scenario-differs", log.log.path, found=said)
    scenario = scenario_within(evidence.place.model) or evidence.place.scenario
    if logged == ("server" if scenario in OPEN_LOOP else scenario):
        return scenario, None
    return None, problem("scenario-differs", log.log.path, found=said, expected=scenario)


def _stray_scenario(log: JoinedLog, logged: str | None) -> str | None:
    """Without a folder, limits and set size that only an Interactive benchmark has tell it from Server."""
    if logged != "server":
        return logged
    found, size = limits_of(log, "server"), log.log.count("effective_performance_sample_count")
    for benchmark in BENCHMARKS:
        for round_name in benchmark.rounds if benchmark.dataset_samples == size else ():
            tight = limits(benchmark.id, round_name, "interactive")
            if tight is not None and same_limits(found, tight):
                return "interactive"
    return logged


def same_limits(logged: LoggedLimits, ruled: Limits) -> bool:
    """Whether a log was held to the limits of the rules."""
    return (logged.ttft_s, logged.tpot_s, logged.latency_s) == (ruled.ttft_s, ruled.tpot_s, ruled.latency_s)


def schedule_claim(evidence: Evidence) -> ScheduleClaim | None:
    """What the detail log of an open-loop run says of its schedule; `id` is the run's subject. None without one."""
    log = joined(evidence.detail, evidence.summary)
    if log is None or log.detail is None:
        return None
    scenario, _ = scenario_of_log(evidence, log)
    if scenario not in OPEN_LOOP:
        return None
    said, shortest_ms = log.detail, log.detail.count("effective_min_duration_ms")
    return ScheduleClaim(
        id=known_of(evidence, log, scenario).subject,
        seed=said.count(SEEDS[2]),
        target_qps=said.number("effective_target_qps"),
        min_duration_ns=None if shortest_ms is None else shortest_ms * (NS_PER_S // MS_PER_S),
        min_queries=said.count("effective_min_query_count"),
        equal_issue=said.flag("effective_sample_concatenate_permutation"),
        set_size=said.count("effective_performance_sample_count"),
        generated_count=said.count("generated_query_count"),
        generated_duration_ns=said.count("generated_query_duration"),
    )
