"""MLPerf Inference: published tables, submission trees and LoadGen logs become runs; schedules are played again."""

from caveat.importers.mlperf.schedule_check import ScheduleVerdict, check_schedules
from caveat.importers.mlperf.summary_tables import read_summary
from caveat.importers.mlperf.tree import read_tree, schedule_claims
from caveat.importers.mlperf.verify import NO_LOG, claim_of, verified, with_schedule

__all__ = [
    "NO_LOG",
    "ScheduleVerdict",
    "check_schedules",
    "claim_of",
    "read_summary",
    "read_tree",
    "schedule_claims",
    "verified",
    "with_schedule",
]
