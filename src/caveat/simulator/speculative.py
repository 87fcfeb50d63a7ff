"""Speculative decoding: how many tokens each step gains, from counted streams, and the batch that decodes so.

Gains differ by sequence and step, so a run has no closed form. Instead the batch keeps a timeline: for each tick to
come, the context that its step reads and the KV blocks that it needs, as sums over the sequences. A sequence adds its
own future when it joins and takes it back when it is dropped; a run is a cumulative sum over a slice. The work is a few
array operations a request and about a nanosecond a token.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from caveat.simulator.request import Request
from caveat.simulator.scheduler import Speculation

Int64 = npt.NDArray[np.int64]
_LONGEST = 2048  # steps in one run
_EXACT_FS = 1 << 62
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def mixed(x: int) -> int:
    """The finaliser of SplitMix64: one 64-bit number from another."""
    x = ((x ^ x >> 30) * _MIX[0]) & _MASK
    x = ((x ^ x >> 27) * _MIX[1]) & _MASK
    return x ^ x >> 31


def uniforms(seed: int, request: int, first: int, count: int) -> npt.NDArray[np.float64]:
    """Uniform numbers in [0, 1) for steps `first`, first + 1, ... of a request, a function of seed, request, step."""
    stream = mixed(mixed(seed) ^ mixed((request + 1) * _GOLDEN & _MASK))
    x = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(stream)
    x = (x ^ x >> np.uint64(30)) * np.uint64(_MIX[0])
    x = (x ^ x >> np.uint64(27)) * np.uint64(_MIX[1])
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def gains(speculation: Speculation, request: int, first: int, count: int) -> Int64:
    """Tokens that a request gains in its decode steps `first`, first + 1, ...: 1 + the draft's accepted beginning."""
    u = uniforms(speculation.seed, request, first, count)
    gained = np.ones(count, np.int64)
    for accepted in range(1, speculation.draft_tokens + 1):
        gained += u < speculation.acceptance**accepted
    return gained


