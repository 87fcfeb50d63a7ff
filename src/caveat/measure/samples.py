"""Samples: one row a request, as Arrow columns. The one schema of measured, simulated and imported samples.

format history
    caveat-samples/1   first version

Times are integer nanoseconds from the start of the plan. A time that did not happen is null, never zero.
Every count of tokens says in its name who counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "caveat-samples/1"

# name, Arrow type, may be null, meaning
COLUMNS: tuple[tuple[str, str, bool, str], ...] = (
    ("request", "int64", False, "number of the request in the plan"),
    ("session", "int64", True, "conversation"),
    ("turn", "int64", True, "place in the conversation, from 0"),
    ("scheduled_ns", "int64", True, "when the plan wanted it sent; null in a closed loop"),
    ("ready_ns", "int64", False, "when it could be sent: the scheduled time, or the end of what it waits for"),
    ("sent_ns", "int64", True, "when its first byte left; null if it never did"),
    ("connected_ns", "int64", True, "when a new connection stood; null if one was reused"),
    ("first_byte_ns", "int64", True, "first byte of the answer"),
    ("first_token_ns", "int64", True, "first content, reasoning or tool-call delta that is not empty"),
    ("last_token_ns", "int64", True, "last such delta"),
    ("end_ns", "int64", True, "end of the answer, or the moment of the error"),
    ("stall_ns", "int64", True, "how long the client's own loop held back the reading of the first token"),
    ("input_tokens_wanted", "int64", False, "prompt length the plan wanted"),
    ("output_tokens_wanted", "int64", False, "answer length the plan wanted"),
    ("input_tokens_usage", "int64", True, "prompt tokens by the server's usage record"),
    ("output_tokens_usage", "int64", True, "answer tokens by the server's usage record"),
    ("cached_tokens_usage", "int64", True, "prompt tokens served from a cache, by the server's usage record"),
    ("reasoning_tokens_usage", "int64", True, "reasoning tokens, by the server's usage record"),
    ("output_tokens_client", "int64", True, "answer tokens by a tokenizer of the client"),
    ("chunks", "int64", True, "deltas that were not empty; chunks are not tokens"),
    ("bytes", "int64", True, "bytes of the answer"),
    ("phase", "string", False, "warmup, measured or drain"),
    ("finish_reason", "string", True, "as the server says it"),
    ("error_class", "string", True, "null for success"),
    ("error_text", "string", True, "what went wrong, cut to a readable length"),
    ("chunk_ns", "list<int64>", True, "time of every delta, where asked for"),
)


def schema() -> pa.Schema:
    """The Arrow schema, with the format in its metadata."""
    import pyarrow as pa

    types = {"int64": pa.int64(), "string": pa.string(), "list<int64>": pa.list_(pa.int64())}
    return pa.schema(
        [pa.field(name, types[kind], nullable=null, metadata={"meaning": text}) for name, kind, null, text in COLUMNS],
        metadata={"format": FORMAT},
    )
