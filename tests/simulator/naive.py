"""One replica written in the plainest way: every step, every sequence, every token. The simulator must agree with it.

No heap, no closed form, no shared code but the draws of speculative decoding. Instants are whole femtoseconds. Blocks
of keys and values are things in two lists: those that somebody uses, and those that nobody uses and that still hold
something, the first to go in front. A block that can be shared is named by the beginning of a prompt that it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from caveat.simulator.scheduler import Scheduler
from caveat.simulator.speculative import gains
from caveat.simulator.step_time import StepTime

FS_PER_S = 10**15


@dataclass(eq=False)
class Seq:
    number: int
    key: tuple[int, int]
    ready: int
    prompt: int
    output: int
    given: int = 0
    kv: int = 0  # tokens computed
    blocks: int = 0
    step: int = 0
    first: int = 0
    last: int = 0
    preempted: int = 0
    ids: tuple[int, ...] = ()
    held: list[tuple[int, ...]] = field(default_factory=list)  # names of blocks that others may share
    cached: int = -1
    decoding: bool = False
    refused: bool = False


@dataclass
class Naive:
    scheduler: Scheduler
    step_time: StepTime
    now: int = 0
    running: list[Seq] = field(default_factory=list)  # in order of admission
    waiting: list[Seq] = field(default_factory=list)
    steps: int = 0
    users: dict[tuple[int, ...], int] = field(default_factory=dict)  # of blocks with a name
    idle: list[tuple[int, ...] | None] = field(default_factory=list)  # None: one block that nobody can share
    id_tokens: int = 8

    def run(self, requests: list[tuple[int, int, int, int, tuple[int, ...]]]) -> list[Seq]:
        """(arrival in fs, prompt, output, priority, ids of the prompt's blocks) in order of arrival."""
        intake = round(self.scheduler.intake_s * FS_PER_S)
        priority = self.scheduler.policy == "priority"
        every = [
            Seq(n, (rank if priority else 0, n), at + intake, prompt, output, ids=ids)
            for n, (at, prompt, output, rank, ids) in enumerate(requests)
        ]
        limit = self.scheduler.context_limit()
        for one in every:
            one.refused = limit is not None and one.prompt >= limit
            one.output = one.output if limit is None else min(one.output, limit - one.prompt)
        coming = [one for one in every if not one.refused]
        while coming or self.waiting or self.running:
            if not self.waiting and not self.running:
                self.now = max(self.now, coming[0].ready)
            while coming and coming[0].ready <= self.now:
                self.waiting.append(coming.pop(0))
            self.step()
        return every

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.scheduler.block_tokens)

    @property
    def unit(self) -> int:
        """Tokens in what can be shared: a block of the plan's ids, or a KV block where that is larger."""
        return max(self.id_tokens, self.scheduler.block_tokens)

    def weight(self, name: tuple[int, ...] | None) -> int:
        """KV blocks."""
        return 1 if name is None else self.unit // self.scheduler.block_tokens

    def free(self) -> int:
        limit = self.scheduler.kv_blocks
        if limit is None:
            return 1 << 60
        private = sum(one.blocks - sum(map(self.weight, one.held)) for one in self.running)
        return limit - private - sum(map(self.weight, self.users))

    def evict(self) -> None:
        """Give up idle blocks from the front until what is used and what is idle fit."""
        while sum(map(self.weight, self.idle)) > self.free():
            self.idle.pop(0)

    def let_go(self, one: Seq) -> None:
        """It holds nothing any more: what it shared with nobody else stays as long as there is room, deepest first."""
        if self.scheduler.prefix_cache:
            self.idle += [None] * (one.blocks - sum(map(self.weight, one.held)))
        for name in reversed(one.held):
            self.users[name] -= 1
            if not self.users[name]:
                del self.users[name]
                self.idle.append(name)
        one.held, one.blocks = [], 0

    def use(self, one: Seq, name: tuple[int, ...]) -> None:
        if name in self.idle:
            self.idle.remove(name)
        self.users[name] = self.users.get(name, 0) + 1
        one.held.append(name)

    def step(self) -> None:
        s = self.scheduler
        draft = s.speculation.draft_tokens if s.speculation else 0
        chunks: list[tuple[Seq, int]] = []
        if s.prefill_first:
            chunks = self.fill(s.token_budget, True)
            decoders = [] if chunks else [one for one in self.running if one.decoding]
            if decoders:
                self.make_room(draft)
                decoders = [one for one in self.running if one.decoding]
        else:
            kept_all = self.make_room(draft)
            decoders = [one for one in self.running if one.decoding]
            chunks = self.fill(s.token_budget - len(decoders) * (1 + draft), kept_all)
        self.take(decoders, chunks, draft)

    def make_room(self, draft: int) -> bool:
        """Blocks for one more token (and the draft) of each decoding sequence."""
        s, kept_all = self.scheduler, True
        while True:
            decoders = [one for one in self.running if one.decoding]
            needed = sum(max(0, self.blocks_for(one.kv + 1 + draft) - one.blocks) for one in decoders)
            if needed <= self.free() or not decoders:
                break
            victim = max(self.running, key=lambda one: one.key)
            self.running.remove(victim)
            self.let_go(victim)
            victim.kv = 0
            victim.decoding = False
            victim.preempted += 1
            self.waiting.append(victim)
            kept_all = False
        for one in decoders:
            if s.kv_blocks is not None:
                one.blocks = max(one.blocks, self.blocks_for(one.kv + 1 + draft))
        self.evict()
        return kept_all

    def fill(self, budget: int, admits: bool) -> list[tuple[Seq, int]]:
        s = self.scheduler
        chunks: list[tuple[Seq, int]] = []
        for one in self.running:
            if not one.decoding and budget > 0:
                chunk = min(one.prompt + one.given - one.kv, budget)
                chunks.append((one, chunk))
                budget -= chunk
        while admits and self.waiting and len(self.running) < s.seats():
            one = min(self.waiting, key=lambda other: other.key)
            names = self.matched(one)
            found = len(names) * self.unit
            left = one.prompt + one.given - found
            if s.chunked_prefill and budget <= 0:
                break
            if not s.chunked_prefill and chunks and left > budget:
                break
            spare = s.watermark_blocks if self.running else 0
            in_use = sum(self.weight(name) for name in names if name in self.users)
            if self.blocks_for(left + found) - in_use + spare > self.free():
                break
            one.kv = found
            one.cached = found if one.cached < 0 else one.cached
            self.waiting.remove(one)
            self.running.append(one)
            for name in names:
                self.use(one, name)
            one.blocks = self.blocks_for(left + found) if s.kv_blocks is not None else 0
            self.evict()
            chunk = min(left, budget) if s.chunked_prefill else left
            chunks.append((one, chunk))
            budget -= chunk
        return chunks

    def names(self, one: Seq) -> list[tuple[int, ...]]:
        """Of its prompt's blocks that can be shared."""
        ids = self.unit // self.id_tokens
        return [one.ids[:end] for end in range(ids, len(one.ids) + 1, ids)] if self.scheduler.prefix_cache else []

    def matched(self, one: Seq) -> list[tuple[int, ...]]:
        """The beginning that is there; one token is always left to compute."""
        most = (one.prompt + one.given - 1) // self.unit
        names = self.names(one)[:most]
        there = [name in self.users or name in self.idle for name in names]
        return names[: [*there, False].index(False)]

    def take(self, decoders: list[Seq], chunks: list[tuple[Seq, int]], draft: int) -> None:
        """The step itself: how long it takes and which tokens come out."""
        s = self.scheduler
        if not decoders and not chunks:
            return
        self.steps += 1
        self.now += self.duration(decoders, chunks, draft)
        for one in decoders:
            gained = int(gains(s.speculation, one.number, one.step, 1)[0]) if s.speculation else 1
            one.step += 1
            one.given += gained
            one.kv += gained
        for one in sorted(decoders, key=lambda one: one.key):
            self.leave_if_done(one)
        for one, chunk in chunks:
            before, one.kv = one.kv, one.kv + chunk
            for name in self.names(one)[before // self.unit : one.kv // self.unit]:
                if name not in self.users and name not in self.idle:
                    self.use(one, name)
            if one.kv == one.prompt + one.given:
                one.given += 1
                one.decoding = True
                one.first = one.first or self.now
                self.leave_if_done(one)

    def leave_if_done(self, one: Seq) -> None:
        if one.given >= one.output:
            one.last = self.now
            self.let_go(one)
            self.running.remove(one)

    def duration(self, decoders: list[Seq], chunks: list[tuple[Seq, int]], draft: int) -> int:
        s = self.scheduler
        prompt = sum(chunk for _, chunk in chunks)
        n = len(decoders)
        piece = self.step_time.piece(n * (1 + draft) + prompt)

        def fs(x: float) -> int:
            return round(x * FS_PER_S)

        pairs = sum(one.kv + i for one, chunk in chunks for i in range(chunk))
        total = fs(piece.step_s) + fs(piece.prompt_token_s) * (prompt + n * draft) + fs(piece.prompt_pair_s) * pairs
        read = sum(one.kv + 1 for one in decoders)
        total += fs(piece.sequence_s) * n + (fs(piece.context_token_s) + draft * fs(piece.prompt_pair_s)) * read
        if s.speculation:
            total += fs(s.speculation.draft_step_s) + fs(s.speculation.draft_sequence_s) * n
        return total
