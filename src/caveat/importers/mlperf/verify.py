"""Puts into runs what came of playing their arrival schedules again: a condition, and a validity entry.

On import the claims come from the detail logs, read once more. A run that is kept says enough to be asked again:
its rate, rules, count and duration are conditions, and its round gives the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from caveat.errors import Problem
from caveat.facts import round_named
from caveat.figures import Check, Conditions, Outcome, Run
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.schedule_check import ScheduleClaim, ScheduleVerdict, check_schedules
from caveat.units import NS_PER_S

OPEN_LOOP = ("server", "interactive")
NO_LOG = "no detail log, so the schedule cannot be played again"
LOG_KIND = "log-detail"


def verified(
    runs: Sequence[Run], claims: Iterable[ScheduleClaim], *, progress: Callable[[str, int, int], None] | None = None
) -> tuple[tuple[Run, ...], tuple[Problem, ...]]:
    """The runs with their schedules checked, and a problem for each that differs. A claim's id is a run's subject.

    Open-loop runs without a claim become "not checkable", unless they hold a verdict already; other runs stay.
    """
    asked = {claim.id: claim for claim in claims}
    heard = (lambda done: progress("schedules", done, len(asked))) if progress is not None else None
    verdicts = check_schedules(list(asked.values()), heard)
    checked = tuple(_checked(run, verdicts.get(run.subject)) for run in runs)
    differing = [run for run in checked if run.subject in verdicts and run.conditions.get("schedule") == "differs"]
    return checked, tuple(_differs(run, verdicts[run.subject]) for run in differing)


def _checked(run: Run, verdict: ScheduleVerdict | None) -> Run:
    known = run.conditions.get("schedule") in ("reproduced", "differs")  # a document of an earlier check
    if run.conditions.words("scenario") not in OPEN_LOOP or (verdict is None and known):
        return run
    return with_schedule(run, verdict)


def with_schedule(run: Run, verdict: ScheduleVerdict | None) -> Run:
    """A run that says whether its arrivals are those of its seed. None: there was no log to ask.

    A schedule that cannot be checked says nothing against the run.
    """
    if verdict is None:
        verdict = ScheduleVerdict(state="not checkable", detail=NO_LOG)
    old = run.conditions
    conditions = Conditions(
        known={**old.known, "schedule": verdict.state},
        not_applicable=old.not_applicable,
        sources={**old.sources, "schedule": _log_of(run)},
        claims={key: claims for key, claims in old.claims.items() if key != "schedule"},
    )
    entries = [*(entry for entry in run.validity if entry.aspect != "schedule"), _entry(verdict)]
    entries.sort(key=lambda entry: (entry.aspect, entry.metrics))  # as merging leaves them
    return msgspec.structs.replace(run, conditions=conditions, validity=tuple(entries))


def _entry(verdict: ScheduleVerdict) -> Check:
    match verdict.state:
        case "reproduced":
            return Check(aspect="schedule", outcome="pass", sentence=verdict.detail)
        case "differs":
            # Other arrivals than the seed's are no valid run; a count that the rules do not give leaves it contested.
            outcome: Outcome = "unknown" if verdict.duration_ok else "fail"
            return Check(aspect="schedule", outcome=outcome, sentence=verdict.detail)
    return Check(aspect="schedule", outcome="not applicable", sentence=verdict.detail)


def _log_of(run: Run) -> int:
    kinds = [source.kind for source in run.provenance.sources]
    return kinds.index(LOG_KIND) if LOG_KIND in kinds else 0


def _differs(run: Run, verdict: ScheduleVerdict) -> Problem:
    path = run.provenance.sources[_log_of(run)].path
    return problem("schedule-differs", path, found=verdict.detail)


def claim_of(run: Run) -> ScheduleClaim | None:
    """What a run that is kept says of its schedule; None for a run that has none."""
    c = run.conditions
    if c.words("scenario") not in OPEN_LOOP:
        return None
    of_round = round_named(c.words("round") or "")
    shortest_s, whole = c.number("min_duration_s"), c.get("whole_sets")
    return ScheduleClaim(
        id=run.subject,
        seed=of_round.seeds.schedule if of_round else None,
        target_qps=c.number("target_qps"),
        min_duration_ns=None if shortest_s is None else round(shortest_s * NS_PER_S),
        min_queries=_count(run, "min_queries"),
        equal_issue=whole if isinstance(whole, bool) else None,
        set_size=_count(run, "dataset_samples"),
        generated_count=_count(run, "queries"),
        generated_duration_ns=_count(run, "schedule_ns"),
    )


def _count(run: Run, key: str) -> int | None:
    value = run.conditions.get(key)
    return value if isinstance(value, int) else None
