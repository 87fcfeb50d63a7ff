"""workload: what is offered. Shapes, arrivals, sessions and prefixes; the Plan they give; LoadGen's own schedule."""

from caveat.workload.arrivals import (
    Burst,
    Concurrency,
    Constant,
    Gamma,
    Loadgen,
    Open,
    Poisson,
    Trace,
    Weibull,
)
from caveat.workload.gaps import ConstantGaps, ExponentialGaps, GammaGaps, Gaps, LognormalGaps, WeibullGaps
from caveat.workload.lengths import (
    AnyShape,
    Fixed,
    Geometric,
    Histogram,
    Lognormal,
    Mixture,
    Normal,
    Pareto,
    Part,
    Shape,
    Uniform,
)
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
from caveat.workload.mmpp import Mmpp, State
from caveat.workload.pairs import Joint, Lengths, Separate
from caveat.workload.plan import NO_REQUEST, Plan, PlanBlock
from caveat.workload.prefixes import Prefixes
from caveat.workload.rates import Curve, Points, Sine
from caveat.workload.servegen import ServegenClients, read_servegen
from caveat.workload.sessions import Sessions, Think
from caveat.workload.spec import decode_workload, encode_workload, read_workload
from caveat.workload.summary import LengthCounts, PlanStatistics
from caveat.workload.superposition import Client, Superposition
from caveat.workload.varying import Diurnal, Ramp, Window, Windows
from caveat.workload.workload import FORMAT, Arrivals, Limits, Workload, WorkloadPlan, plan_digest

__all__ = [
    "FORMAT",
    "MAX_QUERIES",
    "NO_REQUEST",
    "AnyShape",
    "Arrivals",
    "Burst",
    "Client",
    "Concurrency",
    "Constant",
    "ConstantGaps",
    "Curve",
    "Diurnal",
    "ExponentialGaps",
    "Fixed",
    "Gamma",
    "GammaGaps",
    "Gaps",
    "Geometric",
    "Histogram",
    "Joint",
    "LengthCounts",
    "Lengths",
    "Limits",
    "Loadgen",
    "Lognormal",
    "LognormalGaps",
    "Mixture",
    "Mmpp",
    "Normal",
    "Open",
    "Pareto",
    "Part",
    "Plan",
    "PlanBlock",
    "PlanStatistics",
    "Points",
    "Poisson",
    "Prefixes",
    "Ramp",
    "Schedule",
    "ScheduleSettings",
    "Separate",
    "ServegenClients",
    "Sessions",
    "Shape",
    "Sine",
    "State",
    "Superposition",
    "Think",
    "Trace",
    "Uniform",
    "Weibull",
    "WeibullGaps",
    "Window",
    "Windows",
    "Workload",
    "WorkloadPlan",
    "decode_workload",
    "encode_workload",
    "exponentials",
    "extents",
    "loadgen_schedule",
    "padded_count",
    "plan_digest",
    "read_servegen",
    "read_workload",
    "schedule_extent",
]
