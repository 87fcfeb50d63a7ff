"""Frames: how the parent and its processes speak over pipes. One letter, a length, a payload; and plans as Arrow."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from caveat.loadgen.feed import Slice
from caveat.workload import PlanBlock

if TYPE_CHECKING:
    import pyarrow as pa

# From the parent: what to do (JSON), the plan's time 0, rows of the plan, and their end.
ORDER, START, ROWS, ROWS_END = b"O", b"T", b"P", b"E"
# From a process: it stands ready, samples, requests under way, its report (JSON), or the error that ended it (JSON).
READY, SAMPLES, FLYING, REPORT, FAILURE = b"R", b"B", b"I", b"H", b"F"

_HEAD = struct.Struct("<cQ")
_COLUMNS = ("at_ns", "input_tokens", "output_tokens", "after", "think_ns", "session", "turn", "sample")


def write_frame(pipe: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """Send one frame. The caller sees to it that two threads do not write at once."""
    pipe.write(_HEAD.pack(kind, len(payload)) + payload)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next frame, or None where the other side is gone."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, size = _HEAD.unpack(head)
    payload = pipe.read(size)
    return (kind, payload) if len(payload) == size else None


def pack_batch(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream of one."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def unpack_batch(payload: bytes) -> pa.RecordBatch:
    """The batch of such a stream."""
    import pyarrow as pa

    with pa.ipc.open_stream(payload) as stream:
        return stream.read_next_batch()


def pack_slice(piece: Slice) -> bytes:
    """Rows of a plan; columns that a block leaves empty stay away."""
    import pyarrow as pa

    block = piece.block
    columns = {"number": pa.array(np.asarray(piece.numbers, np.int64))}
    columns |= {name: pa.array(values) for name in _COLUMNS if len(values := getattr(block, name)) == len(block)}
    if len(block.prefix_ends):
        offsets = pa.array(np.concatenate([[0], block.prefix_ends]).astype(np.int32))
        columns["prefix"] = pa.ListArray.from_arrays(offsets, pa.array(block.prefix_blocks))
    return pack_batch(pa.record_batch(columns))


def unpack_slice(payload: bytes) -> Slice:
    """What `pack_slice` packed."""
    batch = unpack_batch(payload)
    columns = {name: batch.column(name).to_numpy() for name in _COLUMNS if name in batch.schema.names}
    if "prefix" in batch.schema.names:
        prefix = batch.column("prefix")
        columns["prefix_ends"] = prefix.offsets.to_numpy()[1:].astype(np.int64)
        columns["prefix_blocks"] = prefix.values.to_numpy()
    return Slice(tuple(batch.column("number").to_pylist()), PlanBlock(**columns))
