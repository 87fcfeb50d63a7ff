"""Request: one request in flight, the only object there is for it. Mutable, and forgotten when it has its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caveat.simulator.instants import NEVER_FS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_CHAIN: list[int] = []


class Request:
    """What the plan says about a request, and how far it has come.

    number, session, turn   as in the plan
    scheduled_ns            as in the plan
    due_fs                  when it became due, from which its latency counts
    prompt, output          tokens; `wanted` is the output before a context limit cut it
    chain                   chained ids of its whole prompt blocks, as `prefix.chained` makes them
    priority, key           place in the queue: `key` orders by priority, then by arrival

    Written by the replica: `target` tokens to compute before the next token, `computed` of them, `given` tokens
    generated, `joined` and `finish` the decode ticks at which it began and will end, `held` chain ids of shared blocks,
    `cached` prompt tokens that the first admission found (-1: none yet), `steps` decode steps taken before it lost its
    blocks, and the instants. `place` is the replica's number, `retries` how often it began again after a failure.
    `model` says which of several models it asks.
    """

    __slots__ = (
        "admitted_fs",
        "cached",
        "chain",
        "computed",
        "due_fs",
        "finish",
        "first_fs",
        "gains",
        "given",
        "held",
        "joined",
        "key",
        "last_fs",
        "model",
        "number",
        "output",
        "phase",
        "place",
        "preemptions",
        "priority",
        "prompt",
        "ready_fs",
        "retries",
        "scheduled_ns",
        "session",
        "steps",
        "target",
        "turn",
        "wanted",
    )

    ready_fs: int
    joined: int
    finish: int
    phase: int
    place: int
    gains: npt.NDArray[np.int64]

    def __init__(
        self,
        number: int,
        due_fs: int,
        prompt: int,
        output: int,
        chain: list[int] = NO_CHAIN,
        session: int = -1,
        turn: int = -1,
        scheduled_ns: int = 0,
        priority: int = 0,
        model: int = 0,
    ) -> None:
        self.number, self.session, self.turn, self.scheduled_ns = number, session, turn, scheduled_ns
        self.due_fs = due_fs
        self.prompt = prompt
        self.output = self.wanted = output
        self.chain = chain
        self.priority, self.model = priority, model
        self.key = 0
        self.target = prompt
        self.computed = self.given = self.steps = self.preemptions = self.retries = 0
        self.cached = -1
        self.held: list[int] = NO_CHAIN
        self.first_fs = self.last_fs = self.admitted_fs = NEVER_FS

    def restart(self) -> None:
        """Nothing of it is left on any replica; it begins again, and what was answered before is thrown away."""
        self.target = self.prompt
        self.computed = self.given = self.steps = 0
        self.held = NO_CHAIN
        self.first_fs = NEVER_FS
