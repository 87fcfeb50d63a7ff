"""The search for the peak: a generator that asks for probes and is told what they saw; it knows no endpoint.

Short probes bracket the crossing, longer ones on both sides of it narrow its interval (peak_estimate.py), and a run of
full length, fixed beforehand, certifies a rate below it. Whoever drives it keeps every probe; closing it between two
probes leaves nothing behind. Method, and how often its intervals held: docs/decisions/0008-peak-search.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import numpy as np

from caveat.errors import CannotSayError
from caveat.measure.peak_confirm import certain_rate
from caveat.measure.peak_estimate import Crossing, Seen, crossing
from caveat.measure.peak_evidence import oddities, row_of, seen_of
from caveat.measure.peak_records import Ending, Outlook, Peak, PeakAsk, PeakGoal, PeakProbe, ProbeRow, Purpose

Search = Generator[PeakAsk, PeakProbe, Peak]
_Step = Generator[PeakAsk, PeakProbe, None]

_CLOSE = 0.12  # width in log rate at which the bracket ends
_TOO_FAST = 2.0  # of the allowed share: a bracket probe above it counts as too fast
_QUIET = 0.05  # requests in the system below which none waits for another
_MOST_STEPS = 40  # doublings or halvings
_MOST_PROBES = 80
_MOST_LIMITED = 4  # probes that the client spoiled, one after the other, before anything was learned
_FEWEST_LONG = 4
_LONG, _LONG_MOST, _LONG_AT_ONCE = 4_000, 50_000, 15_000
_AT_ODDS = 0.3  # how far from the crossing a probe is placed, in log-odds
_FURTHEST = 0.08  # and in log rate
_AIM = 0.97  # of the width that was asked for: the last probe may widen it again
_TRIES = 4


def search_peak(goal: PeakGoal) -> Search:
    """The search. Drive it with `next` and `send`, or with `find_peak_with`.

    Raises CannotSayError where the limit is missed even by requests that meet no other.
    """
    state = _State(goal)
    yield from state.bracket()
    if state.ending is None:
        yield from state.narrow()
    searched = state.spent()
    certified = None
    if goal.confirm:
        certified = yield from state.confirm()
    return state.answer(certified, *searched)


def find_peak_with(
    goal: PeakGoal, probe: Callable[[PeakAsk], PeakProbe], on_probe: Callable[[PeakAsk, PeakProbe], None] | None = None
) -> Peak:
    """Drive the search to its end. `on_probe` is called after each probe."""
    search = search_peak(goal)
    ask = next(search)
    while True:
        seen = probe(ask)
        if on_probe is not None:
            on_probe(ask, seen)
        try:
            ask = search.send(seen)
        except StopIteration as end:
            peak: Peak = end.value
            return peak


class _State:
    """What is known so far. Rates are natural logs of requests per second."""

    def __init__(self, goal: PeakGoal) -> None:
        self.goal = goal
        self.rows: list[ProbeRow] = []
        self.seen: list[Seen] = []
        self.found: Crossing | None = None
        self.ending: Ending | None = None
        self.notes: list[str] = []
        self.good: float | None = None  # highest rate of the bracket that was fine; `bad`: lowest that was too fast
        self.bad: float | None = None
        self.ceiling = math.inf if goal.ceiling_qps is None else math.log(goal.ceiling_qps)
        self.capped: Ending = "ceiling reached"
        self.wait_s = self.latency_s = 0.0
        self._seeds = np.random.default_rng(goal.seed)

    # ---- bracket: halve and double until both sides are seen, then bisect, with short probes

    def bracket(self) -> _Step:
        """Until good and bad lie close together, or nothing faster can be asked."""
        at = min(math.log(self.goal.start_qps), self.ceiling)
        for _ in range(_MOST_STEPS):
            if not self._affords(at, self._short(at)):
                return
            limited = yield from self._probe("bracket", at, self._short(at))
            if limited:
                self._check_client(at)
            else:
                self._judge(at)
            if self.good is not None and self.bad is not None and self.bad - self.good <= _CLOSE:
                return
            following = min(self._following(at), self.ceiling)
            if self.good is not None and following <= self.good + _CLOSE / 4:
                self.ending = self.capped
                return
            at = following
        raise CannotSayError(
            f"peak: found no bracket in {_MOST_STEPS} probes", next="give a start_qps nearer to the peak"
        )

    def _check_client(self, at: float) -> None:
        last = self.rows[-_MOST_LIMITED:]
        if self.good is None and len(last) == _MOST_LIMITED and all(row.client_limited for row in last):
            raise CannotSayError(
                f"peak: the client was the limit at {_MOST_LIMITED} rates, down to {math.exp(at):.4g} requests/s",
                next="free this machine of other work, or measure from another one",
            )

    def _judge(self, at: float) -> None:
        last = self.seen[-1]
        if last.share <= _TOO_FAST * self.goal.share:
            self.good = at if self.good is None else max(at, self.good)
            return
        self.bad = at if self.bad is None else min(at, self.bad)
        if self.good is None and math.exp(at) * self.latency_s < _QUIET:
            raise CannotSayError(
                f"peak: no rate meets the limit: at {math.exp(at):.4g} requests/s, where hardly any request meets "
                f"another, {last.over:,} of {last.queries:,} are over it, and {self.goal.share:.4g} of all may be",
                next="raise the limit, or look at why single requests miss it",
            )

    def _following(self, at: float) -> float:
        if self.bad is None:
            return (at if self.good is None or at > self.ceiling else self.good) + (
                math.log(2) if at <= self.ceiling else -math.log(2)
            )
        if self.good is None:
            return self.bad - math.log(2)
        return (self.good + self.bad) / 2

    def _short(self, at: float) -> int:
        """Long enough to see the allowed share, and for a backlog to come to the limit."""
        gap = math.inf if self.good is None or self.bad is None else self.bad - self.good
        least = 6 if gap > 0.5 else 10 if gap > 0.25 else 20
        in_system = math.exp(at) * (self.wait_s + self.latency_s)
        return math.ceil(max(least / self.goal.share, (5 if gap > 0.3 else 10) * in_system))

    # ---- narrow: long probes on both sides of the crossing

    def narrow(self) -> _Step:
        """Until the interval is narrow enough, or the budget is spent, or the client is the limit."""
        assert self.good is not None  # a bracket without an ending has both sides
        self.found = self._estimate((self.good + (self.bad or self.good)) / 2)
        side = 1.0
        while self.ending is None:
            side = -side
            at = self.found.middle + side * min(_AT_ODDS / self.found.slope, _FURTHEST)
            if at > self.ceiling:
                self.ending = self.capped
                return
            queries = self._long(at)
            if len(self.rows) >= _MOST_PROBES or not self._affords(at, queries):
                self.ending = "budget spent"
                return
            limited = yield from self._probe("estimate", at, queries)
            if not limited:
                self.found = self._estimate(self.found.middle)
            if self.found.width <= self.goal.width * _AIM and self._long_ones() >= _FEWEST_LONG:
                self.ending = "narrow enough"

    def _estimate(self, around: float) -> Crossing:
        return crossing(self.seen, self.goal.share, self.goal.confidence, around)

    def _long_ones(self) -> int:
        return sum(probe.long for probe in self.seen)

    def _long(self, at: float) -> int:
        """As long as is still needed, in three parts, but long enough for the queue to forget that it was empty.

        A queue whose wait reaches the limit forgets over about the square of that backlog (diffusion).
        """
        rate = math.exp(at)
        scale = 0.01 / self.goal.share
        least = max(_LONG * scale, 30 * rate * self.latency_s, 4 * (rate * self.wait_s) ** 2)
        needed = self._needed() / 3 if self._long_ones() >= _FEWEST_LONG else 0.0
        return math.ceil(min(_LONG_MOST * max(1.0, scale), max(least, min(needed, _LONG_AT_ONCE * scale))))

    def _needed(self) -> float:
        """About how many more queries near the crossing until the interval is narrow enough."""
        if self.found is None:
            return 0.0
        near = sum(
            s.queries for s in self.seen if s.long and abs(s.log_rate - self.found.middle) * self.found.slope < 2
        )
        return max(0.0, near * ((self.found.width / (self.goal.width * _AIM)) ** 2 - 1))

    # ---- confirm: runs of full length below the interval

    def confirm(self) -> Generator[PeakAsk, PeakProbe, ProbeRow | None]:
        """The first that passes early stopping, from just below the interval downwards. Each length is fixed before."""
        low = self.found.low if self.found is not None else self.good
        if low is None:
            return None
        at = low - self.goal.width / 6  # one interval in ten lies beside the truth
        if self.found is not None and self.ending not in ("client-limited", "ceiling reached"):
            at = min(at, certain_rate(self.found, self.goal))
        for _ in range(_TRIES):
            yield from self._probe("confirm", at, self.goal.full_length(math.exp(at)))
            if self.rows[-1].certified and not self.rows[-1].client_limited:
                return self.rows[-1]
            self.notes.append(
                f"A run of {self.rows[-1].queries:,} queries at {math.exp(at):.4g} requests/s was not certified: "
                f"{self.rows[-1].over:,} were over the limit."
            )
            at -= max(0.03, self.goal.width / 2)
        return None

    # ---- one probe

    def _affords(self, at: float, queries: int) -> bool:
        spent, seconds = self.spent()
        goal = self.goal
        fits = spent + queries <= (goal.most_queries or math.inf) and seconds + queries / math.exp(at) <= (
            goal.most_s or math.inf
        )
        if not fits:
            self.ending = "budget spent"
        return fits

    def _probe(self, purpose: Purpose, at: float, queries: int) -> Generator[PeakAsk, PeakProbe, bool]:
        """PeakAsk, and keep what was seen. True where the client was the limit: then it says nothing of the server."""
        ask = PeakAsk(
            number=len(self.rows) + 1,
            purpose=purpose,
            rate_qps=math.exp(at),
            queries=queries,
            seed=int(self._seeds.integers(2**63)),
            most_over=None if purpose == "confirm" else math.ceil(max(30, 10 * self.goal.share * queries)),
            outlook=self._outlook(),
        )
        probe = yield ask
        self.rows.append(row_of(ask, probe, self.goal))
        if probe.client_limited:
            self.ceiling, self.capped = min(self.ceiling, at - 0.05), "client-limited"
        elif purpose != "confirm":
            self.wait_s, self.latency_s = probe.wait_s, probe.latency_s
            self.seen.append(seen_of(ask, probe))
        return probe.client_limited

    def _outlook(self) -> Outlook:
        if self.found is None:
            return Outlook()
        needed = math.ceil(self._needed())
        low, middle, high = (math.exp(at) for at in (self.found.low, self.found.middle, self.found.high))
        return Outlook(low_qps=low, high_qps=high, queries=needed, seconds=needed / middle)

    def spent(self) -> tuple[int, float]:
        """Queries and seconds so far."""
        return sum(row.queries for row in self.rows), sum(row.seconds for row in self.rows)

    # ---- the answer

    def _nothing_met(self) -> CannotSayError:
        """A failed request is over every limit: where some failed, that is what to look at first."""
        failed, queries = sum(row.failures for row in self.rows), sum(row.queries for row in self.rows)
        said = "peak: the budget was spent before any rate met the limit"
        if not failed:
            return CannotSayError(said, next="give a larger one")
        return CannotSayError(
            f"{said}; {failed:,} of {queries:,} requests failed, and a failed one is over every limit",
            next=f"look at the failures first: caveat show {self.rows[-1].run or 'RUN'}",
        )

    def answer(self, certified: ProbeRow | None, queries: int, seconds: float) -> Peak:
        """What was found. Raises CannotSayError where the budget ended before any rate was seen to be fine."""
        found, open_above = self.found, self.ending in ("client-limited", "ceiling reached")
        low = found.low if found is not None else self.good
        if low is None:
            raise self._nothing_met()
        if open_above:
            low = min(low, self.ceiling)
        high = None if open_above else found.high if found is not None else self.bad
        whole, whole_s = self.spent()
        return Peak(
            goal=self.goal,
            rate_qps=math.exp(found.middle) if found is not None and not open_above else None,
            low_qps=math.exp(low),
            high_qps=None if high is None else math.exp(high),
            ending=self.ending or "budget spent",
            certified=certified,
            probes=tuple(self.rows),
            queries=queries,
            seconds=seconds,
            confirm_queries=whole - queries,
            confirm_s=whole_s - seconds,
            notes=(*self.notes, *oddities(self.seen, found)),
        )
