"""One replica written in the plainest way: every step, every sequence, every token. The simulator must agree with it.

No heap, no closed form, no shared code but the draws of speculative decoding. Instants are whole femtoseconds. A prefix
cache is known here only without a limit: the set of all beginnings that were ever computed.
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
    cached: int = -1
    decoding: bool = False


@dataclass
class Naive:
    scheduler: Scheduler
    step_time: StepTime
    now: int = 0
    running: list[Seq] = field(default_factory=list)  # in order of admission
    waiting: list[Seq] = field(default_factory=list)
    steps: int = 0
    known: set[tuple[int, ...]] = field(default_factory=set)
    id_tokens: int = 8

    def run(self, requests: list[tuple[int, int, int, int, tuple[int, ...]]]) -> list[Seq]:
        """(arrival in fs, prompt, output, priority, ids of the prompt's blocks) in order of arrival."""
        intake = round(self.scheduler.intake_s * FS_PER_S)
        priority = self.scheduler.policy == "priority"
        every = [
            Seq(n, (rank if priority else 0, n), at + intake, prompt, output, ids=ids)
            for n, (at, prompt, output, rank, ids) in enumerate(requests)
        ]
        coming = list(every)
        while coming or self.waiting or self.running:
            if not self.waiting and not self.running:
                self.now = max(self.now, coming[0].ready)
            while coming and coming[0].ready <= self.now:
                self.waiting.append(coming.pop(0))
            self.step()
        return every

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.scheduler.block_tokens)

    def free(self) -> int:
        limit = self.scheduler.kv_blocks
        return 1 << 60 if limit is None else limit - sum(s.blocks for s in self.running)

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
        kept_all = True
        while True:
            decoders = [one for one in self.running if one.decoding]
            needed = sum(max(0, self.blocks_for(one.kv + 1 + draft) - one.blocks) for one in decoders)
            if needed <= self.free() or not decoders:
                break
            victim = max(self.running, key=lambda one: one.key)
            self.running.remove(victim)
            victim.kv = victim.blocks = 0
            victim.decoding = False
            victim.preempted += 1
            self.waiting.append(victim)
            kept_all = False
        for one in decoders:
            one.blocks = max(one.blocks, self.blocks_for(one.kv + 1 + draft))
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
            found = self.matched(one)
            left = one.prompt + one.given - found
            if s.chunked_prefill and budget <= 0:
                break
            if not s.chunked_prefill and chunks and left > budget:
                break
            spare = s.watermark_blocks if self.running else 0
            if self.blocks_for(left + found) + spare > self.free():
                break
            one.kv = found
            one.cached = found if one.cached < 0 else one.cached
            self.waiting.remove(one)
            self.running.append(one)
            one.blocks = self.blocks_for(left + found) if s.kv_blocks is not None else 0
            chunk = min(left, budget) if s.chunked_prefill else left
            chunks.append((one, chunk))
            budget -= chunk
        return chunks

    def matched(self, one: Seq) -> int:
        """Tokens at the beginning that were computed before; one token is always left to compute."""
        found, unit = 0, max(self.id_tokens, self.scheduler.block_tokens)
        most = (one.prompt + one.given - 1) // unit
        while self.scheduler.prefix_cache and found < most and one.ids[: (found + 1) * unit // 8] in self.known:
            found += 1
            if found * unit // 8 >= len(one.ids) // (unit // 8) * (unit // 8):
                break
        return found * unit

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
        for one, chunk in chunks:
            one.kv += chunk
            unit = max(self.id_tokens, s.block_tokens)
            for blocks in range(1, one.kv // unit + 1):
                if blocks * unit // 8 <= len(one.ids):
                    self.known.add(one.ids[: blocks * unit // 8])
            if one.kv == one.prompt + one.given:
                one.given += 1
                one.decoding = True
                one.first = one.first or self.now
        for one in list(self.running):
            if one.given >= one.output:
                one.last = self.now
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
        total += fs(piece.sequence_s) * n + fs(piece.context_token_s) * sum(one.kv + 1 for one in decoders)
        if s.speculation:
            total += fs(s.speculation.draft_step_s) + fs(s.speculation.draft_sequence_s) * n
        return total
