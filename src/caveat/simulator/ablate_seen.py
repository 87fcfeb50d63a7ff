"""What was seen of the sides of an ablation: each is served once, in however many pairs it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from caveat.measure import Slo
from caveat.simulator.ablate_peaks import near
from caveat.simulator.ablate_sides import Sides
from caveat.simulator.capacity import PREDICTABLE_TO, Interval
from caveat.simulator.changed_plans import Sped
from caveat.simulator.outcome import Outcome, Peak, highest, times_of
from caveat.workload import Plan


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two: what was seen at the plan's own load, and the highest rate within the limits.

    `peak` is None where none was asked for, where the plan sets no rate, or where no rate keeps the limits;
    `peak_range` holds 80 % of draws of it, None without draws, and where in one of them no rate keeps the limits.
    `load` is the load fraction over all draws, None where the plan sets no rate; where its upper end passes 0.9 nothing
    is told of waiting.
    """

    outcome: Outcome
    peak: Peak | None
    keeps: bool | None
    peak_range: Interval | None = None
    load: Interval | None = None

    @property
    def tells_waiting(self) -> bool:
        """Whether the load is far enough from what the server carries."""
        return self.load is None or self.load.high <= PREDICTABLE_TO

    def told(self) -> Side:
        """Without first-token times, and whether limits are kept, where they are not told."""
        if self.tells_waiting:
            return self
        return msgspec.structs.replace(self, outcome=self.outcome.without_waiting(), keeps=None)


class Seen:
    """What was seen of each side; a side that stands in several pairs is served once."""

    def __init__(self, slo: Slo | None, rate_per_s: float | None) -> None:
        self._slo, self._rate_per_s = slo, rate_per_s
        self._sides: dict[str, Side] = {}
        self._drawn: dict[tuple[str, int], Outcome] = {}
        self._peaks: dict[tuple[str, int], Peak | None] = {}

    def side(self, name: str, sides: Sides) -> Side:
        """The off or on side of a pair at the model's best guess."""
        key = sides.key(name)
        if key not in self._sides:
            offer, slo = sides.offer(name, None), self._slo
            times = times_of(offer.server, offer.plan)
            self._sides[key] = Side(
                outcome=times.outcome(),
                peak=None if slo is None or self._rate_per_s is None else self._peak(offer.server, offer.plan),
                keeps=None if slo is None else times.keeps(slo),
                load=offer.load(),
            )
        return self._sides[key]

    def drawn(self, name: str, sides: Sides, draw: int) -> Outcome:
        """The same at a draw of the model, at the plan's own load."""
        key = sides.key(name), draw
        if key not in self._drawn:
            offer = sides.offer(name, draw)
            self._drawn[key] = times_of(offer.server, offer.plan).outcome()
        return self._drawn[key]

    def drawn_peak(self, name: str, sides: Sides, draw: int) -> Peak | None:
        """The highest rate at a draw of the model, from that of the best guess, which there is."""
        key = sides.key(name), draw
        if key not in self._peaks:
            offer, best = sides.offer(name, draw), self.side(name, sides).peak
            assert best is not None
            self._peaks[key] = near(self._keeps(offer.server, offer.plan), best)
        return self._peaks[key]

    def _peak(self, server: Any, plan: Plan) -> Peak | None:
        return highest(self._keeps(server, plan), self._rate_per_s or 1.0)

    def _keeps(self, server: Any, plan: Plan) -> Callable[[float], bool]:
        slo, rate = self._slo, self._rate_per_s
        assert slo is not None and rate is not None
        return lambda tried: times_of(server, Sped(plan, tried / rate)).keeps(slo)
