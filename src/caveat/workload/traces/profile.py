"""Profile: a trace's traffic in a small document that anybody can replay. It holds counts and no request.

Nothing in it stands for fewer requests than its threshold, lengths are rounded, and there is no place for text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from caveat.errors import InputError
from caveat.units import format_seconds, seconds_from_ns
from caveat.workload.bounds import between, refuse
from caveat.workload.traces.axis import Axis
from caveat.workload.traces.cascade import ArrivalProfile
from caveat.workload.traces.cells import Box
from caveat.workload.traces.lines import opened, unreadable
from caveat.workload.traces.trunks import NO_TRUNK, Trunk

FORMAT: Literal["caveat-profile/1"] = "caveat-profile/1"
"""Version 1: the first."""

MAX_BYTES = 4 << 20
MAX_BOXES = 20_000


class RequestClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests of one trunk that begin a conversation or stand alone, or (`later`) continue one.

    A box is the first and last bin on the axis of input, output, then reuse and turn where these are known, and how
    many requests are in it.
    """

    trunk: int = NO_TRUNK
    later: bool = False
    boxes: tuple[Box, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arrivals, lengths, sharing and conversations of a trace, and how they depend on each other.

    reuse          thousandths of a prompt's whole blocks, beyond its trunk, that an earlier request began with
    turn           place of a request in its conversation, from 0
    reuse_age_ms   time since the request was made whose beginning is reused
    turn_age_ms    time since the turn before arrived
    taken          thousandths of the blocks of a reused request, beyond its trunk, that are reused
    """

    format: Literal["caveat-profile/1"] = FORMAT
    name: str = ""
    requests: int
    min_count: int
    block_tokens: int = 0
    arrivals: ArrivalProfile
    input: Axis
    output: Axis
    reuse: Axis | None = None
    turn: Axis | None = None
    reuse_age_ms: Axis | None = None
    turn_age_ms: Axis | None = None
    taken: Axis | None = None
    trunks: tuple[Trunk, ...] = ()
    classes: tuple[RequestClass, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        between("profile: requests", self.requests, 1, 1 << 40)
        between("profile: min_count", self.min_count, 1, 1 << 31)
        between("profile: block_tokens", self.block_tokens, 0, 1 << 24)
        _check_trunks(self.trunks)
        _check_classes(self)

    def axes(self) -> tuple[Axis, ...]:
        """The axes of a box, in order."""
        return tuple(axis for axis in (self.input, self.output, self.reuse, self.turn) if axis is not None)

    def smallest(self) -> int:
        """The fewest requests that anything in the document stands for."""
        axes = [axis for axis in (*self.axes(), self.reuse_age_ms, self.turn_age_ms, self.taken) if axis is not None]
        counts = [bin_[2] for axis in axes for bin_ in axis.bins]
        counts += [box[-1] for one in self.classes for box in one.boxes]
        counts += [cell[2] for cell in self.arrivals.cells] + [trunk.requests for trunk in self.trunks]
        return min(counts)

    def words(self) -> str:
        """The profile for people."""
        named = f"profile {self.name}" if self.name else "profile"
        span = format_seconds(seconds_from_ns(self.arrivals.span_ns))
        return f"{named} of {self.requests:,} requests in {span}"


def _check_trunks(trunks: tuple[Trunk, ...]) -> None:
    for place, trunk in enumerate(trunks):
        if trunk.parent >= place:
            raise refuse(f"profile: trunks[{place}]", trunk.parent, "a parent before it")
        if trunk.parent != NO_TRUNK and trunks[trunk.parent].blocks >= trunk.blocks:
            raise refuse(f"profile: trunks[{place}]", trunk.blocks, "more blocks than its parent")
        between(f"profile: trunks[{place}]: blocks", trunk.blocks, 1, 1 << 20)


def _check_classes(profile: Profile) -> None:
    boxes = sum(len(one.boxes) for one in profile.classes)
    if not 1 <= boxes <= MAX_BOXES:
        raise refuse("profile: classes", f"{boxes:,} boxes", f"1 to {MAX_BOXES:,}")
    sizes = [len(axis.bins) for axis in profile.axes()]
    for one in profile.classes:
        if not NO_TRUNK <= one.trunk < len(profile.trunks):
            raise refuse("profile: classes: trunk", one.trunk, f"-1 to {len(profile.trunks) - 1}")
        for box in one.boxes:
            if len(box) != 2 * len(sizes) + 1 or box[-1] < 1 or not _inside(box, sizes):
                raise refuse("profile: classes: boxes", list(box), "[first bin, last bin, ... of each axis, requests]")


def _inside(box: Box, sizes: list[int]) -> bool:
    ends = zip(box[:-1:2], box[1:-1:2], sizes, strict=True)
    return all(0 <= first <= last < size for first, last, size in ends)


def encode_profile(profile: Profile) -> bytes:
    """The profile as JSON on one line; the same profile gives the same bytes."""
    return msgspec.json.encode(profile) + b"\n"


def decode_profile(data: bytes, *, name: str = "") -> Profile:
    """The profile in a document; InputError says what is wrong with it, and in which file if `name` is given."""
    try:
        return msgspec.json.decode(data, type=Profile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        where = f"{name}: profile" if name else "profile"
        raise InputError(f"{where}: {str(error)[:200]}", code="profile", next="make it again from its trace") from error


def read_profile(path: Path) -> Profile:
    """The profile in a file; InputError if it cannot be read, is far too large or is none."""
    try:
        with opened(path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path.name}: found more than {MAX_BYTES:,} bytes", code="profile", next="is it a trace?")
    return decode_profile(data, name=path.name)
