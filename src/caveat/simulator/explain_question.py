"""The question of an explanation: lengths, limits and scales of Offline, Server and Interactive."""

from __future__ import annotations

import msgspec

from caveat.errors import InputError
from caveat.measure import Slo
from caveat.workload import Lengths, Lognormal, Separate

SCALES = (1, 2, 4, 8, 18, 36, 72)
"""Accelerators."""
_LENGTHS = Separate(input=Lognormal(mean=512, cv=1.0), output=Lognormal(mean=290, cv=0.8), output_cap=1024)
"""An example of chat: an assumption, not the lengths of any benchmark."""


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the scenarios ask.

    lengths               of prompts and answers; the default is an example of chat
    server, interactive   limits; None: not asked
    set_size              samples of the performance set: Offline sends whole sets
    min_duration_s        that Offline is to last, as LoadGen sizes it: samples for 1.1 times the rate that it would
                          have with full batches. 0: one set, however short
    served_s              how long Server and Interactive are watched at each rate, beside their warm-up
    scales                replicas of the modelled kind; empty: as many as make 1 to 72 accelerators, or 1 to 72 where
                          the model does not say how many accelerators a replica has
    batch_limits          max_num_seqs to try at each scale; empty: the model's own
    seed                  of lengths and arrivals
    """

    lengths: Lengths = _LENGTHS
    server: Slo | None = Slo(ttft_s=2.0, tpot_s=0.2)
    interactive: Slo | None = Slo(ttft_s=0.45, tpot_s=0.04)
    set_size: int = 24_576
    min_duration_s: float = 0.0
    served_s: float = 600.0
    scales: tuple[int, ...] = ()
    batch_limits: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, values in (("scales", self.scales), ("batch_limits", self.batch_limits)):
            if any(not 1 <= value <= 100_000 for value in values):
                raise InputError(f"question: {name}: found {values}, expected numbers from 1 to 100,000")
        if not 1 <= self.set_size <= 10_000_000:
            raise InputError(f"question: set_size: found {self.set_size}, expected a number from 1 to 10,000,000")
        for field in ("min_duration_s", "served_s"):
            if not 0 <= getattr(self, field) <= 1e6:
                raise InputError(f"question: {field}: found {getattr(self, field)}, expected seconds from 0")
