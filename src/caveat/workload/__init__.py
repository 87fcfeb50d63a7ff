"""workload: what is offered. The Plan that a target is given, and LoadGen's own schedule."""

from caveat.workload.loadgen_schedule import (
    MAX_QUERIES,
    Schedule,
    ScheduleSettings,
    exponentials,
    extents,
    loadgen_schedule,
    padded_count,
    schedule_extent,
)
from caveat.workload.plan import NO_REQUEST, Plan, PlanBlock

__all__ = [
    "MAX_QUERIES",
    "NO_REQUEST",
    "Plan",
    "PlanBlock",
    "Schedule",
    "ScheduleSettings",
    "exponentials",
    "extents",
    "loadgen_schedule",
    "padded_count",
    "schedule_extent",
]
