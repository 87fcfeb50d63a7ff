"""A small engine whose step is known, its samples, and a model calibrated on two short runs of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from caveat.measure import Kept
from caveat.simulator.calibrate import Calibration, calibrate
from caveat.simulator.model_file import SchedulerTable
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import Piece, StepTime
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import Arrivals, Limits, Lognormal, Plan, Poisson, Separate, Workload

SMALL = Piece(step_s=5e-4, sequence_s=12e-3, prompt_token_s=5e-3, context_token_s=3e-6)
LARGE = Piece(from_tokens=3, step_s=22e-3, sequence_s=3.2e-3, prompt_token_s=5e-3, context_token_s=3e-6)
BENT = StepTime(pieces=(SMALL, LARGE))
"""A step like that of a small engine on one core: two tokens cost twice one, eight hardly more than four."""

SLOTS = SchedulerTable(max_num_seqs=8, static_slots=8, token_budget=2048)
SCHEDULER = Scheduler(static_slots=8, token_budget=2048, intake_s=8e-3)


def plan_of(
    rate_per_s: float, requests: int, seed: int, *, arrivals: Arrivals | None = None, tokens: int = 100
) -> Plan:
    """Requests of about 100 tokens in and 32 out."""
    lengths = Separate(input=Lognormal(mean=tokens, cv=0.5), output=Lognormal(mean=32, cv=0.5))
    process = arrivals or Poisson(rate_qps=rate_per_s)
    return Workload(arrivals=process, lengths=lengths, limits=Limits(requests=requests), seed=seed).plan()


def samples_of(plan: Plan, step_time: StepTime = BENT, scheduler: Scheduler = SCHEDULER) -> pa.Table:
    """What the engine does with a plan."""
    sink = Kept()
    SimulatedServer(step_time, scheduler).offer(plan, sink, VirtualClock())
    return sink.table()


@cache
def calibrated() -> Calibration:
    """On 40 requests at low load and 80 at middle load."""
    runs = [samples_of(plan_of(0.3, 40, 1)), samples_of(plan_of(0.8, 80, 2))]
    return calibrate("bent", runs, np.random.default_rng(1), date="2026-11-30", scheduler=SLOTS, prefix_hit=0.0)
