"""Frames: how the parent and its processes speak over pipes. A letter, a length, a payload; columns as their bytes."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import BinaryIO

import msgspec
import numpy as np

from caveat.loadgen.rows import Parcel
from caveat.loadgen.tickets import Slice
from caveat.workload import PlanBlock

# From the parent: what to do (JSON), the plan's time 0, rows of the plan, and their end.
ORDER, START, ROWS, ROWS_END = b"O", b"T", b"P", b"E"
# From a process: it stands ready, samples, requests under way, its report (JSON), or the error that ended it (JSON).
READY, SAMPLES, FLYING, REPORT, FAILURE = b"R", b"B", b"I", b"H", b"F"

_HEAD = struct.Struct("<cQ")
_NUMBERS = "number"


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


def pack_parcel(parcel: Parcel) -> bytes:
    """Samples on their way to the parent."""
    return msgspec.msgpack.encode(parcel)


def unpack_parcel(payload: bytes) -> Parcel:
    """What `pack_parcel` packed."""
    return msgspec.msgpack.decode(payload, type=Parcel)


def pack_slice(piece: Slice) -> bytes:
    """Rows of a plan: each column's bytes by its name."""
    columns = {item.name: getattr(piece.block, item.name) for item in fields(PlanBlock)}
    columns[_NUMBERS] = np.asarray(piece.numbers, np.int64)
    return msgspec.msgpack.encode({name: np.ascontiguousarray(values).data for name, values in columns.items()})


def unpack_slice(payload: bytes) -> Slice:
    """What `pack_slice` packed."""
    packed = msgspec.msgpack.decode(payload, type=dict[str, bytes])
    columns = {name: np.frombuffer(values, np.int64) for name, values in packed.items()}
    numbers = columns.pop(_NUMBERS)
    return Slice(tuple(numbers.tolist()), PlanBlock(**columns))
