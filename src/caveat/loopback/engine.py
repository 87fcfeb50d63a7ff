"""Engine: when tokens are due. The protocol that a model of a server carries out, and the engine for fixed delays.

An engine lives in the time of its requests, in nanoseconds of whatever clock stamped their arrival, and never looks
at a clock itself: the endpoint drives it in real time, a test in virtual time, and both get the same due times.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from caveat.loopback.behaviour import Behaviour
from caveat.loopback.laws import Fixed, draw, uniform
from caveat.units import NS_PER_S

TTFT_DRAW, ITL_DRAW, LENGTH_DRAW, FAULT_DRAW, SPLIT_DRAW = range(5)
"""Places of the draws under the seed. New ones go at the end: a place fixes what every seed gives."""


class Job(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request as an engine sees it.

    `cached_tokens` of the prompt are in the prefix cache, None where there is none, or it is the engine's own and not
    told yet. `whole`: nobody reads the tokens
    before the last one is there. `chain`: a number for each whole block of the prompt that stands for the block and all
    before it, where the engine asks for it with `block_tokens`.
    """

    number: int
    arrival_ns: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    whole: bool = False
    chain: tuple[int, ...] = ()


class Emission(NamedTuple):
    """`tokens` more tokens of request `number`, due together at `due_ns`. `cached_tokens` of its prompt were in the
    engine's own prefix cache; None where it has none."""

    number: int
    due_ns: int
    tokens: int
    cached_tokens: int | None = None


class Engine(Protocol):
    """A server in the time of its requests. The endpoint submits in order of arrival and takes what falls due.

    For each job the tokens of its emissions add up to `output_tokens`; with `whole` there is one emission.
    """

    @property
    def running(self) -> int:
        """Jobs in service."""
        ...

    @property
    def waiting(self) -> int:
        """Jobs that wait for service."""
        ...

    @property
    def block_tokens(self) -> int:
        """Size of the blocks of a prompt whose chain the engine wants to know; 0: it does not."""
        ...

    def accept(self, job: Job) -> Job | str:
        """The job as it is going to be served, perhaps with a shorter answer; or why it never can be."""
        ...

    def submit(self, job: Job) -> None:
        """Take a job that arrived at `job.arrival_ns`; later jobs arrive no earlier."""
        ...

    def cancel(self, number: int, now_ns: int) -> None:
        """Forget a job whose client has gone. A number that is not known, or has ended, is no error."""
        ...

    def next_ns(self) -> int | None:
        """When `take` is to be called next; None while nothing is going to happen without another job."""
        ...

    def take(self) -> Sequence[Emission]:
        """What happens at `next_ns`, in order; may be nothing to emit."""
        ...


class _Run:
    """One job in service: when its next tokens are due. Changes as they leave."""

    __slots__ = ("due_ns", "first_ns", "job", "sent")

    def __init__(self, job: Job, first_ns: int) -> None:
        self.job = job
        self.first_ns = first_ns
        self.due_ns = first_ns
        self.sent = 0


class FixedEngine:
    """`slots` servers and one queue, first come first served; the delays are those of the behaviour.

    Token k of a job that starts at S is due at S + ttft + prefill x uncached prompt tokens + the k gaps before it; a
    fixed gap is multiplied, never added up. The slot is free when the last chunk is due, however late it was written.
    """

    block_tokens = 0

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._slots = behaviour.slots or (1 << 62)
        self._chunk = behaviour.tokens_per_chunk
        self._ttft_ns = _fixed_ns(behaviour.ttft_s)
        self._itl_ns = _fixed_ns(behaviour.itl_s)
        self._runs: dict[int, _Run] = {}
        self._waiting: dict[int, Job] = {}  # a dict keeps its order and lets anybody leave
        self._due: list[tuple[int, int, int]] = []  # due time, order of scheduling, number
        self._scheduled = 0

    @property
    def running(self) -> int:
        """Jobs in a slot."""
        return len(self._runs)

    @property
    def waiting(self) -> int:
        """Jobs in the queue."""
        return len(self._waiting)

    def accept(self, job: Job) -> Job | str:
        """As it is."""
        return job

    def submit(self, job: Job) -> None:
        """Start the job where a slot is free, else let it wait."""
        if len(self._runs) < self._slots:
            self._start(job, job.arrival_ns)
        else:
            self._waiting[job.number] = job

    def cancel(self, number: int, now_ns: int) -> None:
        """Free the slot or the place in the queue now."""
        if self._runs.pop(number, None):
            self._start_next(now_ns)
        else:
            self._waiting.pop(number, None)

    def next_ns(self) -> int | None:
        """Due time of the earliest tokens."""
        return self._due[0][0] if self._due else None

    def take(self) -> Sequence[Emission]:
        """The tokens that are due first; at one time those that were scheduled first."""
        due_ns, _, number = heapq.heappop(self._due)
        run = self._runs.get(number)
        if run is None:  # cancelled
            return ()
        left = run.job.output_tokens - run.sent
        tokens = left if run.job.whole else min(self._chunk, left)
        run.sent += tokens
        if tokens == left:
            del self._runs[number]
            self._start_next(due_ns)
        else:
            run.due_ns = self._due_ns(run, run.sent)
            self._schedule(run.due_ns, number)
        return (Emission(number, due_ns, tokens),)

    def _start_next(self, now_ns: int) -> None:
        if self._waiting:
            job = self._waiting.pop(next(iter(self._waiting)))
            self._start(job, max(now_ns, job.arrival_ns))

    def _start(self, job: Job, start_ns: int) -> None:
        run = self._runs[job.number] = _Run(job, start_ns + self._first_ns(job))
        if job.whole:
            run.due_ns = self._due_ns(run, (job.output_tokens - 1) // self._chunk * self._chunk)
        self._schedule(run.due_ns, job.number)

    def _schedule(self, due_ns: int, number: int) -> None:
        self._scheduled += 1
        heapq.heappush(self._due, (due_ns, self._scheduled, number))

    def _first_ns(self, job: Job) -> int:
        """From the start of service to the first token."""
        first_ns = self._ttft_ns
        if first_ns is None:
            share = uniform(self._behaviour.seed, TTFT_DRAW, job.number)
            first_ns = round(draw(self._behaviour.ttft_s, share) * NS_PER_S)
        prefill_s = self._behaviour.prefill_s_per_token
        if prefill_s:
            computed = job.prompt_tokens - (job.cached_tokens or 0)
            first_ns += round(prefill_s * computed * NS_PER_S)
        return first_ns

    def _due_ns(self, run: _Run, token: int) -> int:
        """When token number `token` of the run is due, given that `run.due_ns` is that of the chunk before it."""
        if self._itl_ns is not None:
            return run.first_ns + token * self._itl_ns
        law, seed, number = self._behaviour.itl_s, self._behaviour.seed, run.job.number
        before = run.sent - self._chunk if run.sent else 0
        gaps_s = (draw(law, uniform(seed, ITL_DRAW, number, later)) for later in range(before + 1, token + 1))
        return run.due_ns + sum(round(gap_s * NS_PER_S) for gap_s in gaps_s)


def _fixed_ns(law: object) -> int | None:
    return round(law.value * NS_PER_S) if isinstance(law, Fixed) else None
