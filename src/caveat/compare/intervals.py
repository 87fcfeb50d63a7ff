"""An interval of log ratios from like pairs, and how often such an interval held a pair that it had not seen.

The arithmetic of `estimate`, whose head says why it is done so. Ratios enter as logarithms and leave as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from caveat.compare.pair import Pair
from caveat.errors import CannotSayError

NOMINAL = 0.8
TAIL = 0.1  # share of the weights beyond each end of the raw interval, at most
LIKE_WITHIN = 4.0  # factor between accelerator counts
FEWEST_LEFT = 4  # like pairs that must remain when a system is left out, for its pair to be a test

HeldOut = Literal["system", "accelerator"]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What likeness is judged by. `words` holds features in lower case; an absent one is not known."""

    count: float
    words: dict[str, str]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A pair as the estimate sees it: its place, the logarithm of its ratio, its system; `round` is a place in time."""

    pair: Pair
    point: Point
    log_ratio: float
    system: tuple[str, ...]
    round: int | None = None

    def held_with(self, held_out: HeldOut) -> tuple[str, ...]:
        """The name of all that is left out together with this pair."""
        accelerator = self.point.words.get("accelerator")
        return (accelerator,) if held_out == "accelerator" and accelerator else self.system


class Miss(msgspec.Struct, frozen=True):
    """How far outside its left-out interval a pair fell, in log ratio; negative inside."""

    held: tuple[str, ...]
    distance: float


def doublings(one: Point, other: Point) -> float:
    """How many doublings lie between two accelerator counts."""
    return abs(math.log2(one.count / other.count))


def like_pairs(point: Point, known: Iterable[Known]) -> list[Known]:
    """Those whose accelerator count is within a factor of LIKE_WITHIN."""
    return [one for one in known if doublings(point, one.point) <= math.log2(LIKE_WITHIN)]


def weight(asked: Point, other: Point) -> float:
    """How much a pair counts, 1 at most. Features that were not asked for do not matter."""
    unlike = sum(other.words.get(key) != word for key, word in asked.words.items())
    return float(0.5 ** (doublings(asked, other) + unlike))


def interval(point: Point, like: Iterable[Known]) -> tuple[float, float]:
    """The weighted order statistics of log ratio with less than TAIL of the weights beyond each end."""
    ascending = sorted((one.log_ratio, weight(point, one.point)) for one in like)
    return _end(ascending), _end(ascending[::-1])


def _end(inwards: Sequence[tuple[float, float]]) -> float:
    """The first value, coming from outside, at which the weights passed make up TAIL of all."""
    total = math.fsum(counts for _, counts in inwards)
    passed = 0.0
    for value, counts in inwards:
        passed += counts / total
        if passed >= TAIL or math.isclose(passed, TAIL):
            return value
    raise AssertionError("weights add up to one")


def misses_of(asked: Point, like: Sequence[Known], known: Sequence[Known], held_out: HeldOut) -> list[Miss]:
    """Each like pair against the interval from all others, seen through the features that were asked for."""
    misses = []
    for one in like:
        held = one.held_with(held_out)
        miss = _miss(asked, one, held, (other for other in known if other.held_with(held_out) != held))
        if miss is not None:
            misses.append(miss)
    return misses


def misses_of_later(asked: Point, like: Sequence[Known], known: Sequence[Known]) -> list[Miss]:
    """Each like pair against the interval from other systems' pairs of earlier rounds, all that was known then."""
    misses = []
    for one in like:
        earlier = (other for other in known if _is_earlier(other, one) and other.system != one.system)
        misses.append(_miss(asked, one, one.system, earlier))
    return [miss for miss in misses if miss is not None]


def _is_earlier(other: Known, one: Known) -> bool:
    return other.round is not None and one.round is not None and other.round < one.round


def _miss(asked: Point, one: Known, held: tuple[str, ...], known: Iterable[Known]) -> Miss | None:
    """A pair against the interval from others, seen through the features that were asked for; None with too few."""
    point = Point(count=one.point.count, words={k: w for k, w in one.point.words.items() if k in asked.words})
    others = like_pairs(point, known)
    if len(others) < FEWEST_LEFT:
        return None
    low, high = interval(point, others)
    return Miss(held, max(low - one.log_ratio, one.log_ratio - high))


def share_inside(misses: Sequence[Miss]) -> float:
    """The share of pairs that fell inside without any widening."""
    return sum(miss.distance <= 0 for miss in misses) / len(misses)


def widening_of(misses: Sequence[Miss]) -> tuple[float, float]:
    """The amount by which both ends move out, and the coverage then; zero where the raw interval does.

    CannotSayError where even the farthest miss of the other systems would not hold the nominal share.
    """
    unwidened = share_inside(misses)
    if unwidened >= NOMINAL:
        return 0.0, unwidened
    ranked = sorted(miss.distance for miss in misses)
    n = len(ranked)
    for rank in range(min(n, math.ceil(NOMINAL * (n + 1))), n + 1):
        inside = sum(miss.distance <= _amount(misses, miss.held, rank / n) for miss in misses)
        if inside / n >= NOMINAL:
            return max(0.0, ranked[rank - 1]), inside / n
    raise CannotSayError(
        f"the {n} like pairs are too unlike each other: no interval holds {NOMINAL:.0%} of them when left out",
        next="narrow the pairs (one round, one vendor) or read them one by one",
    )


def _amount(misses: Iterable[Miss], held: tuple[str, ...], share: float) -> float:
    """The widening that the misses of all others would set at this rank."""
    others = sorted(miss.distance for miss in misses if miss.held != held)
    if not others:
        return 0.0
    return max(0.0, others[math.ceil(share * len(others)) - 1])
