"""Replay: recorded traffic, or a profile of it, in place of a workload document; with every change that was made."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from caveat.errors import InputError, UsageError
from caveat.workload import (
    Plan,
    Profile,
    decode_profile,
    first_seconds,
    plan_of,
    plan_of_recording,
    read_trace,
    scaled_lengths,
    sped_up,
    spread_within_steps,
    thinned,
)

PROFILE_MARK = b"caveat-profile/"
_MARK_WITHIN = 4096


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file and what is done to it, in this order: cut, thinned, lengths scaled, times spread and divided.

    file          trace or traffic profile; told apart by what is in it
    sha256        of the file, filled in when it is first read: a repeated run must find the same one
    format, columns, time_unit   as for `caveat trace`, for traces that are not recognised
    first_s       only the first so many seconds (of a profile: of its plan)
    thin          every k-th request of a trace
    scale_input   lengths times this; and scale_output
    spread        requests of a clock that steps are spread within its steps
    speed         times divided by this
    rate_scale    of a profile: so many times the requests in the same time
    requests      at most so many
    seed          of a profile's draws and of the spreading
    """

    file: str
    sha256: str = ""
    format: str | None = None
    columns: dict[str, str] | None = None
    time_unit: str | None = None
    first_s: float | None = None
    thin: int = 1
    scale_input: float = 1.0
    scale_output: float = 1.0
    spread: bool = False
    speed: float = 1.0
    rate_scale: float = 1.0
    requests: int | None = None
    seed: int = 0

    def plan(self) -> Plan:
        """The plan. InputError where the file is not there or not the one that was used before."""
        path = Path(self.file)
        head = _checked(path, self.sha256)
        return self._of_profile(path) if PROFILE_MARK in head else self._of_trace(path)

    def settled(self) -> Replay:
        """The same with the hash of the file as it is now."""
        return msgspec.structs.replace(self, sha256=_hash(Path(self.file)))

    def _of_profile(self, path: Path) -> Plan:
        only_traces = [n for n, plain in _ONLY_TRACES.items() if getattr(self, n) != plain]
        if only_traces:
            raise UsageError(
                f"replay: found {', '.join(only_traces)} for a profile, expected them for traces only",
                next="change the trace, then make the profile of it",
            )
        profile: Profile = decode_profile(path.read_bytes(), name=path.name)
        return plan_of(
            profile,
            self.seed,
            rate_scale=self.rate_scale,
            speed=self.speed,
            within_step="spread" if self.spread else "kept",
            duration_s=self.first_s,
            requests=self.requests,
        )

    def _of_trace(self, path: Path) -> Plan:
        if self.rate_scale != 1.0:
            raise UsageError(
                "replay: found rate_scale for a trace, expected it for a profile",
                next="speed divides its times; a profile of it can be scaled without",
            )
        found = read_trace(path, format=self.format, columns=self.columns, time_unit=self.time_unit).recording
        if self.first_s is not None:
            found = first_seconds(found, self.first_s)
        if self.thin != 1:
            found = thinned(found, self.thin)
        if (self.scale_input, self.scale_output) != (1.0, 1.0):
            found = scaled_lengths(found, input=self.scale_input, output=self.scale_output)
        if self.spread:
            found = spread_within_steps(found, self.seed)
        if self.speed != 1.0:
            found = sped_up(found, self.speed)
        if self.requests is not None:
            found = found.at(slice(0, self.requests)).changed(f"first {self.requests:,} requests")
        return plan_of_recording(found)


_ONLY_TRACES = {"thin": 1, "scale_input": 1.0, "scale_output": 1.0, "format": None, "columns": None, "time_unit": None}


def _checked(path: Path, sha256: str) -> bytes:
    """The beginning of the file, which must be the one of that hash where one is given."""
    if sha256 and _hash(path) != sha256:
        raise InputError(
            f"{path.name}: not the file that the earlier run used (sha256 {sha256[:10]}…)", next="give that very file"
        )
    try:
        with path.open("rb") as file:
            return file.read(_MARK_WITHIN)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error
