"""Endpoint: completion requests from arrival to end: refused, befallen by a fault, or served by the engine in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from caveat.loopback.answer import Answer, FaultyAnswer, SoundAnswer
from caveat.loopback.asked import Asked, read_asked
from caveat.loopback.behaviour import Behaviour, Fault
from caveat.loopback.connection import Connection
from caveat.loopback.engine import Engine, Job
from caveat.loopback.events import Shape, UsageWay
from caveat.loopback.faults import HTML, INSTEAD, fault_of
from caveat.loopback.pump import Pump
from caveat.loopback.truth import TruthLog, now_ns
from caveat.loopback.underway import Underway, truth_of
from caveat.loopback.wire import ApiError, error_response, response
from caveat.loopback.words import PrefixCache, chain_of


class Endpoint:
    """One server's state, all of it in the thread of its loop. `refuse_for` closes the listener for some seconds."""

    def __init__(
        self,
        behaviour: Behaviour,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        refuse_for: Callable[[float], None],
    ) -> None:
        self.behaviour = behaviour
        self.engine = engine
        self.pump = Pump(engine, loop, self._emit)
        self.log = TruthLog(behaviour.log_requests)
        self.cache = PrefixCache(behaviour.prefix_cache_blocks)
        self.prompt_tokens = 0
        self.sent_tokens = 0
        self.started_ns = now_ns()
        self.created = int(time.time())
        self._refuse_for = refuse_for
        self._underway: dict[int, Underway] = {}
        self._numbers = 0

    def complete(self, connection: Connection, path: str, body: bytes, chat: bool) -> None:
        """Begin to answer a completion request."""
        arrival_ns = now_ns()
        number = connection.serving = self._numbers
        self._numbers += 1
        fault = fault_of(self.behaviour, number) if self.behaviour.faults else None
        one = Underway(number=number, path=path, connection=connection.number, arrival_ns=arrival_ns, fault=fault)
        if fault and fault.kind in INSTEAD:
            self._underway[number] = one
            self._befall(connection, number, fault)
            return
        asked = read_asked(body, chat, number, self.behaviour)
        if isinstance(asked, ApiError):
            self._underway[number] = one
            self._refuse(connection, number, asked)
            return
        self._serve(connection, one, asked)

    def over(self, number: int, outcome: str) -> None:
        """A completion request has ended. Once for each: a second time is no error."""
        one = self._underway.pop(number, None)
        if one is None:
            return
        if one.job and outcome != "done":
            self.engine.cancel(number, now_ns())
            self.pump.call()
        truth = truth_of(one, outcome)
        self.prompt_tokens += truth.prompt_tokens or 0
        self.sent_tokens += truth.sent_tokens
        self.log.add(truth, one.answer.witness.lags if one.answer else ())

    def reply(self, connection: Connection, data: bytes) -> None:
        """Send a whole answer; in a stall, when it ends."""
        self.pump.unless_stalled(lambda: connection.answer(data))

    def _serve(self, connection: Connection, one: Underway, asked: Asked) -> None:
        """Hand the request to the engine."""
        behaviour, number = self.behaviour, one.number
        cached = self.cache.take(asked.words) if behaviour.prefix_cache_blocks else None
        job = Job(
            number=number,
            arrival_ns=one.arrival_ns,
            prompt_tokens=len(asked.words),
            output_tokens=asked.output_tokens,
            cached_tokens=cached,
            whole=behaviour.one_write or not asked.stream,
            chain=chain_of(asked.words, self.engine.block_tokens) if self.engine.block_tokens else (),
        )
        accepted = self.engine.accept(job)
        if isinstance(accepted, str):
            self._underway[number] = one
            self._refuse(connection, number, ApiError(400, accepted, None))
            return
        job, asked = accepted, _cut(asked, accepted.output_tokens)
        answer = self._answer(connection, one, asked, cached)
        self._underway[number] = msgspec.structs.replace(one, stream=asked.stream, job=job, answer=answer)
        if behaviour.early_head and not self.pump.stalled:
            answer.open()
        self.engine.submit(job)
        self.pump.call()

    def _answer(self, connection: Connection, one: Underway, asked: Asked, cached: int | None) -> Answer:
        shape = _shape(self.behaviour, self.created, asked, cached, one.fault)
        if one.fault is None or one.fault.kind == "missing-usage":
            return SoundAnswer(connection, one.number, shape, asked.stream, self.behaviour, self.over)
        return FaultyAnswer(
            connection, one.number, shape, asked.stream, self.behaviour, self.over, one.fault, self.pump.later
        )

    def _emit(self, number: int, due_ns: int, tokens: int, cached: int | None) -> None:
        one = self._underway.get(number)
        if one is None or one.answer is None:
            return
        if cached is not None and one.job is not None and one.job.cached_tokens is None:
            self._found(one, one.job, cached)
            one.answer.found(cached)
        one.answer.emit(due_ns, tokens)

    def _found(self, one: Underway, job: Job, cached: int) -> None:
        """The engine's own cache held so much of the prompt: for the log and the counters."""
        self.cache.count(job.prompt_tokens, cached)
        told = msgspec.structs.replace(job, cached_tokens=cached)
        self._underway[one.number] = msgspec.structs.replace(one, job=told)

    def _befall(self, connection: Connection, number: int, fault: Fault) -> None:
        """The faults that come in place of an answer."""
        if fault.kind == "http":
            retry_s = fault.seconds if fault.status in (429, 503) else None
            self._refuse(connection, number, ApiError(fault.status, "a fault that was asked for", None, retry_s))
            return
        self.over(number, fault.kind)
        if fault.kind == "wrong-content-type":
            self.reply(connection, response(200, HTML, "text/html; charset=utf-8"))
            return
        if fault.kind == "refuse":
            self._refuse_for(fault.seconds)
        connection.reset()

    def _refuse(self, connection: Connection, number: int, error: ApiError) -> None:
        self.over(number, f"http {error.status}")
        self.reply(connection, error_response(error))


def _cut(asked: Asked, output_tokens: int) -> Asked:
    """With the answer that the engine gives; one that is shorter ends because it is long enough for the engine."""
    if output_tokens == asked.output_tokens:
        return asked
    return msgspec.structs.replace(asked, output_tokens=output_tokens, finish_reason="length")


def _shape(behaviour: Behaviour, created: int, asked: Asked, cached: int | None, fault: Fault | None) -> Shape:
    """What the answer to the request looks like. A text completion has neither reasoning nor tool calls."""
    reasoning = min(behaviour.reasoning_tokens, asked.output_tokens) if asked.chat else 0
    call = min(behaviour.tool_call_tokens, asked.output_tokens - reasoning) if asked.chat else 0
    return Shape(
        behaviour.model,
        created,
        asked.chat,
        len(asked.words),
        cached,
        asked.output_tokens,
        asked.finish_reason,
        "never" if fault and fault.kind == "missing-usage" else _usage_way(behaviour, asked),
        behaviour.first_chunk,
        behaviour.reasoning_field,
        reasoning,
        call,
    )


def _usage_way(behaviour: Behaviour, asked: Asked) -> UsageWay:
    """How usage is told: as the behaviour says, or as the request asks. Without a stream there is always usage."""
    if behaviour.usage != "asked":
        return behaviour.usage
    if asked.continuous_usage:
        return "continuous"
    return "own-chunk" if asked.include_usage or not asked.stream else "never"
