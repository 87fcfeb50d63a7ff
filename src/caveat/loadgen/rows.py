"""Rows: samples as they end, packed into a byte buffer; parcels, which may travel; Arrow batches made of them.

One `struct` call a sample is the cheapest way from Python integers to columns, and leaves no object behind. What
is not known is packed as 0 (times, which are never 0 on the machine's clock) or -1 (counts) and becomes null.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.measure import schema

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["number", "instant", "count", "phase", "finish", "error"]

# column of the samples schema, and what its packed integer means. The order is that of `Rows.add`'s arguments.
PACKED: tuple[tuple[str, Kind], ...] = (
    ("request", "number"),
    ("session", "count"),
    ("turn", "count"),
    ("scheduled_ns", "instant"),
    ("ready_ns", "instant"),
    ("sent_ns", "instant"),
    ("connected_ns", "instant"),
    ("first_byte_ns", "instant"),
    ("first_token_ns", "instant"),
    ("last_token_ns", "instant"),
    ("end_ns", "instant"),
    ("stall_ns", "count"),
    ("input_tokens_wanted", "number"),
    ("output_tokens_wanted", "number"),
    ("input_tokens_usage", "count"),
    ("output_tokens_usage", "count"),
    ("cached_tokens_usage", "count"),
    ("reasoning_tokens_usage", "count"),
    ("chunks", "count"),
    ("bytes", "count"),
    ("phase", "phase"),
    ("finish_reason", "finish"),
    ("error_class", "error"),
)
PHASES = ("warmup", "measured", "drain")
WARMUP, MEASURED, DRAIN = range(3)

ROWS = 2048
_ROW = struct.Struct(f"<{len(PACKED)}q")
_NUMBER = struct.Struct("<q")
_PLACE = {name: place for place, (name, _) in enumerate(PACKED)}
_MAX_WORDS = 256
_MAX_WORD = 60


class Words:
    """A few texts under small numbers. A server that thinks up new ones without end gets "other"."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word."""
        known = self._numbers.get(word)
        return known if known is not None else self._new(word)

    def _new(self, word: str) -> int:
        # Surrogates (half of a character in an escape) cannot be stored as UTF-8.
        printable = "".join(c for c in word[:_MAX_WORD] if c.isprintable())
        if len(self._numbers) >= _MAX_WORDS:
            printable = "other"
        return self._numbers.setdefault(printable, len(self._numbers))

    def all(self) -> list[str]:
        """Words in order of their numbers."""
        return list(self._numbers)


@dataclass(slots=True)
class Block:
    """Rows that are complete and wait to become a batch. Texts and times of chunks are sparse."""

    packed: bytes
    texts: dict[int, str] = field(default_factory=dict)
    answers: dict[int, list[str]] = field(default_factory=dict)
    chunks: dict[int, array[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.packed) // _ROW.size

    def number(self, row: int) -> int:
        """The request that a row is of: the first of its packed integers."""
        return int(_NUMBER.unpack_from(self.packed, row * _ROW.size)[0])


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """A block on its way to a sink, with all that its numbers mean.

    `start_ns` is the plan's time 0 on the machine's clock; `tokens` maps a row to what a tokenizer of ours counted,
    `chunks` to the instants of its deltas, 8 bytes each.
    """

    packed: bytes
    start_ns: int
    finishes: list[str]
    errors: list[str]
    texts: dict[int, str]
    tokens: dict[int, int]
    chunks: dict[int, bytes]

    def __len__(self) -> int:
        return len(self.packed) // _ROW.size


class Rows:
    """Collects samples; `take` gives the blocks that are ready."""

    __slots__ = ("_answers", "_buffer", "_chunks", "_count", "_full", "_texts")

    def __init__(self) -> None:
        self._full: list[Block] = []
        self._begin()

    def _begin(self) -> None:
        self._buffer = bytearray(ROWS * _ROW.size)
        self._count = 0
        self._texts: dict[int, str] = {}
        self._answers: dict[int, list[str]] = {}
        self._chunks: dict[int, array[int]] = {}

    def add(self, *values: int) -> None:
        """One sample: the integers of PACKED in their order."""
        if self._count == ROWS:
            self._seal()
        _ROW.pack_into(self._buffer, self._count * _ROW.size, *values)
        self._count += 1

    def add_text(self, text: str) -> None:
        """The error's text of the sample that was added last."""
        self._texts[self._count - 1] = text

    def add_answer(self, deltas: list[str]) -> None:
        """The answer of the sample that was added last, delta by delta, to be counted in tokens or kept in a file."""
        self._answers[self._count - 1] = deltas

    def add_chunks(self, times_ns: array[int]) -> None:
        """The instants of the deltas of the sample that was added last."""
        self._chunks[self._count - 1] = times_ns

    def take(self) -> list[Block]:
        """Everything since the last call."""
        if self._count:
            self._seal()
        blocks, self._full = self._full, []
        return blocks

    def _seal(self) -> None:
        packed = bytes(memoryview(self._buffer)[: self._count * _ROW.size])
        self._full.append(Block(packed, self._texts, self._answers, self._chunks))
        self._begin()


def batch(parcel: Parcel) -> pa.RecordBatch:
    """A parcel as a batch of the samples schema."""
    import pyarrow as pa

    words = {"phase": list(PHASES), "finish": parcel.finishes, "error": parcel.errors}
    table = np.frombuffer(parcel.packed, np.int64).reshape(len(parcel), len(PACKED))
    columns = {}
    for place, (name, kind) in enumerate(PACKED):
        values = table[:, place]
        columns[name] = _coded(values, words[kind]) if kind in words else _numbers(values, kind, parcel.start_ns)
    columns["output_tokens_client"] = _sparse(parcel.tokens, len(parcel), pa.int64())
    columns["error_text"] = _sparse(parcel.texts, len(parcel), pa.string())
    columns["chunk_ns"] = _chunk_times(parcel)
    return pa.record_batch([columns[item.name] for item in schema()], schema=schema())


def _sparse(values: Mapping[int, int | str], count: int, kind: pa.DataType) -> pa.Array:
    """A column of which most rows are null: in a run without errors all are, and none is looked up."""
    import pyarrow as pa

    if not values:
        return pa.nulls(count, kind)
    return pa.array([values.get(row) for row in range(count)], kind)


def _numbers(values: npt.NDArray[np.int64], kind: Kind, start_ns: int) -> pa.Array:
    import pyarrow as pa

    if kind == "instant":
        return pa.array(values - start_ns, mask=values == 0)
    return pa.array(values, mask=values < 0) if kind == "count" else pa.array(values)


def _coded(codes: npt.NDArray[np.int64], words: list[str]) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array(words, pa.string())
    ).dictionary_decode()


def _chunk_times(parcel: Parcel) -> pa.Array:
    import pyarrow as pa

    kind = pa.list_(pa.int64())
    if not parcel.chunks:
        return pa.nulls(len(parcel), kind)
    times = [parcel.chunks.get(row) for row in range(len(parcel))]
    return pa.array([None if t is None else np.frombuffer(t, np.int64) - parcel.start_ns for t in times], kind)
