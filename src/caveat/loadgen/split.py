"""Split: which process makes which request. By number; but conversations, and chains of requests, stay together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

import numpy as np
import numpy.typing as npt

from caveat.loadgen.tickets import Slice
from caveat.workload import NO_REQUEST, PlanBlock

_PREFIX = ("prefix_ends", "prefix_blocks")


def split(blocks: Iterable[PlanBlock], processes: int) -> Iterator[list[Slice]]:
    """For each block, one slice a process (some may be empty)."""
    owners = bytearray()  # of every request so far, kept only while a plan has chains
    first = 0
    for block in blocks:
        own = _owners(block, first, processes, owners)
        first += len(block)
        yield [rows_of(block, np.flatnonzero(own == process), first - len(block)) for process in range(processes)]


def _owners(block: PlanBlock, first: int, processes: int, owners: bytearray) -> npt.NDArray[np.int64]:
    own = np.arange(first, first + len(block), dtype=np.int64) % processes
    if len(block.session):
        own = np.where(block.session == NO_REQUEST, own, block.session % processes)
    if len(owners) < first:  # blocks before had no chains: theirs are told by number
        owners.extend(number % processes for number in range(len(owners), first))
    for row, waits_for in enumerate(block.after.tolist()):
        if waits_for != NO_REQUEST:
            own[row] = owners[waits_for] if waits_for < first else own[waits_for - first]
    owners.extend(own.astype(np.uint8).tobytes())
    return own


def rows_of(block: PlanBlock, rows: npt.NDArray[np.int64], first: int) -> Slice:
    """Some rows of a block whose first request has the number `first`."""
    columns = {
        item.name: values[rows]
        for item in fields(block)
        if item.name not in _PREFIX and len(values := getattr(block, item.name)) == len(block)
    }
    if len(block.prefix_ends):
        begins = np.concatenate([[0], block.prefix_ends[:-1]])
        pieces = [block.prefix_blocks[begins[row] : block.prefix_ends[row]] for row in rows]
        columns["prefix_ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        columns["prefix_blocks"] = np.concatenate([np.empty(0, np.int64), *pieces])
    return Slice(tuple((rows + first).tolist()), PlanBlock(**columns))
