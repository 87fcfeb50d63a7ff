"""Did stock LoadGen generate these arrivals? A detail log says enough to play a Server schedule again.

A log names its seed, rate and rules, and how many queries were generated over how many nanoseconds. Two questions:
do that many queries of that seed and rate last exactly that long, and do the rules give that many queries.
Nothing here raises for what a log says: what cannot be played again is "not checkable", with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from caveat.errors import InputError
from caveat.workload import MAX_QUERIES, Schedule, ScheduleSettings, extents

State = Literal["reproduced", "differs", "not checkable"]

_LOGGED_DIGITS = 6
_LONGEST_NS = (1 << 63) - 1
_SWITCH = {True: "on", False: "off"}


class ScheduleClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What one performance log of the Server scenario says of its schedule; None where it says nothing.

    From the `effective_*` keys: schedule_rng_seed, target_qps, min_duration_ms (in nanoseconds here),
    min_query_count, sample_concatenate_permutation (absent means unknown, not off), performance_sample_count (the
    size of the loaded set); then generated_query_count and generated_query_duration. `id` is the caller's, unique.
    """

    id: str
    seed: int | None
    target_qps: float | None
    min_duration_ns: int | None
    min_queries: int | None
    equal_issue: bool | None
    set_size: int | None
    generated_count: int | None
    generated_duration_ns: int | None


class ScheduleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of playing one log's schedule again.

    `equal_issue` is the only setting of equal issue that gives the logged count; None when both do or neither does.
    A log that does not say whether equal issue was on is held to the rules, which ask for it of every language model.
    """

    state: State
    detail: str
    count_ok: bool = False
    duration_ok: bool = False
    equal_issue: bool | None = None


def check_schedules(
    claims: Sequence[ScheduleClaim], progress: Callable[[int], None] | None = None
) -> dict[str, ScheduleVerdict]:
    """The verdict on each claim, by its id. `progress` hears how many claims are decided so far, once a seed."""
    verdicts: dict[str, ScheduleVerdict] = {}
    by_seed: dict[int, list[_Question]] = {}
    for claim in claims:
        try:
            question = _Question(claim)
        except InputError as error:
            verdicts[claim.id] = ScheduleVerdict(state="not checkable", detail=error.message)
        else:
            by_seed.setdefault(question.logged.seed, []).append(question)
    for seed, questions in by_seed.items():
        if progress is not None:
            progress(len(verdicts))
        verdicts.update(_answers(seed, questions))
    if progress is not None:
        progress(len(verdicts))
    return verdicts


class _Question:
    """A complete claim, and the schedules whose extents decide it."""

    def __init__(self, claim: ScheduleClaim) -> None:
        self.claim = claim
        self.count, self.duration_ns = _generated(claim)
        self.logged = _settings(claim, min_duration_ns=0, min_queries=self.count)
        possible = (True, False) if claim.equal_issue is None else (bool(claim.equal_issue),)
        self.by_rule = {equal_issue: _by_rule(claim, equal_issue) for equal_issue in possible}

    def requests(self) -> list[ScheduleSettings]:
        """The schedules to play, in the order in which `verdict` takes their extents."""
        return [self.logged, *self.by_rule.values()]

    def verdict(self, extent: Iterator[Schedule]) -> ScheduleVerdict:
        """Compare the log with the schedules played."""
        expected_ns = next(extent).generated_duration_ns
        counts = {equal_issue: next(extent).count for equal_issue in self.by_rule}
        fitting = [equal_issue for equal_issue, count in counts.items() if count == self.count]
        duration_ok = expected_ns == self.duration_ns
        state, detail = self._finding(expected_ns, counts, fitting)
        return ScheduleVerdict(
            state=state,
            detail=detail,
            count_ok=bool(fitting) and not self._against_the_rules(fitting),
            duration_ok=duration_ok,
            equal_issue=fitting[0] if len(fitting) == 1 else None,
        )

    def _finding(self, expected_ns: int, counts: dict[bool, int], fitting: list[bool]) -> tuple[State, str]:
        if expected_ns != self.duration_ns:
            sentence = (
                f"{self.count} queries of the logged seed and rate last {expected_ns} ns; "
                f"the log has {self.duration_ns} ns"
            )
            if self._rounding_explains(expected_ns):
                return "not checkable", f"{sentence}, as for a rate that {_LOGGED_DIGITS} digits do not show in full"
            return "differs", sentence
        if not fitting:
            expected = " or ".join(f"{count} with equal issue {_SWITCH[on]}" for on, count in counts.items())
            return "differs", (
                f"the arrivals are LoadGen's, but the count is not what the settings give: {expected}; "
                f"the log has {self.count}"
            )
        if self._against_the_rules(fitting):
            return "differs", (
                "the arrivals are LoadGen's, but the count is that of equal issue off, which the log does not declare: "
                f"the rules' equal issue gives {counts[True]}, the log has {self.count}"
            )
        switches = " or ".join(_SWITCH[on] for on in fitting)
        return "reproduced", f"count and duration are LoadGen's for the logged settings, with equal issue {switches}"

    def _against_the_rules(self, fitting: list[bool]) -> bool:
        return self.claim.equal_issue is None and fitting == [False]

    def _rounding_explains(self, expected_ns: int) -> bool:
        """Whether a rate that prints as the logged one would give the logged duration.

        LoadGen logs doubles with six significant digits. A rate that shows fewer is taken to be what was typed,
        and one that shows more was not rounded to six: neither excuses a difference.
        """
        qps = float(self.logged.target_qps)
        if len(f"{qps:.{_LOGGED_DIGITS + 3}g}".replace(".", "").strip("0")) != _LOGGED_DIGITS:
            return False
        last_digit = 10.0 ** (int(f"{qps:e}".partition("e")[2]) - _LOGGED_DIGITS + 1)
        # Each gap is cut to whole nanoseconds, so a sum of gaps scales with the rate to within its count.
        shortest_ns = expected_ns * (qps / (qps + last_digit / 2)) - self.count
        longest_ns = (expected_ns + self.count) * (qps / (qps - last_digit / 2))
        return shortest_ns <= self.duration_ns <= longest_ns


def _answers(seed: int, questions: Sequence[_Question]) -> dict[str, ScheduleVerdict]:
    requests = [request for question in questions for request in question.requests()]
    extent = iter(extents(seed, requests))
    return {question.claim.id: question.verdict(extent) for question in questions}


def _by_rule(claim: ScheduleClaim, equal_issue: bool) -> ScheduleSettings:
    """The schedule that the logged rules ask for."""
    if not equal_issue:
        return _settings(claim, min_duration_ns=claim.min_duration_ns, min_queries=claim.min_queries)
    if not claim.set_size:
        raise _error("the log does not say set_size, or says 0")
    return _settings(
        claim,
        min_duration_ns=claim.min_duration_ns,
        min_queries=claim.min_queries,
        equal_issue_samples=claim.set_size,
    )


def _settings(claim: ScheduleClaim, **rules: int | None) -> ScheduleSettings:
    """Settings with the claim's seed and rate; a value that the log lacks is named."""
    values = {"seed": claim.seed, "target_qps": claim.target_qps, **rules}
    for field, value in values.items():
        if value is None:
            raise _error(f"the log does not say {field}")
    return ScheduleSettings(**values)  # type: ignore[arg-type]  # None is gone, and the constructor checks


def _generated(claim: ScheduleClaim) -> tuple[int, int]:
    """The logged count and nanoseconds."""
    for field, most in (("generated_count", MAX_QUERIES), ("generated_duration_ns", _LONGEST_NS)):
        value: object = getattr(claim, field)
        if value is None:
            raise _error(f"the log does not say {field}")
        if type(value) is not int or not 0 <= value <= most:
            raise _error(f"{field} is not an integer between 0 and {most:,}")
    assert claim.generated_count is not None
    assert claim.generated_duration_ns is not None
    return claim.generated_count, claim.generated_duration_ns


def _error(message: str) -> InputError:
    return InputError(message, code="schedule-claim")
