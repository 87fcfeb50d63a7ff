"""Failures: replicas break down and come back.

What it models. A replica fails at given times, or again and again after exponential times of work and repair. All that
it had under way, its keys and values and its prefix cache are lost. Requests begin again at another replica, at most
`retries` times; then they are failed samples ("reset-mid-stream"). Requests that find no replica at all fail at once
("http-503"). What a client saw of an answer before the failure is thrown away; latency counts from when the request was
due.

What it leaves out. Slow replicas, failures that come together, clients that wait before they try again, checkpoints of
keys and values.

Limit case. A rate of 0 (None) and no outages: nothing changes. Failures of replicas that take no requests change
nothing for anybody.

In the load fraction. Replicas carry their rate for the share of time in which they work, mean_between_s /
(mean_between_s + mean_repair_s); outages at given times are no share. The load while one is down is told beside it: the
one whose part of the fleet feels it most. Work that is done again is not counted.
"""

from __future__ import annotations

import math

import msgspec

from caveat.errors import InputError
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import fs_from_s
from caveat.simulator.speculative import uniforms


class Outage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A replica fails at a time and is back so much later; None: never."""

    replica: int
    at_s: float
    for_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("at_s", "for_s"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and 0 <= value <= 1e9):
                raise InputError(f"outage: {name}: found {value}, expected seconds from 0 to 1e9")


class Failures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which replicas fail and what becomes of their requests.

    outages           at given times
    mean_between_s    mean of the exponential time from when a replica works to its next failure; None: none by chance
    mean_repair_s     mean of the exponential time until it is back
    seed              failure and repair k of replica r are a function of (seed, r, k)
    retries           how often a request begins again; after one failure more it is lost
    """

    outages: tuple[Outage, ...] = ()
    mean_between_s: float | None = None
    mean_repair_s: float = 600.0
    seed: int = 0
    retries: int = 3

    def __post_init__(self) -> None:
        if self.mean_between_s is not None and not 1e-3 <= self.mean_between_s <= 1e12:
            raise InputError(f"failures: mean_between_s: found {self.mean_between_s}, expected seconds from 0.001")
        if not 0 <= self.mean_repair_s <= 1e9:
            raise InputError(f"failures: mean_repair_s: found {self.mean_repair_s}, expected seconds from 0")
        if not 0 <= self.seed < 1 << 64 or not 0 <= self.retries <= 1000:
            raise InputError("failures: expected a seed from 0 and retries from 0 to 1,000")


def set_failures(fleet: Fleet, settings: Failures) -> None:
    """Set the timers of a fleet's failures. InputError for an outage of a replica that there is not."""
    for outage in settings.outages:
        if not 0 <= outage.replica < len(fleet.replicas):
            raise InputError(f"outage: replica: found {outage.replica}, expected below {len(fleet.replicas)}")
        _set_outage(fleet, outage)
    if settings.mean_between_s is not None:
        for number in range(len(fleet.replicas)):
            _ByChance(fleet, number, settings, settings.mean_between_s).wait(0)


def _set_outage(fleet: Fleet, outage: Outage) -> None:
    number, at_fs = outage.replica, fs_from_s(outage.at_s)
    fleet.at(at_fs, lambda now_fs: _fail(fleet, number, now_fs))
    if outage.for_s is not None:
        fleet.at(at_fs + fs_from_s(outage.for_s), lambda _: fleet.recover(number))


def _fail(fleet: Fleet, number: int, now_fs: int) -> None:
    if number not in fleet.down:
        fleet.fail(number, now_fs)


class _ByChance:
    """One replica's life."""

    def __init__(self, fleet: Fleet, number: int, settings: Failures, mean_between_s: float) -> None:
        self._fleet, self._number, self._settings = fleet, number, settings
        self._means_s = (mean_between_s, settings.mean_repair_s)
        self._drawn = 0

    def wait(self, now_fs: int) -> None:
        """Until it fails."""
        self._fleet.at(now_fs + self._next_fs(), self._fail)

    def _fail(self, now_fs: int) -> None:
        _fail(self._fleet, self._number, now_fs)
        self._fleet.at(now_fs + self._next_fs(), self._recover)

    def _recover(self, now_fs: int) -> None:
        self._fleet.recover(self._number)
        self.wait(now_fs)

    def _next_fs(self) -> int:
        """The next time of work or of repair, in turn; never nothing, so that time goes on."""
        u = float(uniforms(self._settings.seed, self._number, self._drawn, 1)[0])
        mean_s = self._means_s[self._drawn % 2]
        self._drawn += 1
        return max(1, fs_from_s(-mean_s * math.log1p(-u)))
