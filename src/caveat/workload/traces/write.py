"""Trace files made from plans and recordings: our own rows, or Mooncake's. Written block by block, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from caveat.errors import UsageError
from caveat.workload.bounds import MAX_REQUESTS, between
from caveat.workload.plan import NO_REQUEST, Plan, PlanBlock
from caveat.workload.traces.mooncake import MOONCAKE
from caveat.workload.traces.own import FORMAT
from caveat.workload.traces.profile import Profile
from caveat.workload.traces.recording import Recording
from caveat.workload.traces.replay import plan_of, plan_of_recording
from caveat.workload.workload import Limits, Workload

Form = Literal["caveat", "mooncake"]

_FIRST_OWN_ID = 1 << 40
"""Ids of blocks that nobody shares, in Mooncake's form, which names every block: above those of shared ones."""


def synthesize(
    source: Workload | Profile,
    path: Path,
    *,
    requests: int | None = None,
    seed: int | None = None,
    form: Form = "caveat",
) -> int:
    """Write a trace of a workload or profile, at most `requests` long; the number of requests written.

    The seed is the workload's own, or 0 for a profile, unless given.
    """
    if requests is not None:
        between("requests", requests, 1, MAX_REQUESTS)
    return write_plan(_plan(source, requests, seed), path, form=form, source=source_words(source))


def _plan(source: Workload | Profile, requests: int | None, seed: int | None) -> Plan:
    if isinstance(source, Profile):
        return plan_of(source, seed or 0, requests=requests)
    changed = msgspec.structs.replace(source, seed=source.seed if seed is None else seed)
    if requests is not None:
        changed = msgspec.structs.replace(changed, limits=Limits(changed.limits.duration_s, requests))
    return changed.plan()


def source_words(source: Workload | Profile) -> str:
    """What a synthesized trace was made from."""
    if isinstance(source, Profile):
        return source.words()
    return f"workload {source.name}".strip()


def write_recording(recording: Recording, path: Path, *, form: Form = "caveat") -> int:
    """Write a recording; the number of requests. Lengths of 0 become 1, and only whole blocks are written."""
    return write_plan(
        plan_of_recording(recording),
        path,
        form=form,
        source=recording.source.name,
        transformations=recording.source.transformations,
        grid_ns=recording.source.grid_ns,
    )


def write_plan(
    plan: Plan,
    path: Path,
    *,
    form: Form = "caveat",
    source: str = "plan",
    transformations: tuple[str, ...] = (),
    grid_ns: int = 0,
) -> int:
    """Write the requests of an open plan at their scheduled times; the number of requests.

    UsageError for a closed loop, which has no times, and for Mooncake's form with blocks of another size.
    """
    _check_form(plan, form)
    head = {
        "format": FORMAT,
        "block_tokens": plan.block_tokens,
        "grid_ns": grid_ns,
        "source": source,
        "transformations": transformations,
    }
    own = form == "caveat"
    writer = _OwnRows(plan.block_tokens) if own else _MooncakeRows(plan.block_tokens)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    written = 0
    try:
        with unfinished.open("wb") as file:
            file.write(msgspec.json.encode(head) + b"\n" if own else b"")
            for block in plan.blocks():
                file.write(msgspec.json.Encoder().encode_lines(list(writer.rows(block))))
                written += len(block)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return written


def _check_form(plan: Plan, form: Form) -> None:
    if plan.concurrency is not None:
        raise UsageError("a closed loop has no arrival times to write", next="use open arrivals")
    if form == "mooncake" and plan.block_tokens not in (0, MOONCAKE.block_tokens):
        raise UsageError(
            f"blocks of {plan.block_tokens} tokens: Mooncake's form has {MOONCAKE.block_tokens}",
            next="use the form caveat, or blocks of 512 tokens",
        )


def _id_lists(block: PlanBlock) -> list[list[int]]:
    ends = block.prefix_ends.tolist() if len(block.prefix_ends) else [0] * len(block)
    ids = block.prefix_blocks.tolist()
    return [ids[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


class _OwnRows:
    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens

    def rows(self, block: PlanBlock) -> Iterator[dict[str, Any]]:
        nobody = np.full(len(block), NO_REQUEST)
        sessions = (block.session if len(block.session) else nobody).tolist()
        turns = (block.turn if len(block.turn) else nobody).tolist()
        lists = _id_lists(block)
        columns = (block.at_ns.tolist(), block.input_tokens.tolist(), block.output_tokens.tolist())
        for at_ns, input_tokens, output_tokens, session, turn, ids in zip(
            *columns, sessions, turns, lists, strict=True
        ):
            row = {"t_ns": at_ns, "input_tokens": input_tokens, "output_tokens": output_tokens}
            if session != NO_REQUEST:
                row |= {"session": session, "turn": turn}
            if self._block_tokens:
                row["blocks"] = ids
            yield row


class _MooncakeRows:
    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._next_id = _FIRST_OWN_ID

    def rows(self, block: PlanBlock) -> Iterator[dict[str, Any]]:
        columns = (block.at_ns.tolist(), block.input_tokens.tolist(), block.output_tokens.tolist())
        for at_ns, input_tokens, output_tokens, ids in zip(*columns, _id_lists(block), strict=True):
            row = {"timestamp": round(at_ns / 1e6), "input_length": input_tokens, "output_length": output_tokens}
            if self._block_tokens:
                more = max(0, -(-input_tokens // self._block_tokens) - len(ids))
                row["hash_ids"] = [*ids, *range(self._next_id, self._next_id + more)]
                self._next_id += more
            yield row
