"""DecodeBatch: the sequences that decode, one token a step each, with everything about a run of steps in closed form.

Time counts in ticks: one a step in which the batch takes part. A sequence that joins at tick T with `left` tokens to go
ends at T + left, whatever happens between, so a heap by end is never touched in between; its context at tick s is
what it was at T plus s - T, so the sum over all is one number that grows by n a tick; and it needs a new KV block at
those ticks that leave one remainder, so blocks are counted by remainder.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from caveat.simulator.costs import steps_reaching
from caveat.simulator.request import Request


class DecodeBatch:
    """`heap` holds (last tick, key, request); `context` is the tokens that the next step reads. `block_tokens` 0: KV is
    not counted."""

    __slots__ = ("_due", "_first_fs", "_growth_fs", "block_tokens", "context", "heap")

    def __init__(self, block_tokens: int) -> None:
        self.heap: list[tuple[int, int, Request]] = []
        self.context = 0
        self.block_tokens = block_tokens
        self._due = [0] * block_tokens  # by remainder of the tick: sequences that need a block then
        self._first_fs = self._growth_fs = 0

    def context_at(self, tick: int) -> int:
        """Tokens that the step at this tick, the next one, reads."""
        return self.context

    def join(self, request: Request, tick: int) -> None:
        """A sequence begins to decode with the step at `tick`."""
        context = request.prompt + request.given
        request.joined = tick
        request.finish = tick + request.output - request.given
        self.context += context
        if self.block_tokens:
            request.phase = (tick - context + 1) % self.block_tokens
            self._due[request.phase] += 1
        heappush(self.heap, (request.finish, request.key, request))

    def pop(self, tick: int) -> tuple[Request, int]:
        """The sequence that ends first is taken out when it ends. Returns it and the tokens in its KV blocks."""
        request = heappop(self.heap)[2]
        request.given = request.output
        return request, self._left(request)

    def gained(self, request: Request, tick: int) -> int:
        """Tokens that a sequence gains in the step at this tick."""
        return 1

    def drop(self, request: Request, tick: int) -> int:
        """A sequence is taken out before the step at `tick`. Returns the tokens in its KV blocks."""
        self.heap[:] = [entry for entry in self.heap if entry[2] is not request]
        heapify(self.heap)
        request.given = request.output - (request.finish - tick)
        return self._left(request)

    def _left(self, request: Request) -> int:
        context = request.prompt + request.given
        self.context -= context
        if self.block_tokens:
            self._due[request.phase] -= 1
        return context - 1

    def growth_of_one(self, tick: int) -> int:
        """The same as growth(tick, 1), which is asked at every step."""
        return self._due[tick % self.block_tokens]

    def growth(self, tick: int, steps: int) -> int:
        """KV blocks that the steps from `tick` on need beyond those that are held."""
        size = self.block_tokens
        rounds, rest = divmod(steps, size)
        begin = tick % size
        end = begin + rest
        grown = rounds * len(self.heap) + sum(self._due[begin:end])
        return grown + sum(self._due[: end - size]) if end > size else grown

    def steps_that_fit(self, tick: int, steps: int, free: int) -> int:
        """How many of so many steps fit into so many free blocks; the first does."""
        if len(self.heap) * -(-steps // self.block_tokens) <= free or self.growth(tick, steps) <= free:
            return steps
        low, high = 1, steps  # low fits, high does not
        while high - low > 1:
            middle = (low + high) // 2
            if self.growth(tick, middle) <= free:
                low = middle
            else:
                high = middle
        return low

    def plan(self, tick: int, steps: int, base_fs: int, context_fs: int) -> tuple[int, int]:
        """Begin a run: a step costs `base_fs` and `context_fs` a token of context. Returns how many of so many steps
        can be run as one, and how long they take."""
        self._first_fs = first_fs = base_fs + context_fs * self.context
        self._growth_fs = growth_fs = context_fs * len(self.heap)
        return steps, steps * first_fs + growth_fs * (steps * (steps - 1) // 2)

    def run_fs(self, steps: int) -> int:
        """How long the first steps of the run take."""
        return steps * self._first_fs + self._growth_fs * (steps * (steps - 1) // 2)

    def steps_reaching(self, fs: int) -> int:
        """The fewest steps of the run that take so long or longer."""
        return steps_reaching(fs, self._first_fs, self._growth_fs)

    def advance(self, tick: int, steps: int) -> None:
        """So many steps from `tick` on were taken."""
        self.context += len(self.heap) * steps
