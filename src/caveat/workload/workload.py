"""Workload: the document that says what is offered, and the plan that it gives.

A workload and its seed fix every request: the same document gives the same plan, to the nanosecond and the token, on
every machine. A longer limit adds requests at the end and changes none before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.arrivals import Loadgen, Open, Trace
from caveat.workload.bounds import MAX_REQUESTS, MAX_SPAN_S, between, refuse
from caveat.workload.compose import composed
from caveat.workload.pairs import Lengths
from caveat.workload.plan import Plan, PlanBlock, Queries, queries_of
from caveat.workload.prefixes import Prefixes
from caveat.workload.sample_set import SampleSet
from caveat.workload.sessions import Sessions
from caveat.workload.streams import CHUNK, Stream
from caveat.workload.summary import DescribedValue, described
from caveat.workload.superposition import Superposition
from caveat.workload.untimed import Burst, Concurrency, Streams
from caveat.workload.varying import Windows

FORMAT: Literal["caveat-workload/1"] = "caveat-workload/1"
"""Version 1: the first."""

Arrivals = Open | Superposition | Loadgen | Burst | Concurrency | Streams

_NO_PREFIXES = Prefixes()


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a plan ends: before `duration_s`, and after `requests` requests; whichever comes first.

    duration_s  of the arrivals
    requests    at most
    """

    duration_s: float | None = None
    requests: int | None = None

    def __post_init__(self) -> None:
        if self.duration_s is not None:
            between("limits.duration_s", self.duration_s, 1e-9, MAX_SPAN_S)
        if self.requests is not None:
            between("limits.requests", self.requests, 1, MAX_REQUESTS)

    def end_ns(self) -> int | None:
        """The duration in nanoseconds."""
        return None if self.duration_s is None else round(self.duration_s * NS_PER_S)


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is offered: when requests arrive, how long they are, how they hang together, and where the plan ends.

    arrivals  when requests arrive
    lengths   of prompts and answers
    format    of the document
    name      for people
    seed      of every draw: the same seed gives the same plan on every machine
    limits    where the plan ends
    sessions  conversations; without, every request stands alone
    prefixes  what prompts share
    samples   a set that requests are taken from, in passes
    """

    arrivals: Arrivals
    lengths: Lengths
    format: Literal["caveat-workload/1"] = FORMAT
    name: str = ""
    seed: int = 0
    limits: Limits = Limits()
    sessions: Sessions | None = None
    prefixes: Prefixes | None = None
    samples: SampleSet | None = None

    def __post_init__(self) -> None:
        Stream(self.seed)
        _check_samples(self)
        _check_limits(self.arrivals, self.limits)

    def blocks_and_prompts(self) -> Prefixes:
        """The prefix structure; where none is given, blocks of the usual size and no system prompts."""
        return self.prefixes or _NO_PREFIXES

    def shares_blocks(self) -> bool:
        """Whether any two prompts begin alike."""
        grows = self.sessions is not None and self.sessions.grows
        return grows or self.blocks_and_prompts().prompts > 0

    def plan(self, *, block_requests: int = CHUNK) -> WorkloadPlan:
        """The plan, in blocks of that many requests."""
        between("block_requests", block_requests, 1, MAX_REQUESTS)
        return WorkloadPlan(self, block_requests)


@dataclass(frozen=True)
class WorkloadPlan:
    """The plan of a workload. Drawn anew each time it is read; nothing of it is kept but its description."""

    workload: Workload
    block_requests: int = CHUNK

    @property
    def concurrency(self) -> int | None:
        """Requests kept in flight, or None where arrivals are open."""
        match self.workload.arrivals:
            case Concurrency(requests=places) | Streams(samples=places):
                return places
        return None

    @property
    def queries(self) -> Queries | None:
        """How a closed loop is made of whole queries; None where it is not."""
        arrivals = self.workload.arrivals
        return arrivals.queries() if isinstance(arrivals, Streams) else None

    @property
    def block_tokens(self) -> int:
        """Tokens in one prefix block; 0 where nothing is shared."""
        return self.workload.blocks_and_prompts().block_tokens if self.workload.shares_blocks() else 0

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests in order of their numbers, from number 0."""
        return composed(self.workload, self.block_requests)

    def describe(self) -> dict[str, DescribedValue]:
        """The plan as values of conditions, lengths and rates as they are in this plan. Reads it once."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, DescribedValue]:
        return described(self.workload, self)


def plan_digest(plan: Plan) -> str:
    """SHA-256 over every request of a plan: two plans of one digest are the same, whatever their blocks.

    Per request and column, 8 bytes little-endian; a column's hash and its name go into the whole in this order.
    """
    names = ("at_ns", "input_tokens", "output_tokens", "after", "think_ns", "session", "turn", "prefix", "ids")
    hashes = {name: hashlib.sha256() for name in names}
    for block in plan.blocks():
        if len(block.sample):  # a column that came later: plans without it keep their digests
            hashes.setdefault("sample", hashlib.sha256()).update(block.sample.astype("<i8").tobytes())
        for name in names[:-2]:
            hashes[name].update(getattr(block, name).astype("<i8").tobytes())
        hashes["prefix"].update(np.diff(block.prefix_ends, prepend=0).astype("<i8").tobytes())
        hashes["ids"].update(block.prefix_blocks.astype("<i8").tobytes())
    queries = queries_of(plan)
    asked = "" if queries is None else f" {queries.samples} {queries.least} {queries.duration_ns} {queries.step}"
    whole = hashlib.sha256(f"{plan.concurrency} {plan.block_tokens}{asked}".encode())
    for name, column in hashes.items():
        whole.update(f" {name} {column.hexdigest()}".encode())
    return whole.hexdigest()


def _check_limits(arrivals: Arrivals, limits: Limits) -> None:
    if isinstance(arrivals, Burst | Concurrency | Streams):
        _check_counted(arrivals, limits)
        return
    if limits.duration_s is None and limits.requests is None and not _ends(arrivals):
        raise refuse("limits", "neither", "duration_s, requests or both", "these arrivals have no end of their own")
    if limits.duration_s is not None:
        expected = arrivals.expected(limits.duration_s)
        if limits.requests is None and not expected <= MAX_REQUESTS:
            raise refuse("limits.duration_s", f"about {expected:,.0f} requests", f"at most {MAX_REQUESTS:,}")
    elif limits.requests is not None and not _ends(arrivals) and arrivals.expected(MAX_SPAN_S) < limits.requests:
        raise refuse(
            "limits.requests", f"{limits.requests:,} requests", "as many as arrive in three years", "raise the rate"
        )


def _check_counted(arrivals: Burst | Concurrency | Streams, limits: Limits) -> None:
    """Where completions or nothing at all set the pace, only a number of requests can end the plan."""
    if limits.duration_s is not None:
        raise refuse(
            "limits.duration_s",
            f"{limits.duration_s:g} s",
            f"limits.requests: how long {arrivals.words()} takes depends on the target",
            "give limits.requests, and stop the run by its clock",
        )
    if limits.requests is None:
        raise refuse("limits.requests", "nothing", f"a number of requests, since {arrivals.words()} has no other end")


def _check_samples(workload: Workload) -> None:
    """A sample is a prompt and its lengths: what else would shape prompts stands in its way."""
    if workload.samples is None:
        return
    beside = {
        "sessions": workload.sessions is not None,
        "prefixes": workload.prefixes is not None and workload.prefixes.prompts > 0,
        "arrivals: a superposition": isinstance(workload.arrivals, Superposition),
    }
    for name, there in beside.items():
        if there:
            raise refuse("samples", f"a set beside {name}", "one of the two", "leave out one")


def _ends(arrivals: Arrivals) -> bool:
    """Whether the process ends by itself."""
    if isinstance(arrivals, Superposition):
        return all(_ends(client.arrivals) for client in arrivals.clients)
    return isinstance(arrivals, Trace | Windows | Loadgen)
