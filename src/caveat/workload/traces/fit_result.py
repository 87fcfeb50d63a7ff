"""What a fit says: the candidates that were tried, each with its tests, and what the chosen workload does not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from caveat.workload.workload import Workload

FORMAT: Literal["caveat-fit/1"] = "caveat-fit/1"
"""Version 1: the first."""

TOLERANCE = 0.05
"""A difference below this share of the expected value is too small to matter, however sure it is."""

_ABSOLUTE = 0.02
_TAIL = 0.1
_MARGIN = 0.15


class FitTest(msgspec.Struct, frozen=True, kw_only=True):
    """One statistic of the trace against the same of plans of the candidate.

    `p_value` is the two-sided Monte Carlo one (Barnard, 1963), at least 2 / (plans + 1); None where a threshold on
    the difference is the test. `expected` is the median over the plans, `low` and `high` their extremes.
    """

    name: str
    observed: float
    expected: float
    low: float
    high: float
    p_value: float | None
    passed: bool


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One model that was tried, in words, and how it did."""

    kind: str
    words: str
    tests: tuple[FitTest, ...]

    @property
    def passed(self) -> bool:
        """Whether it passed every test."""
        return all(test.passed for test in self.tests)

    @property
    def failures(self) -> int:
        """How many tests it failed."""
        return sum(not test.passed for test in self.tests)


class FitResult(msgspec.Struct, frozen=True, kw_only=True):
    """The simplest workload that passes, the candidates before it, and what it fails to reproduce, in sentences.

    Where no candidate passes, the workload has the one with the fewest failures, and `misses` says so. `doubtful` are
    statistics that lie within what plans of it show, and at their edge. `not_tested` says what nothing was asked about.
    """

    format: Literal["caveat-fit/1"] = FORMAT
    workload: Workload
    arrivals: tuple[Candidate, ...]
    lengths: tuple[Candidate, ...]
    misses: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    not_tested: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing that was tested is missed."""
        return not self.misses


def simulated_test(name: str, observed: float, simulated: Sequence[float]) -> FitTest:
    """A statistic against its values in plans.

    Fails outside all of them by more than a part of their range, if also farther off than the tolerance: about one in
    two hundred tests of a true model.
    """
    values = np.sort(np.array(simulated))
    below, above = int(np.count_nonzero(values <= observed)), int(np.count_nonzero(values >= observed))
    expected = float(values[len(values) // 2])
    margin = _MARGIN * float(values[-1] - values[0])
    outside = not values[0] - margin <= observed <= values[-1] + margin
    off = abs(observed - expected)
    return FitTest(
        name=name,
        observed=observed,
        expected=expected,
        low=float(values[0]),
        high=float(values[-1]),
        p_value=min(1.0, 2.0 * (1 + min(below, above)) / (len(values) + 1)),
        passed=not outside or off <= max(TOLERANCE * abs(expected), _ABSOLUTE),
    )


def threshold_test(name: str, observed: float, most: float) -> FitTest:
    """A difference that must not pass a threshold."""
    return FitTest(
        name=name, observed=observed, expected=0.0, low=0.0, high=most, p_value=None, passed=observed <= most
    )


def tail_test(name: str, observed: float, low: float, high: float, model: float) -> FitTest:
    """A percentile of the candidate against the interval in which the trace's own lies, a tenth wider on both sides."""
    least, most = low * (1.0 - _TAIL), high * (1.0 + _TAIL)
    return FitTest(
        name=name, observed=observed, expected=model, low=least, high=most, p_value=None, passed=least <= model <= most
    )


def chosen(candidates: Sequence[Candidate]) -> int:
    """The first that passed, else the first of those with the fewest failures."""
    for place, candidate in enumerate(candidates):
        if candidate.passed:
            return place
    return min(range(len(candidates)), key=lambda place: candidates[place].failures)
