"""Underway: a completion request between its arrival and its end, and what is known of it afterwards."""

from __future__ import annotations

import msgspec

from caveat.loopback.answer import Answer
from caveat.loopback.behaviour import Fault
from caveat.loopback.engine import Job
from caveat.loopback.truth import Truth, Witness, lag_of, now_ns


class Underway(msgspec.Struct, frozen=True, kw_only=True):
    """What the endpoint keeps. No job and no answer where something else comes in place of an answer."""

    number: int
    path: str
    connection: int
    arrival_ns: int
    stream: bool = False
    job: Job | None = None
    answer: Answer | None = None
    fault: Fault | None = None


def truth_of(one: Underway, outcome: str) -> Truth:
    """What happened to a request that is over now."""
    witness = one.answer.witness if one.answer else Witness()
    job = one.job
    return Truth(
        number=one.number,
        path=one.path,
        stream=one.stream,
        connection=one.connection,
        arrival_ns=one.arrival_ns,
        end_ns=now_ns(),
        outcome=outcome,
        head_ns=witness.head_ns,
        first_due_ns=witness.first_due_ns,
        first_write_ns=witness.first_write_ns,
        last_due_ns=witness.last_due_ns,
        last_write_ns=witness.last_write_ns,
        prompt_tokens=job.prompt_tokens if job else None,
        cached_tokens=job.cached_tokens if job else None,
        output_tokens=job.output_tokens if job else None,
        sent_tokens=one.answer.sent_tokens if one.answer else 0,
        fault=one.fault.kind if one.fault else None,
        lag=lag_of(witness.lags),
    )
