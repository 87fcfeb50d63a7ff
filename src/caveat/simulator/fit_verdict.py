"""Whether the model that came out gives what the runs showed: run by run, and why not where no engine would.

A fit always ends somewhere. Where it ends far from the runs, what answered was no engine with continuous batching, or
none with the scheduler that was stated, and a model file would pretend otherwise: that is refused with what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from caveat.errors import CannotSayError
from caveat.simulator.fit_problem import Problem
from caveat.simulator.fit_runs import SeenRun, Times
from caveat.simulator.model_file import Residual
from caveat.simulator.multipliers import Float64
from caveat.units import format_seconds

WITHIN = 0.2
"""Median times so far off, and 95th percentiles twice as far, are called explained."""
MOST_MEDIAN, MOST_TAIL = 1.5, 4.0
"""Factors between seen and modelled beyond which no model is given: of medians, and of 95th percentiles."""
QUICKER = 0.7
"""Share of the time per token under which a first token is too quick to have been computed by a step of that length."""
UNMOVED = 0.03
"""Change of the median time per token under which load is said to have cost nothing."""
MORE_LOAD = 1.5
"""Factor of requests under way from which two runs are of different loads."""
NEAR = 0.9
"""Share of the stated seats that a run must fill for it to show that there are no fewer."""
SCATTER = 4.0
"""p95 over median of a time from which it is said to scatter, where most of it is in no queue of the model."""

Kind = Literal["ttft_s", "token_s"]
KINDS: tuple[Kind, ...] = ("ttft_s", "token_s")
_WORDS: dict[Kind, str] = {"ttft_s": "TTFT", "token_s": "time per token"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """One kind of time of one run, in seconds: as it was seen and as the model gives it, with its noise."""

    run: int
    kind: Kind
    seen_p50: float
    seen_p95: float
    model_p50: float
    model_p95: float

    @property
    def off_p50(self) -> float:
        """Modelled / seen - 1."""
        return self.model_p50 / self.seen_p50 - 1

    @property
    def off_p95(self) -> float:
        """Modelled / seen - 1."""
        return self.model_p95 / self.seen_p95 - 1

    @property
    def explained(self) -> bool:
        """Whether the median is within 20 % and the 95th percentile within 40 %."""
        return abs(self.off_p50) <= WITHIN and abs(self.off_p95) <= 2 * WITHIN

    @property
    def hopeless(self) -> bool:
        """Whether the two are so far apart that the model says nothing of the run."""
        return _apart(self.model_p50, self.seen_p50) > MOST_MEDIAN or _apart(self.model_p95, self.seen_p95) > MOST_TAIL

    @property
    def words(self) -> str:
        """For people."""
        return f"{_WORDS[self.kind]} p50 {self.off_p50:+.0%}, p95 {self.off_p95:+.0%}"


def fitted(problem: Problem, theta: Float64, residual: Residual, rng: np.random.Generator) -> tuple[Fitted, ...]:
    """Every run served by the model, with the noise of single requests, beside what was seen."""
    times = problem.times(theta)
    return tuple(
        one
        for place, (run, modelled) in enumerate(zip(problem.runs, times, strict=True))
        for kind in KINDS
        if (one := _fitted(place, kind, run, modelled, residual, rng)) is not None
    )


def fit_words(fits: Sequence[Fitted]) -> list[str]:
    """One sentence a run: how far the model is from what it was made from."""
    said = []
    for run in sorted({one.run for one in fits}):
        mine = [one for one in fits if one.run == run]
        verdict = "explained" if all(one.explained for one in mine) else "explained in part"
        said.append(f"run {run + 1} is {verdict}: the model against it: {'; '.join(one.words for one in mine)}")
    return said


def refuse_hopeless(problem: Problem, fits: Sequence[Fitted], *, limit_known: bool = True) -> None:
    """CannotSayError where some time of some run is not to be had from the model, with what the runs show."""
    bad = [one for one in fits if one.hopeless]
    if not bad:
        return
    worst = max(bad, key=lambda one: _apart(one.model_p50, one.seen_p50))
    said = (
        f"run {worst.run + 1}: {_WORDS[worst.kind]} p50 {format_seconds(worst.seen_p50)}, "
        f"p95 {format_seconds(worst.seen_p95)}; the nearest model gives {format_seconds(worst.model_p50)} and "
        f"{format_seconds(worst.model_p95)}"
    )
    reasons = list(_reasons(problem, fits, limit_known)) or ["what else there was, the samples do not say"]
    what = "no engine of this kind" if limit_known else "no engine in which nobody waits for a seat"
    raise CannotSayError(
        f"calibration: {what} gives what was seen. {said}. {'; '.join(reasons)}",
        code="not-an-engine",
        next="check what answered; give scheduler.max_num_seqs as the engine has it; or leave the run out"
        if limit_known
        else "give scheduler.max_num_seqs, so that waiting is simulated; or a run at a lower rate",
    )


def load_words(runs: Sequence[SeenRun]) -> str | None:
    """That the runs show no cost of load, where they were hardly loaded or it cost nothing; None otherwise."""
    light, heavy = (pick(runs, key=lambda run: run.in_flight) for pick in (min, max))
    if heavy.in_flight < 1:
        return (
            f"{heavy.in_flight:.2g} requests were under way on average at most: what it costs to serve several at "
            "once, and how many there may be, is belief; a run at a higher load would tell"
        )
    if heavy.in_flight < MORE_LOAD * light.in_flight:
        return None
    times = [float(np.nanmedian(run.seen.token_s)) for run in (light, heavy)]
    if abs(times[1] / times[0] - 1) > UNMOVED:
        return None
    return (
        f"with {heavy.in_flight:.2g} requests under way a token took no longer than with {light.in_flight:.2g}: what "
        "more load costs, and where it ends, is belief; a run at a higher load would tell"
    )


def refuse_more_at_once(runs: Sequence[SeenRun], seats: int) -> None:
    """CannotSayError where a run had clearly more answers under way at once than the stated limit has seats."""
    for place, run in enumerate(runs):
        at_once = _decoding(run)
        if at_once > seats:
            raise CannotSayError(
                f"calibration: in run {place + 1} {at_once} answers were giving tokens at once, and the stated limits "
                f"(max_num_seqs x replicas) allow {seats}",
                code="not-an-engine",
                next="look up max_num_seqs and fleet.replicas in the engine's settings",
            )


def seats_words(runs: Sequence[SeenRun], seats: int) -> list[str]:
    """That no run came near the stated limit, so that nothing in them shows whether it is the engine's."""
    most = max(_decoding(run) for run in runs)
    if most >= NEAR * seats:
        return []
    return [
        f"at most {most} answers were giving tokens at once, and the stated limits allow {seats}: the runs do not show "
        "whether that is so, and a wrong limit makes every load fraction wrong; a run near it would tell"
    ]


