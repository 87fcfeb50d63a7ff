"""Samples of simulated requests: integers as they end, in one buffer, and the Arrow batches made of them.

There is no client: a request is sent when it is due, its first byte is its first token, and counts are exact.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from caveat.measure import schema
from caveat.simulator.instants import FS_PER_NS
from caveat.simulator.request import Request

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 8192
# In the order of Rows.add; "coded" is a number for a word, -1 for null; other numbers are null below 0 where allowed.
_PACKED = (
    "request",
    "session",
    "turn",
    "scheduled_ns",
    "ready_ns",
    "first_token_ns",
    "last_token_ns",
    "end_ns",
    "input_tokens_wanted",
    "output_tokens_wanted",
    "input_tokens_usage",
    "output_tokens_usage",
    "cached_tokens_usage",
    "phase",
    "finish_reason",
    "error_class",
)
_SAME = {"sent_ns": "ready_ns", "first_byte_ns": "first_token_ns"}
_ERRORS = ("http-400", "http-429", "http-503", "reset-mid-stream")
_WORDS = {"phase": ("measured", "drain"), "finish_reason": ("length",), "error_class": _ERRORS}
_ERROR_TEXTS = (
    "the request cannot be served: longer than the context or than all KV blocks",
    "the fleet has as many requests under way as it takes",
    "no replica takes requests",
    "the replica failed, and the request was not tried again",
)


class Rows:
    """Collects samples; `batch` gives what has come together. `closed`: nothing is scheduled in a closed loop."""

    __slots__ = ("_closed", "_values", "draining")

    def __init__(self, *, closed: bool) -> None:
        self._values = array("q")
        self._closed = closed
        self.draining = False

    def __len__(self) -> int:
        return len(self._values) // len(_PACKED)

    def add(self, request: Request, end_fs: int, error: str) -> None:
        """One sample. Plain: it is called for every request."""
        end_ns = end_fs // FS_PER_NS
        scheduled_ns = -1 if self._closed else request.scheduled_ns
        if error:
            times = (-1, -1, end_ns)
            code = _ERRORS.index(error)
            used: tuple[int, ...] = (-1, -1, -1, self.draining, -1, code)
        else:
            times = (request.first_fs // FS_PER_NS, end_ns, end_ns)
            cached = request.cached if request.cached > 0 else 0
            used = (request.prompt, request.output, cached, self.draining, 0, -1)
        self._values.extend(
            (
                request.number,
                request.session,
                request.turn,
                scheduled_ns,
                request.due_fs // FS_PER_NS,
                *times,
                request.prompt,
                request.wanted,
                *used,
            )
        )

    def batch(self) -> pa.RecordBatch:
        """The rows since the last call as a batch of the samples schema."""
        import pyarrow as pa

        table = np.frombuffer(self._values, np.int64).reshape(-1, len(_PACKED)).T.copy()
        self._values = array("q")
        columns = dict(zip(_PACKED, table, strict=True))
        count = table.shape[1]
        arrays = []
        for field in schema():
            values = columns.get(_SAME.get(field.name, field.name))
            if values is None:
                arrays.append(
                    _texts(columns["error_class"]) if field.name == "error_text" else pa.nulls(count, field.type)
                )
            elif field.name in _WORDS:
                arrays.append(_coded(values, _WORDS[field.name]))
            else:
                arrays.append(pa.array(values, mask=values < 0) if field.nullable else pa.array(values))
        return pa.record_batch(arrays, schema=schema())


def _coded(codes: np.ndarray[tuple[int], np.dtype[np.int64]], words: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(words, pa.string())
    ).dictionary_decode()


def _texts(errors: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    return _coded(errors, _ERROR_TEXTS)
