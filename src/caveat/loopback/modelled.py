"""Modelled: the engine that is a model of a server, so that the endpoint answers as a simulation says, in real time.

The simulator's own replicas run it: no second model. Steps end at absolute times of the model, which follow from the
arrivals and from nothing else, so however late an answer leaves, nothing adds up; how late is in the truth log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from caveat.errors import UsageError
from caveat.loopback.behaviour import Behaviour
from caveat.loopback.engine import Emission, Job

if TYPE_CHECKING:  # the simulator takes longer to load than the whole endpoint
    from caveat.simulator import Live, Model

# What the model says instead.
_OF_THE_MODEL = ("ttft_s", "prefill_s_per_token", "itl_s", "slots", "tokens_per_chunk", "prefix_cache_blocks")


class ModelledEngine:
    """A modelled fleet as an Engine. A request that the model cannot serve is refused, an answer cut at its context.

    `block_tokens` is the size of the blocks of its prefix caches, 0 without one.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._whole: dict[int, tuple[int, int]] = {}  # tokens, and those left, of jobs that are told in one piece
        self.block_tokens = live.block_tokens

    @property
    def running(self) -> int:
        """Jobs in service."""
        return self._live.running

    @property
    def waiting(self) -> int:
        """Jobs that wait for service."""
        return self._live.waiting

    def accept(self, job: Job) -> Job | str:
        """The job as the model serves it, or why it never can."""
        fitting = self._live.fitting(job.prompt_tokens, job.output_tokens)
        if isinstance(fitting, str) or fitting == job.output_tokens:
            return fitting if isinstance(fitting, str) else job
        return msgspec.structs.replace(job, output_tokens=fitting)

    def submit(self, job: Job) -> None:
        """The job arrives at the fleet."""
        if job.whole:
            self._whole[job.number] = job.output_tokens, job.output_tokens
        self._live.arrive(job.number, job.arrival_ns, job.prompt_tokens, job.output_tokens, job.chain)

    def cancel(self, number: int, now_ns: int) -> None:
        """The job leaves at the end of the step under way."""
        self._whole.pop(number, None)
        self._live.cancel(number, now_ns)

    def next_ns(self) -> int | None:
        """When a step ends, or something else happens inside the fleet."""
        return self._live.next_ns()

    def take(self) -> Sequence[Emission]:
        """The tokens of a step."""
        if not self._whole:
            return [Emission(*token) for token in self._live.turn()]
        return [one for token in self._live.turn() if (one := self._told(*token)) is not None]

    def _told(self, number: int, due_ns: int, tokens: int, cached: int | None) -> Emission | None:
        """The tokens, or for a job that is told in one piece all of them with the last."""
        if number not in self._whole:
            return Emission(number, due_ns, tokens, cached)
        total, left = self._whole[number]
        if left > tokens:
            self._whole[number] = total, left - tokens
            return None
        del self._whole[number]
        return Emission(number, due_ns, total, cached)


def modelled(
    model: Model, *, draw: int | None = None, max_num_seqs: int | None = None
) -> Callable[[Behaviour], ModelledEngine]:
    """Makes the engine of a model file: `Loopback(behaviour, engine=modelled(model))`. See `server_of` for the choices.

    The maker raises UsageError for a behaviour that says what the model says. `prefix_hit` is not applied: what is in
    the cache follows from the prompts. Raises CannotSayError where the model leaves `max_num_seqs` open.
    """
    from caveat.simulator import Live, server_of

    server = server_of(model, draw=draw, max_num_seqs=max_num_seqs)

    def engine(behaviour: Behaviour) -> ModelledEngine:
        check_behaviour(behaviour)
        return ModelledEngine(Live(server))

    return engine


def check_behaviour(behaviour: Behaviour) -> None:
    """UsageError where a behaviour says what a model says too."""
    default = Behaviour()
    said = [name for name in _OF_THE_MODEL if getattr(behaviour, name) != getattr(default, name)]
    if said:
        raise UsageError(
            f"behaviour: found {', '.join(said)} beside a model, expected what the model does not say",
            next="leave them out, or change the model file",
        )
