"""What a check of schedules does to runs."""

import pytest

from caveat.figures import Check
from caveat.importers import verify_runs
from caveat.importers.mlperf.schedule_check import ScheduleClaim, ScheduleVerdict
from caveat.importers.mlperf.verify import NO_LOG, verified, with_schedule
from tests.builders import published_run

# A run of LoadGen itself: see the reference vectors of the schedule.
CLAIM = ScheduleClaim(
    id="subject",
    seed=16159082839903944936,
    target_qps=200.0,
    min_duration_ns=3_000_000_000,
    min_queries=100,
    equal_issue=False,
    set_size=64,
    generated_count=601,
    generated_duration_ns=3000770763,
)


def claim(**changes):
    return ScheduleClaim(**{name: getattr(CLAIM, name) for name in ScheduleClaim.__struct_fields__} | changes)


@pytest.mark.parametrize(
    ("changes", "state", "outcome"),
    [
        ({}, "reproduced", "pass"),
        ({"generated_duration_ns": 3000770764}, "differs", "fail"),
        ({"seed": None}, "not checkable", "not applicable"),
    ],
)
def test_a_verdict_becomes_a_condition_and_a_validity_entry(changes, state, outcome):
    """A schedule that cannot be checked says nothing against the run; one that differs is a problem too."""
    before = published_run(subject="subject", validity=(Check(aspect="review", outcome="pass"),))
    (run,), problems = verified([before], [claim(**changes)])
    assert run.conditions.get("schedule") == state
    assert [(entry.aspect, entry.outcome) for entry in run.validity] == [("review", "pass"), ("schedule", outcome)]
    assert run.validity[1].sentence
    assert [problem.code for problem in problems] == (["schedule-differs"] if state == "differs" else [])
    assert run.rows == before.rows
    assert run.id != before.id


def test_a_run_without_a_log_is_not_checkable():
    """And other scenarios have no schedule to check."""
    (server, offline), problems = verified([published_run(), published_run(scenario="offline")], [])
    assert server.conditions.get("schedule") == "not checkable"
    assert server.validity[-1] == Check(aspect="schedule", outcome="not applicable", sentence=NO_LOG)
    assert server.outcome("loadgen-completed-tokens-rate") == "pass"
    assert offline.conditions.state("schedule") == "undisclosed"
    assert problems == ()


def test_an_earlier_verdict_stands_where_there_is_no_log_now():
    """A stored document that was checked is not unchecked by reading it again."""
    checked = with_schedule(published_run(), ScheduleVerdict(state="reproduced", detail="as the seed gives"))
    assert verified([checked], []) == ((checked,), ())


def test_a_second_verdict_replaces_the_first():
    """One entry for each run."""
    once = with_schedule(published_run(), None)
    twice = with_schedule(once, ScheduleVerdict(state="reproduced", detail="as the seed gives"))
    assert [entry.outcome for entry in twice.validity if entry.aspect == "schedule"] == ["pass"]


def test_progress_ends_with_everything_done():
    """One call at least, the last complete."""
    heard = []
    verified([published_run(subject="subject")], [CLAIM], progress=lambda *said: heard.append(said))
    assert heard[-1] == ("schedules", 1, 1)


def test_a_kept_run_is_asked_again_from_its_conditions():
    """The reference's RedHat vector: seed of the round, rate, rules, count and nanoseconds."""
    told = {
        "round": "v5.1",
        "benchmark": "llama3.1-8b",
        "target_qps": 39.5,
        "min_duration_s": 600.0,
        "min_queries": 100,
        "dataset_samples": 13368,
        "queries": 26736,
        "schedule_ns": 674472826893,
    }
    kept = published_run(**told)
    moved = published_run(**{**told, "schedule_ns": 674472826894, "submitter": "Dell"})
    silent = published_run(**{**told, "schedule_ns": None, "submitter": "HPE"})
    burst = published_run(**{**told, "scenario": "offline", "submitter": "Oracle"})
    states = [schedule.state for schedule in verify_runs([kept, moved, silent, burst])]
    assert states == ["reproduced", "differs", "not checkable", "not checkable"]
