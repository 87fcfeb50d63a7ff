"""PrefixCache: whole blocks of computed prompts, shared between prompts that begin alike.

A block is known by its chain id, a hash over its own id and all before it, so that equal chain ids mean equal
beginnings and the tree of prefixes is one flat table. Blocks in use are counted; idle ones stay until their room is
needed, the least recently used first, and of one request the deepest first, so that a parent outlives its children.
Blocks that nobody can share (answers, unfinished blocks, text without an id) wait in the same line under no name:
their room is reused in turn, as in an engine with one list of free blocks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from caveat.errors import UsageError

_MASK = (1 << 63) - 1


def chained(ids: Sequence[int], every: int = 1) -> list[int]:
    """Chain ids of a prompt's blocks: each stands for its block and all before it. `every`: of so many blocks that
    make one of the cache's, only the last is listed. Not negative."""
    parent = 0
    chain = []
    for number in ids:
        # -1 and -2 have one hash, so what is negative is hashed as a tuple of another form
        parent = hash((parent, number) if number >= 0 else (parent, -number, 1)) & _MASK
        chain.append(parent)
    return chain if every == 1 else chain[every - 1 :: every]


def block_ratio(plan_tokens: int, kv_tokens: int) -> tuple[int, int]:
    """(blocks of the plan in one entry of the cache, KV blocks in one entry). UsageError where neither divides."""
    if not plan_tokens:
        return 1, 1
    if plan_tokens % kv_tokens == 0:
        return 1, plan_tokens // kv_tokens
    if kv_tokens % plan_tokens == 0:
        return kv_tokens // plan_tokens, 1
    raise UsageError(
        f"prefix cache: found blocks of {plan_tokens} tokens in the plan and of {kv_tokens} in the cache, "
        "expected that one divides the other",
        next=f"set block_tokens to {plan_tokens}",
    )


class PrefixCache:
    """The shared blocks of one replica. `weight` is the number of KV blocks in one entry.

    `used` KV blocks are counted by the caller; `idle` is how many more hold something that can be given up. `changes`
    notes (chain id, whether it is there) for a router that looks at snapshots; None: nobody does.
    """

    __slots__ = ("_idle", "_nameless", "_uses", "changes", "evicted", "idle", "weight")

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.idle = self.evicted = 0
        self._uses: dict[int, int] = {}
        self._idle: OrderedDict[int, int] = OrderedDict()  # chain id, or a negative number: KV blocks
        self._nameless = 0
        self.changes: list[tuple[int, bool]] | None = None

    def __len__(self) -> int:
        """Entries with a name."""
        return len(self._uses) + sum(key >= 0 for key in self._idle)

    def match(self, chain: Sequence[int], most: int) -> int:
        """How many of the first `most` entries of a chain are there, up to the first that is not."""
        uses, idle = self._uses, self._idle
        found = 0
        for key in chain:
            if found >= most or not (key in uses or key in idle):
                break
            found += 1
        return found

    def idle_among(self, chain: Sequence[int], found: int) -> int:
        """How many of the first entries nobody uses now: taking them takes room."""
        idle = self._idle
        return sum(key in idle for key in chain[:found])

    def take(self, chain: Sequence[int], found: int) -> int:
        """Use the first entries of a chain. Returns the KV blocks that were idle and are used now."""
        uses, idle = self._uses, self._idle
        woken = 0
        for key in chain[:found]:
            if key in uses:
                uses[key] += 1
            else:
                del idle[key]
                uses[key] = 1
                woken += self.weight
        self.idle -= woken
        return woken

    def add(self, key: int) -> bool:
        """A computed block of one's own becomes shared. False where there is one like it already: it stays private."""
        if key in self._uses or key in self._idle:
            return False
        self._uses[key] = 1
        if self.changes is not None:
            self.changes.append((key, True))
        return True

    def release(self, held: list[int], private: int) -> int:
        """A request lets go of its entries and of so many private KV blocks. Returns the KV blocks no longer used."""
        uses, idle, weight = self._uses, self._idle, self.weight
        freed = private
        if private:
            self._nameless -= 1
            idle[self._nameless] = private
        for key in reversed(held):
            left = uses[key] - 1
            if left:
                uses[key] = left
            else:
                del uses[key]
                idle[key] = weight
                freed += weight
        self.idle += freed
        return freed

    def evict(self, blocks: int) -> None:
        """Give up idle entries until so many KV blocks are free; a nameless one by the block, others whole."""
        idle = self._idle
        while blocks > 0:
            key, held = idle.popitem(last=False)
            if key < 0 and held > blocks:
                idle[key] = held - blocks
                idle.move_to_end(key, last=False)
                held = blocks
            elif key >= 0:
                self.evicted += 1
                if self.changes is not None:
                    self.changes.append((key, False))
            blocks -= held
            self.idle -= held

    def forget(self) -> None:
        """All is lost: the replica has failed."""
        if self.changes is not None:
            self.changes.extend((key, False) for key in [*self._uses, *(k for k in self._idle if k >= 0)])
        self._uses.clear()
        self._idle.clear()
        self.idle = 0