def _decoding(run: SeenRun) -> int:
    """Answers between first and last token at the same time, as it was at the busiest twentieth of beginnings."""
    a = run.answers
    several = a.output_tokens > 1
    firsts, lasts = np.sort(a.first_s[several]), np.sort(a.last_s[several])
    if not len(firsts):
        return 0
    under_way = np.arange(1, len(firsts) + 1) - np.searchsorted(lasts, firsts, side="right")
    return int(np.percentile(under_way, 95, method="lower"))


def _fitted(
    place: int, kind: Kind, run: SeenRun, modelled: Times, residual: Residual, rng: np.random.Generator
) -> Fitted | None:
    seen, model = getattr(run.seen, kind), getattr(modelled, kind)
    rows = np.isfinite(seen) & (seen > 0)
    if not rows.any():
        return None
    spread = residual.ttft_sd if kind == "ttft_s" else residual.token_sd
    noisy = np.where(np.isfinite(model[rows]), model[rows], np.inf) * np.exp(rng.normal(0.0, spread, int(rows.sum())))
    seen_p50, seen_p95 = (float(value) for value in np.percentile(seen[rows], [50, 95]))
    model_p50, model_p95 = (float(value) for value in np.percentile(noisy, [50, 95], method="lower"))
    return Fitted(place, kind, seen_p50, seen_p95, model_p50, model_p95)


def _reasons(problem: Problem, fits: Sequence[Fitted], limit_known: bool) -> Iterator[str]:
    """What the runs show that an engine with continuous batching does not do."""
    by = {(one.run, one.kind): one for one in fits}
    for place in range(len(problem.runs)):
        first, token = by.get((place, "ttft_s")), by.get((place, "token_s"))
        if first and token and first.seen_p50 < QUICKER * token.seen_p50:
            yield (
                f"run {place + 1}: first tokens came after {format_seconds(first.seen_p50)} and others every "
                f"{format_seconds(token.seen_p50)}, while an engine computes a prompt in at least a step: a mock, or a "
                "server that opens its stream with something that is no token"
            )
            break
    for one in fits:
        scatter = one.seen_p95 / one.seen_p50
        if scatter > max(SCATTER, 2 * one.model_p95 / one.model_p50):
            yield (
                f"run {one.run + 1}: {_WORDS[one.kind]} scatters up to {scatter:.0f} times its "
                "median, and what was under way does not say when: delays at random, or a neighbour on the machine"
            )
            break
    yield from _contradictions(problem.runs)
    if not limit_known and any(one.kind == "ttft_s" and one.model_p50 < one.seen_p50 for one in fits if one.hopeless):
        yield "requests may have waited for a seat, and how many there are was not said"


def _contradictions(runs: Sequence[SeenRun]) -> Iterator[str]:
    """A run of clearly less load that was clearly slower."""
    ordered = sorted(enumerate(runs), key=lambda one: one[1].rate_per_s)
    for (light, less), (heavy, more) in pairwise(ordered):
        slower = np.nanmedian(less.seen.token_s) / np.nanmedian(more.seen.token_s)
        if more.rate_per_s > MORE_LOAD * less.rate_per_s and slower > MOST_MEDIAN:
            yield (
                f"run {light + 1} was offered less than run {heavy + 1} and took {slower:.1f} times as long per token: "
                "the endpoint was not the same, or not alone"
            )


def _apart(one: float, other: float) -> float:
    """Factor between two times, at least 1."""
    return max(one / other, other / one)
