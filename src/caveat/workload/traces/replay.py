"""Plans from traces: a recording as it was, and a profile as a new trace of the same traffic.

Both are fixed before the run. Where conversations are known, a turn waits for the answer before it and comes no
earlier than its time; else every request comes when it is due.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from caveat.errors import InputError
from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_REQUESTS, between
from caveat.workload.plan import Int64, Plan, PlanBlock
from caveat.workload.streams import ARRIVALS, CHUNK, Stream
from caveat.workload.summary import DescribedValue, PlanStatistics
from caveat.workload.traces.cascade import Cascade
from caveat.workload.traces.draws import Draws
from caveat.workload.traces.profile import Profile
from caveat.workload.traces.recording import Recording, previous_in_session
from caveat.workload.traces.reuse import whole_blocks

WithinStep = Literal["kept", "spread"]
"""Requests whose clock stepped: all at the step, as recorded, or spread evenly within it."""


@dataclass(frozen=True)
class RecordingPlan:
    """A recording played back: its own times, lengths, conversations and shared blocks (whole ones only)."""

    recording: Recording

    @property
    def concurrency(self) -> int | None:
        """Arrivals are open."""
        return None

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where sharing was not recorded."""
        return self.recording.block_tokens if self.recording.has_blocks else 0

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        before = previous_in_session(self.recording)
        for start in range(0, len(self.recording), CHUNK):
            part = self.recording.at(slice(start, start + CHUNK))
            ends, ids = whole_blocks(part)
            after = before[start : start + CHUNK] if part.has_sessions else np.empty(0, np.int64)
            yield PlanBlock(
                at_ns=part.t_ns,
                input_tokens=np.maximum(part.input_tokens, 1).astype(np.int64),
                output_tokens=np.maximum(part.output_tokens, 1).astype(np.int64),
                after=after,
                think_ns=np.zeros_like(after),
                session=part.session,
                turn=part.turn,
                prefix_ends=ends,
                prefix_blocks=ids,
            )

    def describe(self) -> dict[str, DescribedValue]:
        """The plan as values of conditions."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, DescribedValue]:
        arrivals = f"trace of {len(self.recording):,} arrivals"
        return _described(self, self.recording.source.words(), arrivals, sessions=self.recording.has_sessions)


def plan_of_recording(recording: Recording) -> RecordingPlan:
    """The plan that repeats a recording. InputError if there is nothing in it, or no times."""
    if not len(recording):
        raise InputError("the trace holds no request", code="trace-empty", next="take less away from it")
    if not recording.source.timed:
        raise InputError(
            f"{recording.source.name}: found lengths without times, expected when each request came",
            code="trace-untimed",
            next="take its lengths (caveat trace fit FILE -o workload.json) and say a rate or a concurrency",
        )
    return RecordingPlan(recording)


def plan_of(
    profile: Profile,
    seed: int = 0,
    *,
    rate_scale: float = 1.0,
    speed: float = 1.0,
    within_step: WithinStep = "kept",
    duration_s: float | None = None,
    requests: int | None = None,
) -> ProfilePlan:
    """A plan of a profile's traffic; the same profile, seed and settings give the same plan on every machine.

    `rate_scale` multiplies the requests and keeps the time and its bursts; `speed` divides all times. A plan ends
    with the profile's span, or earlier by `duration_s` (of the plan) or `requests`. A shorter plan is the beginning
    of a longer one.
    """
    between("rate_scale", rate_scale, 1e-6, 1e6)
    between("speed", speed, 1e-3, 1e6)
    between("requests", profile.requests * rate_scale, 0.5, MAX_REQUESTS)
    if duration_s is not None:
        between("duration_s", duration_s, 1e-9, profile.arrivals.span_ns / speed / NS_PER_S + 1e-6)
    if requests is not None:
        between("requests", requests, 1, MAX_REQUESTS)
    Stream(seed)
    return ProfilePlan(profile, seed, rate_scale, speed, within_step, duration_s, requests)


@dataclass(frozen=True)
class ProfilePlan:
    """A profile played: drawn anew each time it is read. Memory: the requests that can still be continued."""

    profile: Profile
    seed: int
    rate_scale: float
    speed: float
    within_step: WithinStep
    duration_s: float | None
    requests: int | None

    @property
    def concurrency(self) -> int | None:
        """Arrivals are open."""
        return None

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where sharing is unknown."""
        return self.profile.block_tokens

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        left = self.requests if self.requests is not None else MAX_REQUESTS
        end_ns = round(self.duration_s * NS_PER_S) if self.duration_s is not None else None
        draws = Draws(self.profile, Stream(self.seed))
        for at_ns in self._times():
            due = len(at_ns) if end_ns is None else int(np.searchsorted(at_ns, end_ns))
            due = min(due, left)
            for start in range(0, due, CHUNK):
                yield draws.block(at_ns[start : min(start + CHUNK, due)])
            left -= due
            if due < len(at_ns) or not left:
                return

    def _times(self) -> Iterator[Int64]:
        stream = Stream(self.seed).child(ARRIVALS)
        cascade = Cascade(self.profile.arrivals, stream, self.rate_scale, self.within_step == "spread")
        for at_ns in cascade.times():
            yield at_ns if self.speed == 1 else np.rint(at_ns / self.speed).astype(np.int64)

    def describe(self) -> dict[str, DescribedValue]:
        """The plan as values of conditions."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, DescribedValue]:
        return _described(self, self.words(), "profile", sessions=self.profile.turn is not None)

    def words(self) -> str:
        """The profile and what was changed, for people."""
        changes = [f"requests x {self.rate_scale:g}"] if self.rate_scale != 1 else []
        changes += [f"{self.speed:g} times as fast"] if self.speed != 1 else []
        if self.profile.arrivals.grid and self.within_step == "spread":
            changes.append(f"spread within steps of {self.profile.arrivals.tick_ns / NS_PER_S:g} s")
        return "; ".join([self.profile.words(), *changes])


def _described(plan: Plan, dataset: str, arrivals: str, *, sessions: bool) -> dict[str, DescribedValue]:
    statistics = PlanStatistics(plan)
    values: dict[str, DescribedValue] = {
        "dataset": dataset,
        "scenario": "trace",
        "arrivals": arrivals,
        "loop": "semi-open" if sessions else "open",
        "latency_clock": "scheduled arrival",
        "queries": statistics.requests,
        "sessions": "as recorded" if sessions else "not recorded: every query stands alone",
        "prefix_reuse": "as recorded" if plan.block_tokens else "not recorded: none across queries",
    }
    if statistics.requests:
        values["input_tokens_requested"] = statistics.input_tokens.statistics()
        values["output_tokens_requested"] = statistics.output_tokens.statistics()
        share = statistics.reused_blocks() * plan.block_tokens / statistics.input_tokens.total()
        values["prefix_reuse_share"] = share
    if statistics.last_ns:
        values["scheduled_qps"] = statistics.requests * NS_PER_S / statistics.last_ns
    return values
