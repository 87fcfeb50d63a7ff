"""An interval for a system that nobody paired, from systems like it; or a refusal that names the nearest support.

Method
    Like pairs are those of the same benchmark (whatever its accuracy track), the same two scenarios and division,
    with an accelerator count within a factor of four. Each has a weight: 1 for the same count, halved with
    every doubling between the counts, halved again for every feature asked for that it does not share (accelerator,
    its vendor, round, submitter, weight precision). The raw interval runs from the weighted 10 % to the weighted
    90 % order statistic of log(ratio).

    Coverage is measured with the same procedure on every like pair, all pairs of its system left out (submitter and
    platform, over all rounds; the whole accelerator where the one asked for is in no pair). If fewer than the
    nominal share fall inside, both ends move out by one amount, the smallest order statistic of the misses that
    gives the nominal share, where each system is judged by an amount set without it. This is conformalised quantile
    regression (Romano, Patterson, Candès 2019) with leave-one-system-out in place of a calibration set; on log
    ratios the amount is a factor on the ratio, `widened_by`.

Limits, which the sentences of an estimate repeat
    The share was measured on published systems, each tuned by a team that chose its own rate; it says nothing of a
    system that is not tuned, nor of other lengths, arrivals or limits. Systems of one vendor's stack resemble each
    other more than strangers do, so that leaving out one system flatters. Misses of one pair are judged with
    intervals of others that saw it. Coverage holds over like systems on average, not for each kind of them,
    and for the rounds at hand: stacks change, and an interval made from earlier rounds holds fewer pairs of later
    ones. How many is counted anew for each estimate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from caveat.compare.discount import Discount, basis, discount
from caveat.compare.intervals import (
    LIKE_WITHIN,
    NOMINAL,
    HeldOut,
    Known,
    Miss,
    Point,
    doublings,
    interval,
    like_pairs,
    misses_of,
    misses_of_later,
    share_inside,
    weight,
    widening_of,
)
from caveat.compare.pair import Pair
from caveat.compare.pairs import benchmark_base
from caveat.errors import CannotSayError, UsageError
from caveat.facts import accelerator_family, accelerators_of, round_index
from caveat.figures import Run
from caveat.units import format_number

FORMAT = "caveat-discount-estimate/1"
SUPPORT_WITHIN = 2.0  # factor beyond the smallest and largest count seen
FEWEST_LIKE = 8

PREFERENCES = ("accelerator", "round", "submitter", "weight_precision")
FEATURES = ("benchmark", "accelerators", "division", *PREFERENCES)
ALIASES = {"model": "benchmark", "precision": "weight_precision"}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An interval `low` to `high` of the ratio to/from, with the coverage that was measured for it.

    `coverage` is the share of `tested` pairs that fell inside such an interval made without their system (or their
    accelerator, see `held_out`); before widening it was `coverage_unwidened`. `widened_by` is the factor by which
    both ends moved out, 1 where they did not. `like` are the pairs that the interval comes from, of `systems`
    systems, the most alike first. There is no point estimate.
    """

    low: float
    high: float
    nominal: float
    coverage: float
    coverage_unwidened: float
    tested: int
    systems: int
    widened_by: float
    held_out: HeldOut
    like: tuple[Pair, ...]
    features: dict[str, str | float]
    assumptions: tuple[str, ...]
    from_scenario: str
    to_scenario: str

    @property
    def words(self) -> str:
        """The interval for people, with its coverage."""
        sentence = (
            f"{self.to_scenario} / {self.from_scenario} between {format_number(self.low)} and "
            f"{format_number(self.high)}, from {len(self.like)} pairs; with their {self.held_out} left out, "
            f"{self.coverage:.0%} of {self.tested} pairs fell inside such an interval (asked for: {self.nominal:.0%})"
        )
        if self.widened_by == 1:
            return sentence
        return (
            f"{sentence}, after both ends were moved out by {self.widened_by - 1:.1%} "
            f"because only {self.coverage_unwidened:.0%} did before"
        )


