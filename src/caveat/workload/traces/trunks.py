"""Trunks: beginnings that a large part of all prompts share, such as system prompts, as a small tree without ids.

A trunk is kept if enough prompts go through it; what fewer share is reuse between single requests (see copying.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec
import numpy as np

from caveat.workload.bounds import refuse
from caveat.workload.plan import Int64
from caveat.workload.traces.reuse import leading

NO_TRUNK = -1
MOST_TRUNKS = 64
_SHARE = 0.01

Path = tuple[int, ...]


class Trunk(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A shared beginning: the trunk that it continues (or NO_TRUNK), its length in blocks, requests that have it."""

    parent: int
    blocks: int
    requests: int

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.requests < 1 or self.parent < NO_TRUNK:
            raise refuse("profile: trunks", [self.parent, self.blocks, self.requests], "[parent, blocks, requests]")


def trunks_of(ends: Int64, blocks: Int64, min_count: int) -> tuple[tuple[Trunk, ...], Int64]:
    """The trunks of some prompts, and the deepest trunk of each prompt.

    `ends` and `blocks` list each prompt's blocks from its start. Every trunk has at least `min_count` prompts, and
    one in a hundred; every prompt is counted to a trunk that at least `min_count` prompts end in, or to none.
    """
    deepest, path_of = _popular_ends(ends, blocks, max(min_count, round(_SHARE * len(ends))))
    final = _settled(deepest, path_of, min_count)
    nodes = _with_junctions({path for path in final.values() if path})
    places = {path: place for place, path in enumerate(nodes)}
    counts = _requests_through(deepest, final, nodes)
    trunks = tuple(Trunk(_parent(path, places), len(path), count) for path, count in zip(nodes, counts, strict=True))
    keys, inverse = np.unique(deepest, return_inverse=True)
    trunk_of_key = np.array([places.get(final[int(key)], NO_TRUNK) for key in keys], np.int64)
    return trunks, trunk_of_key[inverse]


def depth_of(trunks: Iterable[Trunk], trunk: Int64) -> Int64:
    """Blocks of each request's trunk; 0 where it has none."""
    return np.append(np.array([one.blocks for one in trunks], np.int64), 0)[trunk]


def _popular_ends(ends: Int64, blocks: Int64, fewest: int) -> tuple[Int64, dict[int, Path]]:
    """For each prompt the last of its leading popular blocks (or NO_TRUNK), and the path to each such block."""
    uses = np.bincount(blocks) if len(blocks) else np.zeros(1, np.int64)
    depth = leading(uses[blocks] >= fewest, ends)
    starts = ends - np.diff(ends, prepend=0)
    last = np.append(blocks, NO_TRUNK)[np.where(depth > 0, starts + depth - 1, len(blocks))]
    keys, first = np.unique(last, return_index=True)
    paths = {
        int(key): tuple(blocks[starts[place] : starts[place] + depth[place]].tolist())
        for key, place in zip(keys, first, strict=True)
    }
    return last, paths


def _settled(deepest: Int64, path_of: dict[int, Path], min_count: int) -> dict[int, Path]:
    """Where each popular end is counted: at itself, or at a shorter beginning if too few end there."""
    keys, counts = np.unique(deepest, return_counts=True)
    held = {path_of[int(key)]: int(count) for key, count in zip(keys, counts, strict=True)}
    moved: dict[Path, Path] = {}
    for length in range(max(map(len, held), default=0), 0, -1):
        for path in [path for path in held if len(path) == length and held[path] < min_count]:
            _move(path, path[:-1], held, moved)
    for path in sorted(held, key=lambda one: held[one])[: max(0, len(held) - MOST_TRUNKS // 2)]:
        if path:
            shorter = max(
                (other for other in held if other == path[: len(other)] and other != path), key=len, default=()
            )
            _move(path, shorter, held, moved)
    return {int(key): _followed(path_of[int(key)], moved) for key in keys}


def _move(path: Path, shorter: Path, held: dict[Path, int], moved: dict[Path, Path]) -> None:
    held[shorter] = held.get(shorter, 0) + held.pop(path)
    moved[path] = shorter


def _followed(path: Path, moved: dict[Path, Path]) -> Path:
    while path in moved:
        path = moved[path]
    return path


def _with_junctions(paths: set[Path]) -> list[Path]:
    """The paths and the beginnings at which they part, shorter ones first."""
    parting = {_common(one, other) for one, other in pairwise(sorted(paths))}
    return sorted(paths | {path for path in parting if path}, key=lambda path: (len(path), path))


def _common(one: Path, other: Path) -> Path:
    length = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[:length] if length is not None else min(one, other, key=len)


def _parent(path: Path, places: dict[Path, int]) -> int:
    shorter = (path[:length] for length in range(len(path) - 1, 0, -1))
    return next((places[one] for one in shorter if one in places), NO_TRUNK)


def _requests_through(deepest: Int64, final: dict[int, Path], nodes: list[Path]) -> list[int]:
    ends: dict[Path, int] = {}
    for key, count in zip(*np.unique(deepest, return_counts=True), strict=True):
        ends[final[int(key)]] = ends.get(final[int(key)], 0) + int(count)
    return [sum(count for path, count in ends.items() if path[: len(node)] == node) for node in nodes]
