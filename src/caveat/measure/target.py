"""Target, Sink and Clock: the protocol in which workloads, endpoints and modelled servers meet.

A Target is offered a Plan and hands Samples to a Sink. An endpoint runs an event loop of its own inside `offer`,
a modelled server advances a virtual clock; to the caller both are one ordinary call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from caveat.workload import Plan

if TYPE_CHECKING:
    import pyarrow as pa


class Clock(Protocol):
    """Time since the start of the plan, wall-clock or virtual."""

    def now_ns(self) -> int:
        """Nanoseconds since the start of the plan."""
        ...


class Sink(Protocol):
    """Takes samples as the run goes: a Parquet writer, a live view and a summary are sinks."""

    def take(self, batch: pa.RecordBatch) -> None:
        """Rows of the schema in samples.py, in order of their end. The batch may be kept: nobody changes it."""
        ...

    def close(self) -> None:
        """No more rows come. Called once, also after an error."""
        ...


class Cancel(Protocol):
    """Asks a running offer to stop: no request is fed any more, those in flight drain until the deadline."""

    def requested(self) -> bool:
        """Whether somebody asked to stop."""
        ...


class Target(Protocol):
    """Anything that can be offered a plan: an endpoint in wall-clock time, a modelled server in virtual time."""

    def offer(self, plan: Plan, sink: Sink, clock: Clock, cancel: Cancel | None = None) -> None:
        """Make every request of the plan and hand each one's sample to the sink, failures included.

        A request whose time has come is sent whatever else is in flight (open loop), or when a place is free
        (plan.concurrency). Returns when every request that was sent has its sample; the sink is closed then.
        """
        ...