def estimate(source: Discount | Iterable[Run], features: Mapping[str, str | float]) -> Estimate:
    """An 80 % interval of the ratio to/from for a system with these features.

    `features`: `benchmark` (or `model`) and `accelerators` (of the whole system) are needed; `division` is closed
    unless given; what PREFERENCES lists may be given.
    Raises UsageError for other features, CannotSayError outside the support of the pairs, naming what is nearest.
    """
    found = source if isinstance(source, Discount) else discount(source)
    asked = _asked(features)
    known = _of_benchmark(found.pairs, asked)
    point = _point(asked, float(asked["accelerators"]))
    held_out = _held_out(point, known)
    like = like_pairs(point, known)
    misses = misses_of(point, like, known, held_out)
    if refusal := _unsupported(point, known, like, misses, held_out):
        raise CannotSayError(f"{asked['benchmark']!r}: {refusal}", next=_nearest(point, known))
    widening, coverage = widening_of(misses)
    low, high = interval(point, like)
    return Estimate(
        low=math.exp(low - widening),
        high=math.exp(high + widening),
        nominal=NOMINAL,
        coverage=coverage,
        coverage_unwidened=share_inside(misses),
        tested=len(misses),
        systems=len({one.system for one in like}),
        widened_by=math.exp(widening),
        held_out=held_out,
        like=tuple(one.pair for one in sorted(like, key=lambda one: (-weight(point, one.point), one.pair.order))),
        features=asked,
        assumptions=(
            *_assumptions(features, asked, like, held_out),
            _over_time(misses_of_later(point, like, known), widening),
        ),
        from_scenario=found.from_scenario,
        to_scenario=found.to_scenario,
    )


def estimate_as_json(found: Estimate) -> dict[str, Any]:
    """The estimate as plain data, format `caveat-discount-estimate/1`. Its pairs are named by their figures' ids."""
    content = {name: getattr(found, name) for name in found.__struct_fields__ if name != "like"}
    return {
        "format": FORMAT,
        "derived": True,
        "basis": basis(found.from_scenario, found.to_scenario),
        **msgspec.to_builtins(content),
        "like": [{"from": pair.left.id, "to": pair.right.id, "ratio": pair.ratio} for pair in found.like],
    }


def _asked(features: Mapping[str, str | float]) -> dict[str, str | float]:
    """The features under our names, checked; the division filled in."""
    asked = {ALIASES.get(key, key): value for key, value in features.items()}
    for key in asked:
        if key not in FEATURES:
            raise UsageError(f"an estimate does not know the feature {key!r}", next=f"one of {', '.join(FEATURES)}")
    for key in ("benchmark", "accelerators"):
        if key not in asked:
            raise UsageError(f"an estimate needs {key}", next="for instance benchmark=llama2-70b accelerators=8")
    asked["accelerators"] = _count(asked["accelerators"])
    return {"division": "closed", **asked}


def _count(value: str | float) -> float:
    try:
        count = float(value)
    except ValueError:
        count = math.nan
    if not (math.isfinite(count) and count >= 1):
        raise UsageError(f"accelerators: found {value!r}, expected a number from 1 up", next="the whole system counts")
    return count


def _point(values: Mapping[str, object], count: float) -> Point:
    """The features in lower case; of an accelerator its family, and its vendor where the table of facts has it."""
    words = {key: str(values[key]) for key in PREFERENCES if values.get(key) is not None}
    if "accelerator" in words:
        words["accelerator"] = accelerator_family(words["accelerator"]) or words["accelerator"]
        for one in accelerators_of(words["accelerator"])[:1]:
            words["vendor"] = one.vendor
    return Point(count=count, words={key: word.casefold() for key, word in words.items()})


def _of_benchmark(pairs: Sequence[Pair], asked: Mapping[str, str | float]) -> list[Known]:
    """The pairs of the benchmark and division with a known count. CannotSayError where there are none."""
    wanted = benchmark_base(str(asked["benchmark"])).casefold()
    division = str(asked["division"]).casefold()
    bases = [benchmark_base(pair.conditions.words("benchmark") or "").casefold() for pair in pairs]
    found = [
        _known(pair, count)
        for pair, base in zip(pairs, bases, strict=True)
        if base == wanted
        and (pair.conditions.words("division") or "").casefold() == division
        and (count := pair.conditions.number("accelerators") or 0.0) >= 1
    ]
    if not found:
        there = ", ".join(f"{base!r} ({n})" for base, n in Counter(bases).most_common(5))
        raise CannotSayError(
            f"{asked['benchmark']!r}: no pair in division {asked['division']!r} with a known accelerator count",
            next=f"benchmarks with most pairs: {there}" if there else "import results of both scenarios first",
        )
    return found


