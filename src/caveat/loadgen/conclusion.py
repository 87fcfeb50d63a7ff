"""Conclusion: what an answer that came to its end was, or why it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caveat.loadgen.connection import Connection

MAX_ERROR_BODY = 4096
"""Bytes of an answer that are kept with an error."""

Fault = tuple[str, str | bytes]
"""An error class of failures.py, and a text."""


def stream_fault(c: Connection, body: bytes) -> Fault | None:
    """Of an answer with a good status that should have been a stream; `body` is what came outside of one."""
    if not c.event_stream:
        return "not-a-stream", body[:MAX_ERROR_BODY]
    if not c.done_ns and c.finish is None:
        return "truncated", f"the stream ended after {c.chunks} deltas without finish reason or [DONE]"
    if c.finish is None and not c.chunks:
        return "empty", f"{c.bytes} bytes and [DONE], without a delta or a finish reason"
    return None


def cut_off(c: Connection, exc: Exception | None) -> Fault | None:
    """Of an answer whose connection is gone; None where that was its proper end."""
    if c.done_ns:
        return None  # [DONE] had come: nothing is missing but the end of the body
    if not c.first_byte_ns:
        return "reset-before-first-byte", str(exc or "closed by the server")
    if exc is not None:
        return "reset-mid-stream", str(exc)
    if c.status and not c.delimited:
        return None  # no length and no chunks: the end of the connection is the end of the answer
    return "truncated", f"closed after {c.bytes} bytes, before the end of the body"


def overdue(c: Connection, now_ns: int, timeout_ns: int, idle_ns: int) -> Fault | None:
    """Of an answer that takes too long."""
    if now_ns - c.issued_ns > timeout_ns:
        return "timeout", f"no end after {timeout_ns / 1e9:g} s"
    if c.first_byte_ns and now_ns - c.last_ns > idle_ns:
        return "stalled", f"nothing for {idle_ns / 1e9:g} s after {c.bytes} bytes"
    return None
