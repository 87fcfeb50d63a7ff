"""What a measured run showed, as a plan of the very same requests, and the same requests served by a model.

Requests are offered when they were sent, in closed loops too: what the model gets wrong about one answer then moves no
later arrival, and every request can be held against itself. Prompt tokens that the server took from a cache are left
out of the prompt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from caveat.errors import CannotSayError
from caveat.measure import SampleColumns, Samples, columns_of
from caveat.simulator.feed import Feed
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import FS_PER_S
from caveat.simulator.length_mix import Int64, LengthMix
from caveat.simulator.measured import Answers, answers_of
from caveat.simulator.multipliers import Float64
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import StepTime
from caveat.units import NS_PER_S, format_seconds
from caveat.workload import PlanBlock

MOST_LOST = 0.05
"""Share of requests without an answer beyond which a run is not learned from: their work is not in its samples."""

MOST_STALL = 0.1
"""Share of the median TTFT that a client may take to read a first token."""

MOST_ANSWERS = 800
"""A fit serves a run some thousand times, and looks at its first so many answers. The linear rows that it begins with
see all; more would say little beside what another condition is off."""


@dataclass(frozen=True, slots=True)
class Times:
    """For each request of a run, in seconds: from sent to first token, and from first to last per token after it.

    `token_s` is NaN for answers of one token; both are NaN for a request that was not served.
    """

    ttft_s: Float64
    token_s: Float64


@dataclass(frozen=True, slots=True)
class SeenRun:
    """The first answers of one run in order of sending; a plan of the same requests. Times in seconds from the first.

    `answers` are all of them.
    """

    sent_s: Float64
    prompt_tokens: Int64
    output_tokens: Int64
    seen: Times
    answers: Answers

    def __len__(self) -> int:
        return len(self.sent_s)

    @property
    def mix(self) -> LengthMix:
        """Of its answers."""
        return self.answers.mix

    @property
    def cached_share(self) -> float:
        """Of all prompt tokens, those that the server took from a cache."""
        return 1.0 - float(self.answers.computed_tokens.sum() / self.answers.input_tokens.sum())

    @property
    def concurrency(self) -> None:
        """Open: see the head of this file."""
        return

    @property
    def block_tokens(self) -> int:
        """Nothing is shared."""
        return 0

    def blocks(self) -> Iterator[PlanBlock]:
        """All requests."""
        at_ns = np.rint(self.sent_s * 1e9).astype(np.int64)
        yield PlanBlock(at_ns=at_ns, input_tokens=self.prompt_tokens, output_tokens=self.output_tokens)

    def describe(self) -> Mapping[str, str]:
        """Nothing: it is offered to a model only."""
        return {}

    def shifted(self, within_s: float, rng: np.random.Generator) -> SeenRun:
        """Arrivals moved by up to so much to either side, never past each other; what was seen stays."""
        moved = self.sent_s + rng.uniform(-within_s, within_s, len(self))
        return dataclasses.replace(self, sent_s=np.maximum.accumulate(np.maximum(0.0, moved)))

    @property
    def rate_per_s(self) -> float:
        """Requests sent per second."""
        return (len(self) - 1) / max(1e-9, float(self.sent_s[-1]))

    @property
    def span_s(self) -> float:
        """From the first request to the last token, of all its answers."""
        return max(1e-9, float(self.answers.last_s.max() - self.answers.sent_s.min()))

    @property
    def in_flight(self) -> float:
        """Mean number of requests under way."""
        busy_s = self.seen.ttft_s + np.nan_to_num(self.seen.token_s) * (self.output_tokens - 1)
        return float(busy_s.sum() / max(1e-9, float((self.sent_s + busy_s).max())))


def seen_run(samples: Samples) -> SeenRun:
    """A run to learn from. CannotSayError where it has too few answers, or too many requests without one."""
    columns = columns_of(samples)
    answers = answers_of(columns)
    lost = int(np.isfinite(columns.numbers("sent_ns")).sum()) - len(answers.sent_s)
    if lost > MOST_LOST * columns.rows:
        raise CannotSayError(
            f"calibration: {lost} of {columns.rows} requests that were sent have no answer with token counts, "
            f"expected at most {MOST_LOST:.0%}: what they cost the server is not in the samples",
            next="a run at a lower rate",
        )
    _refuse_stalled(columns, answers)
    return _sorted(answers)


def _refuse_stalled(columns: SampleColumns, answers: Answers) -> None:
    """CannotSayError where the client was so slow to read that its delays would be learned as the server's."""
    stalls_s = columns.numbers("stall_ns") / NS_PER_S
    stalls_s = stalls_s[np.isfinite(stalls_s)]
    first_s = float(np.median(answers.first_s - answers.sent_s))
    half_s = float(np.median(stalls_s)) if len(stalls_s) else 0.0
    if half_s > MOST_STALL * first_s:
        raise CannotSayError(
            f"calibration: half of the first tokens waited {format_seconds(half_s)} or more for the client to read "
            f"them, of {format_seconds(first_s)} in all: the client was the bottleneck, and would pass for the server",
            code="client-limited",
            next="measure at a lower rate, with more --processes, or on a machine of its own",
        )


def _sorted(a: Answers) -> SeenRun:
    order = np.argsort(a.sent_s, kind="stable")[:MOST_ANSWERS]
    sent, first, last = a.sent_s[order], a.first_s[order], a.last_s[order]
    outputs = a.output_tokens[order].astype(np.int64)
    return SeenRun(
        sent_s=sent - sent[0],
        prompt_tokens=np.maximum(1, a.computed_tokens[order]).astype(np.int64),
        output_tokens=outputs,
        seen=times_of(sent, first, last, outputs),
        answers=a,
    )


def times_of(sent_s: Float64, first_s: Float64, last_s: Float64, output_tokens: Int64) -> Times:
    """From instants."""
    steps = np.where(output_tokens > 1, output_tokens - 1.0, np.nan)
    return Times(ttft_s=first_s - sent_s, token_s=(last_s - first_s) / steps)


def served(
    run: SeenRun, step_time: StepTime, scheduler: Scheduler, *, replicas: int = 1, routing: Routing | None = None
) -> Times:
    """The requests of a run, served by a model. No samples are made: a fit asks for this some hundred times."""
    firsts, lasts = np.full(len(run), np.nan), np.full(len(run), np.nan)

    def ended(request: Request, end_fs: int, error: str) -> None:
        if not error:
            firsts[request.number] = request.first_fs / FS_PER_S
            lasts[request.number] = end_fs / FS_PER_S

    engines = [Replica(scheduler, step_time) for _ in range(replicas)]
    how = routing or Routing()
    fleet = Fleet(engines, ROUTERS[how.router](engines, how), Feed(run), ended)
    for _ in fleet.run():
        pass
    return times_of(run.sent_s, firsts, lasts, run.output_tokens)