def _known(pair: Pair, count: float) -> Known:
    c = pair.conditions
    system = (c.words("submitter") or "", c.words("platform") or c.words("system") or "")
    return Known(
        pair=pair,
        point=_point(c.known, count),
        log_ratio=math.log(pair.ratio),
        system=system,
        round=round_index(c.words("round") or ""),
    )


def _held_out(point: Point, known: Sequence[Known]) -> HeldOut:
    """What the estimate is for decides what a test leaves out: an accelerator that no pair has is a longer reach."""
    accelerator = point.words.get("accelerator")
    seen = accelerator is None or any(one.point.words.get("accelerator") == accelerator for one in known)
    return "system" if seen else "accelerator"


def _unsupported(
    point: Point, known: Sequence[Known], like: Sequence[Known], misses: Sequence[Miss], held_out: HeldOut
) -> str | None:
    """Why the pairs do not carry an estimate, if they do not."""
    counts = [one.point.count for one in known]
    if not min(counts) / SUPPORT_WITHIN <= point.count <= max(counts) * SUPPORT_WITHIN:
        return (
            f"{point.count:,g} accelerators lie outside what its {len(known)} pairs support, which is "
            f"{min(counts):,g} to {max(counts):,g} and a factor of {SUPPORT_WITHIN:.0f} beyond"
        )
    expected = f"with accelerators within a factor of {LIKE_WITHIN:.0f} of {point.count:,g}, expected at"
    if len(like) < FEWEST_LIKE:
        return f"found {len(like)} pairs {expected} least {FEWEST_LIKE}"
    if len(misses) < FEWEST_LIKE:
        return (
            f"found {len(misses)} pairs {expected} least {FEWEST_LIKE} that are like others when their {held_out} "
            "is left out"
        )
    return None


def _nearest(point: Point, known: Sequence[Known]) -> str:
    one = min(known, key=lambda k: (doublings(point, k.point), -weight(point, k.point), k.pair.order))
    name = " ".join((*one.system, one.pair.conditions.text("round")))
    return f"nearest: {name!r} with {one.point.count:,g} accelerators; read its pair by itself"


def _assumptions(
    given: Mapping[str, str | float], asked: Mapping[str, str | float], like: Sequence[Known], held_out: HeldOut
) -> tuple[str, ...]:
    """What must be true for the interval to mean something, one sentence each."""
    unread = [key for key in PREFERENCES if key not in asked]
    floors = sum("floor" in one.pair.flags for one in like)
    unseen = sum(one.pair.headroom is None for one in like)
    sentences = [
        "the system is tuned as the published ones were, and its rate chosen as their submitters chose theirs",
        "lengths, arrivals and latency limits are those of the benchmark",
    ]
    if "division" not in given:
        sentences.append("division closed, since none was given")
    if unread:
        sentences.append(f"not given and so not looked at: {', '.join(unread)}")
    if held_out == "accelerator":
        sentences.append(
            f"no pair has accelerator {asked['accelerator']!r}: coverage was measured with whole accelerators left out"
        )
    if floors or unseen:
        sentences.append(
            f"of {len(like)} like pairs {floors} ran far below their limits and {unseen} do not disclose it: "
            "the system may serve more than the interval says"
        )
    return tuple(sentences)


def _over_time(later: Sequence[Miss], widening: float) -> str:
    """How an interval made from earlier rounds fared in the rounds after them, where enough pairs tell."""
    if len(later) < FEWEST_LIKE:
        return "how such an interval fares in a later round is not known: too few like pairs have earlier ones"
    inside = sum(miss.distance <= widening for miss in later) / len(later)
    return (
        f"the system is of these rounds: of {len(later)} like pairs {inside:.0%} fell inside the interval that earlier "
        "rounds alone would have given, moved out as far"
    )
