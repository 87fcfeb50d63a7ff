"""The highest rates of an ablation over draws of the model: how many can be afforded, and the range that they make.

A highest rate is a search, and each draw wants one for each side; so there are fewer draws of it than of times. Both
sides of a pair see the same draws, and what they have in common falls out of the ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caveat.errors import UsageError
from caveat.simulator.capacity import Interval, interval_of
from caveat.simulator.outcome import Peak, highest

FEWEST = 5
"""Draws below which the ends of an 80 % range are chance."""
REQUESTS = 2_000_000
"""Simulated requests that all searches together may take: about 40 s of one core where a million takes 20."""
TRIES = 6
"""Rates that a search from the model's best guess tries, about."""
FACTOR, TOLERANCE = 1.3, 0.03
"""Steps of that search away from the best guess, and the width at which it ends."""


def affordable(wanted: int, asked: int | None, *, requests: int, sides: int) -> int:
    """Draws that have a highest rate: as many as of times, as far as a bounded time allows; none below FEWEST of many.

    `asked` goes before the bound. UsageError for a number that is negative, or more than there are.
    """
    if asked is not None:
        if not 0 <= asked <= wanted:
            raise UsageError(f"peak_draws: found {asked}, expected from 0 to the draws, {wanted}")
        return asked
    most = REQUESTS // max(1, requests * sides * TRIES)
    return wanted if wanted <= most else most if most >= FEWEST else 0


def near(keeps: Callable[[float], bool], best: Peak) -> Peak | None:
    """The highest rate of a draw, sought from that of the best guess."""
    return highest(keeps, best.rate_per_s, tolerance=TOLERANCE, factor=FACTOR)


def range_of(peaks: Sequence[Peak | None]) -> Interval | None:
    """80 % of them; None where there are none, or where in some draw no rate keeps the limits."""
    rates = [peak.rate_per_s for peak in peaks if peak is not None]
    return interval_of(rates) if rates and len(rates) == len(peaks) else None


def ratio_range(off: Sequence[Peak | None], on: Sequence[Peak | None]) -> Interval | None:
    """80 % of on / off, draw by draw."""
    pairs = [(a.rate_per_s, b.rate_per_s) for a, b in zip(off, on, strict=True) if a is not None and b is not None]
    return interval_of([b / a for a, b in pairs]) if pairs and len(pairs) == len(off) else None
