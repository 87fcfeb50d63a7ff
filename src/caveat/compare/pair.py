"""Pair: two rates of one system, from two scenarios, with what must be read beside their ratio.

What a flag means and when it holds is in `FLAGS`; a new flag is one line there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from caveat.compare.slack import NO_DIFFERENCE, Lengths, difference, lengths
from caveat.figures import Conditions, Figure

FLOOR_BELOW = 0.5  # limited percentile / limit on both latencies: so far below that the rate was chosen, not found
SHORT_OF_TARGET_BELOW = 0.95  # achieved samples/s / target_qps

_COUNTS = frozenset({"accelerators", "accelerators_per_node", "nodes"})


class Headroom(msgspec.Struct, frozen=True):
    """TTFT and TPOT at the limited percentile, each as a share of its limit: near 1 is at it. None where not known."""

    ttft: float | None
    tpot: float | None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two published rates of one system in tokens/s: `left` of the scenario from, `right` of the scenario to.

    `twin_of` names the benchmark of the row that is the same run and is therefore not counted; `twin_by` says
    whether equal logs or merely equal values showed it.
    """

    left: Figure
    right: Figure
    twin_of: str | None = None
    twin_by: Literal["log", "values"] | None = None

    @property
    def ratio(self) -> float:
        """Value of `right` / value of `left`. Derived: a quotient of two scenarios, not a speed-up."""
        return self.right.row.value / self.left.row.value

    @property
    def conditions(self) -> Conditions:
        """The conditions of the left side, for what both sides share: submitter, round, benchmark and so on."""
        return self.left.conditions

    @property
    def headroom(self) -> Headroom | None:
        """How close the right side came to its latency limits; None where neither is known."""
        c = self.right.conditions
        found = Headroom(ttft=c.number("headroom_ttft"), tpot=c.number("headroom_tpot"))
        return None if found == Headroom(None, None) else found

    @property
    def tokens_per_sample(self) -> Lengths | None:
        """Mean output lengths of both sides, counted in one kind of run; None where one is not known."""
        return lengths(self.left, self.right)

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of the flags that hold, in the order of `FLAGS`."""
        return tuple(flag.name for flag in FLAGS if flag.holds(self))

    @property
    def order(self) -> tuple[str, ...]:
        """The pair's place in a sorted table, whatever order its runs came in."""
        keys = ("round", "division", "submitter", "platform", "benchmark")
        return (*(self.conditions.words(key) or "" for key in keys), self.left.id, self.right.id)

    @property
    def _sides(self) -> tuple[Figure, Figure]:
        return (self.left, self.right)

    def differs(self, key: str) -> bool:
        """Whether both sides disclose a condition and disagree on it."""
        left, right = (side.conditions.get(key) for side in self._sides)
        return left is not None and right is not None and left != right

    def either(self, key: str, value: str | bool) -> bool:
        """Whether one of the sides has this value of a condition."""
        return any(side.conditions.get(key) == value for side in self._sides)

    def failed(self, aspect: str) -> bool:
        """Whether one of the sides failed this aspect of validity."""
        return any(check.aspect == aspect and check.outcome == "fail" for s in self._sides for check in s.validity)


class Flag(msgspec.Struct, frozen=True):
    """Something to know before the ratio is read: a name, one sentence, and the test for a pair."""

    name: str
    meaning: str
    holds: Callable[[Pair], bool]


def _floor(pair: Pair) -> bool:
    room = pair.headroom
    return (
        room is not None and room.ttft is not None and room.tpot is not None and max(room.ttft, room.tpot) < FLOOR_BELOW
    )


def _offline_short_of_target(pair: Pair) -> bool:
    """Offline sides only: elsewhere the target is the arrival rate, which the sender keeps to by itself."""
    for side in (pair.left, pair.right):
        if side.conditions.words("scenario") == "offline":
            row = side.run.row("loadgen-offline-samples-rate")
            achieved = row.value if row else side.conditions.number("completed_qps")
            target = side.conditions.number("target_qps")
            if achieved is not None and target is not None and achieved < SHORT_OF_TARGET_BELOW * target:
                return True
    return False


def _count_conflict(pair: Pair) -> bool:
    contested = {key for side in (pair.left, pair.right) for key in side.conditions.conflicts()}
    return bool(contested & _COUNTS) or pair.differs("accelerators")


def _within_shape_slack(pair: Pair) -> bool:
    return difference(pair.left, pair.right) == NO_DIFFERENCE


FLAGS: tuple[Flag, ...] = (
    Flag("inverted", "the rate of the second scenario is above that of the first", lambda pair: pair.ratio > 1),
    Flag(
        "twin", "also filed under another accuracy track, from the same log; counted once", lambda p: p.twin_by == "log"
    ),
    Flag(
        "twin (same values)",
        "also filed under another accuracy track with the same values, logs not seen; counted once",
        lambda pair: pair.twin_by == "values",
    ),
    Flag(
        "floor",
        "both latencies are below half of their limits, at the percentile limited: the rate was chosen, not found",
        _floor,
    ),
    Flag(
        "offline-short-of-target",
        "offline reached less than 95 % of the rate it was set up for",
        _offline_short_of_target,
    ),
    Flag("count-conflict", "sources or sides disagree on how many accelerators there are", _count_conflict),
    Flag(
        "within-shape-slack",
        "the rates differ by no more than the mean output lengths of the sides",
        _within_shape_slack,
    ),
    Flag(
        "precision-differs", "the sides name different weight precisions", lambda pair: pair.differs("weight_precision")
    ),
    Flag("engine-differs", "the sides name different serving engines", lambda pair: pair.differs("engine")),
    Flag(
        "open-division",
        "filed in the open division, where the model may differ",
        lambda p: p.either("division", "open"),
    ),
    Flag("preview", "the system could not yet be bought", lambda pair: pair.either("availability", "preview")),
    Flag("rdi", "the system is for research, development or internal use", lambda p: p.either("availability", "rdi")),
    Flag("power-run", "both sides were power measurements as well", lambda pair: pair.either("power_run", True)),
    Flag("sources-disagree", "sources of a side give different values", lambda pair: pair.failed("sources agree")),
    Flag("schedule-differs", "the arrivals are not those that the seed gives", lambda pair: pair.failed("schedule")),
)