class SpeculativeBatch:
    """The sequences that decode with a draft; the same face as DecodeBatch."""

    __slots__ = ("_base", "_blocks", "_context", "_held", "_run", "_speculation", "block_tokens", "heap")

    def __init__(self, block_tokens: int, speculation: Speculation) -> None:
        self.heap: list[tuple[int, int, Request]] = []
        self.block_tokens = block_tokens
        self._speculation = speculation
        self._base = 0  # the tick at index 0
        self._context = np.zeros(4096, np.int64)
        self._blocks = np.zeros(4096 if block_tokens else 0, np.int64)
        self._held = 0  # KV blocks of all sequences now
        self._run: Int64 = np.zeros(0, np.int64)

    def context_at(self, tick: int) -> int:
        """Tokens that the step at this tick reads."""
        return int(self._context[tick - self._base])

    def join(self, request: Request, tick: int) -> None:
        """A sequence begins to decode with the step at `tick`: its future is drawn and added."""
        request.gains = before = self._future(request)
        context = request.prompt + request.given
        request.joined = tick
        request.finish = tick + len(before)
        self._room(tick, request.finish)
        self._add(request, tick, context, 1)
        if self.block_tokens:
            self._held += -(-(context - 1) // self.block_tokens)
        heappush(self.heap, (request.finish, request.key, request))

    def _future(self, request: Request) -> Int64:
        """Tokens gained before each step, up to the step that brings the last."""
        left = request.output - request.given
        drawn = gains(self._speculation, request.number, request.steps, left)
        total = np.cumsum(drawn)
        steps = int(np.searchsorted(total, left)) + 1
        return np.concatenate(([0], total[: steps - 1]))

    def _add(self, request: Request, tick: int, context: int, sign: int) -> None:
        """Add or take back a sequence's steps from `tick` on."""
        tokens = request.gains[tick - request.joined :] + context
        at = slice(tick - self._base, request.finish - self._base)
        self._context[at] += sign * tokens
        if self.block_tokens:
            tokens += self._speculation.draft_tokens  # room for the whole draft is held before it is checked
            self._blocks[at] += sign * -(-tokens // self.block_tokens)

    def _room(self, tick: int, end: int) -> None:
        """Make the timeline reach from `tick` to `end`."""
        if end - self._base <= len(self._context):
            return
        past, size = tick - self._base, len(self._context)
        wanted = max(size, 2 * (end - tick))
        self._context = _moved(self._context, past, wanted)
        if self.block_tokens:
            self._blocks = _moved(self._blocks, past, wanted)
        self._base = tick

    def pop(self, tick: int) -> tuple[Request, int]:
        """The sequence that ends first is taken out when it ends. Returns it and the tokens in its KV blocks."""
        request = heappop(self.heap)[2]
        kept = self._left(request, len(request.gains))
        request.given = request.output
        return request, kept

    def gained(self, request: Request, tick: int) -> int:
        """Tokens that a sequence gains in the step at this tick; the last step is cut to the answer's length."""
        at = tick - request.joined
        before = int(request.gains[at])
        if at + 1 < len(request.gains):
            return int(request.gains[at + 1]) - before
        return request.output - request.given - before

    def drop(self, request: Request, tick: int) -> int:
        """A sequence is taken out before the step at `tick`. Returns the tokens in its KV blocks."""
        self.heap[:] = [entry for entry in self.heap if entry[2] is not request]
        heapify(self.heap)
        taken = tick - request.joined
        self._add(request, tick, request.prompt + request.given, -1)
        kept = self._left(request, taken)
        request.given += int(request.gains[taken])
        request.steps += taken
        return kept

    def _left(self, request: Request, taken: int) -> int:
        """A sequence leaves after so many steps since it joined; `given` is still what it was then."""
        context = request.prompt + request.given
        kept = context - 1
        if taken:
            kept = context + int(request.gains[taken - 1]) + self._speculation.draft_tokens
        if self.block_tokens:
            self._held -= -(-kept // self.block_tokens)
        return kept

    def growth_of_one(self, tick: int) -> int:
        """The same as growth(tick, 1)."""
        return int(self._blocks[tick - self._base]) - self._held

    def growth(self, tick: int, steps: int) -> int:
        """KV blocks that the steps from `tick`, the next one, on need beyond those that are held."""
        return int(self._blocks[tick - self._base + steps - 1]) - self._held

    def steps_that_fit(self, tick: int, steps: int, free: int) -> int:
        """How many of so many steps fit into so many free blocks; the first does."""
        if self.growth(tick, steps) <= free:
            return steps
        begin = tick - self._base
        return int(np.searchsorted(self._blocks[begin : begin + steps], self._held + free, side="right"))

    def plan(self, tick: int, steps: int, base_fs: int, context_fs: int) -> tuple[int, int]:
        """Begin a run; see DecodeBatch. Long runs are cut, and where 64 bits would not do the run is one step."""
        steps = min(steps, _LONGEST)
        begin = tick - self._base
        context = self._context[begin : begin + steps]
        if (base_fs + context_fs * int(context.max())) * steps > _EXACT_FS:
            steps = 1
            self._run = np.array([base_fs + context_fs * int(context[0])], dtype=object)
        else:
            self._run = np.cumsum(base_fs + context_fs * context)
        return steps, int(self._run[-1])

    def run_fs(self, steps: int) -> int:
        """How long the first steps of the run take."""
        return int(self._run[steps - 1])

    def steps_reaching(self, fs: int) -> int:
        """The fewest steps of the run that take so long or longer."""
        return int(np.searchsorted(self._run, fs)) + 1

    def advance(self, tick: int, steps: int) -> None:
        """So many steps from `tick` on were taken."""
        if self.block_tokens:
            self._held = int(self._blocks[tick - self._base + steps - 1])


def _moved(values: Int64, past: int, size: int) -> Int64:
    """What is not past, at the beginning of an array of this size or of as much as it needs."""
    kept = values[past:]
    moved = np.zeros(max(size, len(kept)), np.int64)
    moved[: len(kept)] = kept
    return moved
