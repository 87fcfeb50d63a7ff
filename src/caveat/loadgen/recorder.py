"""Recorder: makes one row of every request that is over, and counts what the generator wants to know about itself."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.loadgen.answers import Usage
from caveat.loadgen.connection import Connection
from caveat.loadgen.endpoint import HIDDEN
from caveat.loadgen.failures import CLIENT_LIMITS, readable
from caveat.loadgen.rows import DRAIN, MEASURED, WARMUP, Rows
from caveat.loadgen.settings import Settings, ns
from caveat.loadgen.tally import Tally
from caveat.loadgen.tickets import Ticket
from caveat.loadgen.writer import Writer


class Recorder:
    """Writes into `rows`; words get their numbers from the writer, who turns them back."""

    def __init__(self, rows: Rows, writer: Writer, tally: Tally, settings: Settings, secrets: Sequence[str]) -> None:
        self._rows, self._tally, self._secrets = rows, tally, secrets
        self._finishes, self._errors = writer.finishes, writer.errors
        self._keeps_text = writer.wants_text
        self._warmup_ns = ns(settings.warmup_s)
        self._start_ns = 0
        self._closed = False

    def start(self, start_ns: int, *, closed: bool) -> None:
        """The plan's time 0; in a closed loop nothing is scheduled."""
        self._start_ns, self._closed = start_ns, closed

    def ended(self, c: Connection, t: Ticket, error: str, text: str | bytes, *, draining: bool) -> None:
        """A request that was sent. Called once for each, and plain: it is part of the hot path."""
        if c.stall_ns >= 0:
            self._tally.stalled.add(c.stall_ns)
        self._rows.add(
            t.number,
            t.session,
            t.turn,
            0 if self._closed else t.scheduled_ns,
            t.ready_ns,
            c.sent_ns,
            c.connected_ns,
            c.first_byte_ns,
            c.first_token_ns,
            c.last_token_ns,
            c.end_ns,
            c.stall_ns,
            t.input_tokens,
            t.output_tokens,
            *_counts(c.usage),
            c.chunks if c.event_stream else -1,
            c.bytes,
            self._phase(t, draining),
            self._finish(c.finish) if c.finish else -1,
            self._error(error),
        )
        if error:
            self._rows.add_text(readable(text, self._secrets))
        elif self._keeps_text:
            self._rows.add_answer(c.text)
        if c.chunk_times is not None:
            self._rows.add_chunks(c.chunk_times)

    def unsent(self, t: Ticket, error: str, text: str, end_ns: int, *, draining: bool) -> None:
        """A request for which there was no connection: what was planned, when it failed, and why."""
        scheduled_ns = 0 if self._closed else t.scheduled_ns
        times = (scheduled_ns, t.ready_ns, 0, 0, 0, 0, 0, end_ns)
        counts = (-1, t.input_tokens, t.output_tokens, -1, -1, -1, -1, -1, -1)
        self._rows.add(t.number, t.session, t.turn, *times, *counts, self._phase(t, draining), -1, self._error(error))
        self._rows.add_text(readable(text, self._secrets))

    def _phase(self, ticket: Ticket, draining: bool) -> int:
        if draining:
            return DRAIN
        return WARMUP if ticket.ready_ns - self._start_ns < self._warmup_ns else MEASURED

    def _finish(self, reason: str) -> int:
        """A word of the server's own: it may say our key back to us."""
        for secret in self._secrets:
            reason = reason.replace(secret, HIDDEN)
        return self._finishes.number(reason)

    def _error(self, error: str) -> int:
        if not error:
            return -1
        self._tally.failed += 1
        self._tally.client_limits += error in CLIENT_LIMITS
        return self._errors.number(error)


def _counts(usage: Usage | None) -> tuple[int, int, int, int]:
    """Prompt, answer, cached and reasoning tokens; -1 is not said."""
    if usage is None:
        return (-1, -1, -1, -1)
    prompt, answer = usage.prompt_tokens, usage.completion_tokens
    cached, reasoning = usage.cached_tokens(), usage.reasoning_tokens()
    return (
        -1 if prompt is None else prompt,
        -1 if answer is None else answer,
        -1 if cached is None else cached,
        -1 if reasoning is None else reasoning,
    )
