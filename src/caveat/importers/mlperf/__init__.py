"""MLPerf Inference: published tables, submission trees and LoadGen logs become runs; schedules are played again."""

from caveat.importers.mlperf.summary_tables import read_summary
from caveat.importers.mlperf.tree import read_tree, schedule_claims
from caveat.importers.mlperf.verify import verified, with_schedule

__all__ = ["read_summary", "read_tree", "schedule_claims", "verified", "with_schedule"]
