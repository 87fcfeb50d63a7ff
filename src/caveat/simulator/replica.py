"""Replica: one modelled engine with iteration-level continuous batching, in virtual time.

A step begins at a boundary, where what has come in is scheduled, and ends at the next. Whoever drives a replica calls,
in order of time: `end` at `next_fs` (tokens come out, requests finish), `arrive` for whatever comes up to that instant,
then `begin` (the next step). At one instant ends come before arrivals and arrivals before beginnings, so a user who
answers at once is in the very next step. `advance` does all three for a replica that stands alone.

Steps in which nothing but decoding happens are run as one, up to the first finish or the last step for which there is
KV room; an arrival in between cuts the run at the next boundary. With `stepping` every step is taken by itself. Both
give the same instants to the last femtosecond.

One state machine and the hot path of a million requests: its parts share all of its state, so they stand in one class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from caveat.simulator.costs import StepCost
from caveat.simulator.decoding import DecodeBatch
from caveat.simulator.instants import NEVER_FS, fs_from_s
from caveat.simulator.kv import KvBlocks
from caveat.simulator.prefix import PrefixCache, block_ratio
from caveat.simulator.request import Request
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.speculative import SpeculativeBatch
from caveat.simulator.step_time import StepTime

_UNCHUNKED = 1 << 62

Told = Callable[[Request, int, int], None]
"""Told of tokens as they come out: whose, how many, when they are seen outside."""


class Replica:
    """One engine. Read between calls: `next_fs` (end of the run, or the moment an idle replica wakes), `outstanding`
    requests, `queued_tokens` of prompts not yet computed, `done` (finished requests, to be taken by the driver).
    `told` is called for the tokens of every step by a replica that is stepping, where somebody sets it.

    With `hands_over` a request leaves with its first token, unfinished and holding its blocks until `release`, and is
    in `done`; another replica takes it with `deliver`. `model` is the one that is there; where `others` are given, the
    step times of models from 1 on, it is changed as requests ask, which takes `swap_s`. `plan_block_tokens` is the size
    of the blocks that chains stand for. Counters: see internals.py.
    """

    __slots__ = (
        "_batch",
        "_budget",
        "_chunked",
        "_chunks",
        "_cost",
        "_costs",
        "_decodes",
        "_delivered",
        "_grown",
        "_incoming",
        "_intake_fs",
        "_limit",
        "_limited",
        "_model",
        "_prefill_first",
        "_prefilling",
        "_priority",
        "_room_to_spare",
        "_seats",
        "_spare_tokens",
        "_started_fs",
        "_stepping",
        "_steps",
        "_swap_fs",
        "_swapping_fs",
        "_tick",
        "_waiting",
        "busy_fs",
        "cached_tokens",
        "computed_tokens",
        "done",
        "hands_over",
        "kv",
        "last_model",
        "longest_queue",
        "most_running",
        "next_fs",
        "output_fs",
        "outstanding",
        "preemptions",
        "prompt_tokens",
        "queued_tokens",
        "sequence_steps",
        "steps",
        "swaps",
        "told",
        "turns",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        step_time: StepTime,
        *,
        plan_block_tokens: int = 0,
        stepping: bool = False,
        hands_over: bool = False,
        model: int = 0,
        others: Sequence[StepTime] = (),
        swap_s: float = 0.0,
    ) -> None:
        self._limited = scheduler.kv_blocks is not None
        shared_tokens = plan_block_tokens if scheduler.prefix_cache else 0
        _, weight = block_ratio(shared_tokens, scheduler.block_tokens)
        cache = PrefixCache(weight) if shared_tokens else None
        self.kv = KvBlocks(scheduler.kv_blocks, scheduler.block_tokens, cache, weight)
        block_tokens = scheduler.block_tokens if self._limited else 0
        speculation = scheduler.speculation
        self._batch = SpeculativeBatch(block_tokens, speculation) if speculation else DecodeBatch(block_tokens)
        self._spare_tokens = speculation.draft_tokens if speculation else 0
        self._costs = [StepCost(one, speculation) for one in (step_time, *others)]
        self._cost, self._model, self.last_model = self._costs[0], model, model
        self._swap_fs, self._swapping_fs, self.swaps = fs_from_s(swap_s), 0, 0
        self.hands_over = hands_over
        self._seats, self._limit = scheduler.seats(), scheduler.context_limit()
        self._budget, self._chunked = scheduler.token_budget, scheduler.chunked_prefill
        self._prefill_first, self._room_to_spare = scheduler.prefill_first, scheduler.watermark_blocks
        self._priority = scheduler.policy == "priority"
        self._intake_fs, self.output_fs = fs_from_s(scheduler.intake_s), fs_from_s(scheduler.output_s)
        self._stepping = stepping
        self._incoming: deque[Request] = deque()  # have arrived, may not be scheduled yet
        self._waiting: list[tuple[int, Request]] = []  # a heap by key
        self._delivered: list[tuple[int, Request]] = []  # a heap by key: their prompts were computed elsewhere
        self._prefilling: list[Request] = []
        self._chunks: list[tuple[Request, int]] = []  # prompt tokens of the step under way
        self._tick = self._steps = self._grown = self._started_fs = 0
        self._decodes = False
        self.next_fs = NEVER_FS
        self.told: Told | None = None
        self.done: list[Request] = []
        self.outstanding = self.queued_tokens = 0
        self.steps = self.turns = self.busy_fs = self.sequence_steps = self.preemptions = 0
        self.prompt_tokens = self.computed_tokens = self.cached_tokens = self.longest_queue = self.most_running = 0

    # What others ask

    def refusal(self, request: Request) -> str:
        """Why a request can never be served here; empty where it can. An answer is cut to the context's length."""
        if self._limit is not None:
            if request.prompt >= self._limit:
                return f"the prompt has {request.prompt:,} tokens, {self._limit:,} are the most with its answer"
            request.output = min(request.output, self._limit - request.prompt)
        if self._limited:
            grown = 0 if self.hands_over else request.output - 1 + self._spare_tokens
            needed = self.kv.blocks(request.prompt + grown)
            if needed > (self.kv.capacity or 0):
                return f"it needs {needed:,} KV blocks, there are {self.kv.capacity:,}"
        return ""

    def matched_tokens(self, chain: Sequence[int], now_fs: int) -> int:
        """Tokens at the beginning of a prompt that the prefix cache holds."""
        cache = self.kv.cache
        if cache is None:
            return 0
        self.settle(now_fs)
        return cache.match(chain, len(chain)) * self.kv.entry_tokens

    def free_kv_blocks(self, now_fs: int) -> int | None:
        """KV blocks that nobody uses; None where there is no limit."""
        if not self._limited:
            return None
        self.settle(now_fs)
        return self.kv.free()

    @property
    def waiting(self) -> int:
        """Requests that have arrived and are not being served."""
        return len(self._incoming) + len(self._waiting) + len(self._delivered)

    @property
    def in_step(self) -> bool:
        """Whether a step is under way, as between `begin` and `end`."""
        return self._steps > 0

    # The three calls of a driver

    def arrive(self, request: Request, now_fs: int) -> None:
        """A request that is not refused comes in. `key` orders it; it may be scheduled after the intake."""
        request.ready_fs = ready_fs = now_fs + self._intake_fs
        self.last_model = request.model
        self._incoming.append(request)
        self.outstanding += 1
        self.queued_tokens += request.prompt
        if not self._steps:
            self.next_fs = min(self.next_fs, ready_fs)
        elif self._steps > 1 and ready_fs < self.next_fs and self._could_join():
            self._cut(ready_fs)

    def deliver(self, request: Request, now_fs: int) -> None:
        """A request comes whose prompt and first token were computed elsewhere. It is among `outstanding` already."""
        heappush(self._delivered, (request.key, request))
        if not self._steps:
            self.next_fs = min(self.next_fs, now_fs)
        elif self._steps > 1 and len(self._batch.heap) < self._seats:
            self._cut(now_fs)

    def release(self, request: Request, now_fs: int) -> None:
        """The blocks of a request that was handed over are free; who waited for them may come in."""
        self.kv.let_go(request, request.target)
        if not self._steps and self._waiting:
            self.next_fs = min(self.next_fs, now_fs)

    def _could_join(self) -> bool:
        """Whether a newcomer could change the step: not behind others that wait, and not without a free seat."""
        return (self._priority or not self._waiting) and len(self._batch.heap) < self._seats

    def _cut(self, ready_fs: int) -> None:
        """End the run under way at the first boundary at or after an instant."""
        self._steps = self._batch.steps_reaching(ready_fs - self._started_fs)
        self.next_fs = self._started_fs + self._batch.run_fs(self._steps)

    def settle(self, now_fs: int) -> None:
        """Take the KV blocks of all steps that have begun before now: what a run saves doing one by one."""
        if self._steps > 1 and self._limited:
            begun = self._batch.steps_reaching(now_fs - self._started_fs)
            self._grow(min(begun, self._steps))

    def end(self, now_fs: int) -> None:
        """The step or run ends at `next_fs`: its tokens come out. An idle replica only wakes."""
        steps = self._steps
        self.next_fs = NEVER_FS
        if not steps:
            return
        self._steps = 0
        self.steps += steps
        self.busy_fs += now_fs - self._started_fs
        if self._decodes:
            batch = self._batch
            if self._limited and steps > 1:
                self._grow(steps)
            self.sequence_steps += steps * len(batch.heap)
            if self.told is not None:
                for _, _, request in batch.heap:
                    self.told(request, batch.gained(request, self._tick), now_fs + self.output_fs)
            batch.advance(self._tick, steps)
            self._tick = tick = self._tick + steps
            heap = batch.heap
            while heap and heap[0][0] <= tick:
                request, tokens = batch.pop(tick)
                self._finish(request, tokens, now_fs)
        if self._chunks:
            self._computed(now_fs)

    def begin(self, now_fs: int) -> None:
        """The next step begins; with nothing to do the replica waits for what comes in."""
        incoming, waiting = self._incoming, self._waiting
        while incoming and incoming[0].ready_fs <= now_fs:
            request = incoming.popleft()
            heappush(waiting, (request.key, request))
        if len(waiting) > self.longest_queue:
            self.longest_queue = len(waiting)
        heap = self._batch.heap
        self._started_fs, self._grown, self._chunks = now_fs, 0, []
        if self._delivered:
            self._take_in()
        admits = True
        if self._prefill_first:
            if waiting or self._prefilling:
                self._fill(self._budget, True, now_fs)
            self._decodes = not self._chunks and bool(heap)
            if self._decodes and self._limited:
                admits = self._make_room()
        else:
            if heap and self._limited:
                admits = self._make_room()
            self._decodes = bool(heap)
            if self._prefilling or (waiting and admits):
                self._fill(self._budget - len(heap) * self._cost.width, admits, now_fs)
        if self._chunks or heap:
            self._start(now_fs, admits)
        elif incoming:
            self.next_fs = incoming[0].ready_fs

    def advance(self, until_fs: int) -> None:
        """Run alone up to an instant: every end up to it, and the step that begins there."""
        while self.next_fs <= until_fs:
            now_fs = self.next_fs
            self.end(now_fs)
            self.begin(now_fs)

    def cancel(self, request: Request) -> None:
        """Forget a request that is here and not finished. Only while no step is under way, as an engine would."""
        self.outstanding -= 1
        if request in self._prefilling:
            self._prefilling.remove(request)
            self.kv.let_go(request, request.target)
        elif any(entry[2] is request for entry in self._batch.heap):
            self.kv.let_go(request, self._batch.drop(request, self._tick))
            return
        elif request in self._incoming:
            self._incoming.remove(request)
        else:
            self._waiting = [entry for entry in self._waiting if entry[1] is not request]
            heapify(self._waiting)
        self.queued_tokens -= request.target - request.computed

    def abandon(self, now_fs: int) -> list[Request]:
        """The replica fails: everything on it is lost. Returns the requests that were under way, as they came."""
        self._count_whole_steps(now_fs)
        lost = [*self._incoming, *(r for _, r in self._waiting), *(r for _, r in self._delivered), *self._prefilling]
        lost += [entry[2] for entry in self._batch.heap]
        for entry in list(self._batch.heap):
            self._batch.drop(entry[2], self._tick)
        self._incoming.clear()
        self._waiting.clear()
        self._delivered.clear()
        self._prefilling.clear()
        self._chunks, self._swapping_fs = [], 0
        self._steps, self.next_fs, self.outstanding, self.queued_tokens, self.kv.used = 0, NEVER_FS, 0, 0, 0
        if self.kv.cache is not None:
            self.kv.cache.forget()
        lost.sort(key=_key)
        for request in lost:
            request.restart()
        return lost

    def forget(self) -> None:
        """Nothing is left in the prefix cache: an idle replica is switched off."""
        if self.kv.cache is not None:
            self.kv.cache.forget()

    # Inside

    def _count_whole_steps(self, now_fs: int) -> None:
        """Count the steps of a run that ended before it was broken off; the one under way counts for nothing."""
        if not self._steps or not self._decodes or self._chunks:
            return
        self.settle(now_fs)
        batch = self._batch
        whole = batch.steps_reaching(now_fs - self._started_fs + 1) - 1
        if whole > 0:
            self.steps += whole
            self.busy_fs += batch.run_fs(whole)
            self.sequence_steps += whole * len(batch.heap)

    def _take_in(self) -> None:
        """What was computed elsewhere decodes at once, where a seat and blocks are free; nobody overtakes another."""
        delivered, waiting, batch, kv = self._delivered, self._waiting, self._batch, self.kv
        seats = self._seats - len(batch.heap) - len(self._prefilling)
        while delivered and seats > 0 and not (waiting and waiting[0][0] < delivered[0][0]):
            request, spare = delivered[0][1], 0
            if self._limited:  # room for the next step of all, so that nobody is preempted for it
                spare = kv.blocks(request.target + 1 + self._spare_tokens) - kv.blocks(request.target)
                if batch.heap:
                    spare += batch.growth_of_one(self._tick) + self._room_to_spare
            if not kv.reserve(request, 0, spare):
                return
            heappop(delivered)
            batch.join(request, self._tick)
            seats -= 1

    def _swap(self, model: int) -> None:
        """Another model takes the place of the one that is there. Nothing is under way."""
        self._model, self._cost, self._swapping_fs = model, self._costs[model], self._swap_fs
        self.swaps += 1
        self.forget()

    def _start(self, now_fs: int, admits: bool) -> None:
        """Say when the step that was put together ends, or the run."""
        self.turns += 1
        batch = self._batch
        n = len(batch.heap) if self._decodes else 0
        if self._chunks:
            self._steps = 1
            self.next_fs = now_fs + self._step_fs(n) + self._swapping_fs
            self._swapping_fs = 0
            return
        cost = self._cost
        step_fs, _, _, sequence_fs, context_fs = cost.only or cost.of(n * cost.width)
        steps = 1 if self._stepping or not admits else batch.heap[0][0] - self._tick
        if self._limited and steps > 1:
            steps = batch.steps_that_fit(self._tick, steps, self.kv.free() + self._grown)
        self._steps, run_fs = batch.plan(self._tick, steps, step_fs + sequence_fs * n, context_fs)
        self.next_fs = now_fs + run_fs
        incoming = self._incoming
        if incoming and self._steps > 1 and incoming[0].ready_fs < self.next_fs and self._could_join():
            self._cut(incoming[0].ready_fs)

    def _step_fs(self, n: int) -> int:
        """How long a step with the chosen chunks takes."""
        tokens = pairs = 0
        for request, chunk in self._chunks:
            tokens += chunk
            pairs += chunk * request.computed + chunk * (chunk - 1) // 2
        cost = self._cost
        step_fs, token_fs, pair_fs, sequence_fs, context_fs = cost.only or cost.of(n * cost.width + tokens)
        context = self._batch.context_at(self._tick) if n else 0
        self.computed_tokens += tokens
        if len(self._prefilling) + len(self._batch.heap) > self.most_running:
            self.most_running = len(self._prefilling) + len(self._batch.heap)
        return step_fs + token_fs * tokens + pair_fs * pairs + sequence_fs * n + context_fs * context

    def _fill(self, budget: int, admits: bool, now_fs: int) -> None:
        """Choose the prompt tokens of a step: those under way first, then from the queue."""
        chunks, chunked = self._chunks, self._chunked
        for request in self._prefilling:
            left = request.target - request.computed
            chunk = left if left <= budget or not chunked else budget
            if chunk <= 0:
                return
            chunks.append((request, chunk))
            budget -= chunk
        waiting, prefilling = self._waiting, self._prefilling
        seats = self._seats - len(self._batch.heap) - len(prefilling)
        while admits and waiting and seats > 0 and (budget > 0 or not (chunked or chunks)):
            request = waiting[0][1]
            if request.model != self._model:
                if self._batch.heap or prefilling:
                    break
                self._swap(request.model)
            left = self._admit(request, _UNCHUNKED if chunked or not chunks else budget, now_fs)
            if not left:
                break
            heappop(waiting)
            prefilling.append(request)
            seats -= 1
            chunk = left if left <= budget or not chunked else budget
            chunks.append((request, chunk))
            budget -= chunk

    def _admit(self, request: Request, most: int, now_fs: int) -> int:
        """Take KV blocks for a whole prompt. Returns the tokens that are left to compute, 0 where it has to wait."""
        target, kv = request.target, self.kv
        found = kv.found(request)
        left = target - found * kv.entry_tokens
        spare = self._room_to_spare if self._prefilling or self._batch.heap else 0
        if left > most or not kv.reserve(request, found, spare):
            return 0
        request.computed = target - left
        if request.cached < 0:
            request.cached = target - left
            request.admitted_fs = now_fs
            self.prompt_tokens += request.prompt
            self.cached_tokens += target - left
        self.queued_tokens -= target - left
        return left

    def _computed(self, now_fs: int) -> None:
        """The step's prompt tokens are computed: blocks may be shared, and whole prompts give a token."""
        whole = 0
        for request, chunk in self._chunks:
            before = request.computed
            request.computed = after = before + chunk
            self.queued_tokens -= chunk
            if request.chain:
                self.kv.share(request, before, after)
            if after == request.target:
                whole += 1
                self._token(request, now_fs)
        del self._prefilling[:whole]  # all but the last chunk end a prompt, in the order of the list
        self._chunks = []

    def _token(self, request: Request, now_fs: int) -> None:
        """A prompt is whole: its step gives a token."""
        request.given += 1
        if request.given == 1:
            request.first_fs = now_fs + self.output_fs
        if self.told is not None:
            self.told(request, 1, now_fs + self.output_fs)
        if request.given >= request.output:
            self._finish(request, request.target, now_fs)
        elif self.hands_over:
            self.outstanding -= 1
            self.done.append(request)
        else:
            self._batch.join(request, self._tick)

    def _finish(self, request: Request, kv_tokens: int, now_fs: int) -> None:
        request.last_fs = now_fs + self.output_fs
        self.kv.let_go(request, kv_tokens)
        self.outstanding -= 1
        self.done.append(request)

    def _grow(self, steps: int) -> None:
        """Take the blocks that the first steps of the run need."""
        grown = self._batch.growth(self._tick, steps)
        if grown > self._grown:
            self.kv.take(grown - self._grown)
            self._grown = grown

    def _make_room(self) -> bool:
        """Take the blocks of the next decode step; preempt the last arrivals until they fit. False if any was."""
        batch, kv, tick = self._batch, self.kv, self._tick
        grown, kept_all = batch.growth_of_one(tick), True
        while grown > kv.free():
            self._preempt()
            kept_all = False
            if not batch.heap:
                return False
            grown = batch.growth_of_one(tick)
        if grown:
            kv.take(grown)
            self._grown = grown
        return kept_all

    def _preempt(self) -> None:
        """The least urgent, then latest, of all under way goes back to the queue and loses what was computed."""
        request = max((entry[2] for entry in self._batch.heap), key=_key)
        last = max(self._prefilling, key=_key) if self._prefilling else request
        if last.key > request.key:
            request = last
            self._prefilling.remove(request)
            kv_tokens = request.target
            self.queued_tokens += request.computed
        else:
            kv_tokens = self._batch.drop(request, self._tick)
            request.target = request.prompt + request.given
            self.queued_tokens += request.target
        self.kv.let_go(request, kv_tokens)
        request.computed = 0
        request.preemptions += 1
        self.preemptions += 1
        heappush(self._waiting, (request.key, request))


def _key(request: Request) -> int:
    return request.key
