"""KvBlocks: the blocks of keys and values of one replica, what each request holds of them, and who gives room."""

from __future__ import annotations

from caveat.simulator.prefix import PrefixCache
from caveat.simulator.request import NO_CHAIN, Request


class KvBlocks:
    """`capacity` None: no limit, and nothing is counted but what is shared. `weight` KV blocks make one entry of the
    cache. The cache's idle blocks count as free: they are given up when needed."""

    __slots__ = ("block_tokens", "cache", "capacity", "entry_tokens", "peak", "used", "weight")

    def __init__(self, capacity: int | None, block_tokens: int, cache: PrefixCache | None, weight: int) -> None:
        self.capacity = capacity
        self.block_tokens = block_tokens
        self.cache = cache
        self.weight = weight
        self.entry_tokens = weight * block_tokens
        self.used = self.peak = 0

    def free(self) -> int:
        """Blocks that could be used. Only where there is a limit."""
        assert self.capacity is not None
        return self.capacity - self.used

    def blocks(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    def take(self, blocks: int) -> None:
        """Use more blocks, which fit; idle ones are given up where there is no other room."""
        self.used += blocks
        if self.used > self.peak:
            self.peak = self.used
        if self.cache is not None and self.capacity is not None:
            over = self.used + self.cache.idle - self.capacity
            if over > 0:
                self.cache.evict(over)

    def found(self, request: Request) -> int:
        """Entries of the cache with which a request could begin. One token at least is left to compute."""
        if self.cache is None or not request.chain:
            return 0
        return self.cache.match(request.chain, (request.target - 1) // self.entry_tokens)

    def reserve(self, request: Request, found: int, spare: int) -> bool:
        """Take the blocks of a whole prompt, the first of them from the cache. False where they, and `spare` more, are
        not free."""
        cache, fresh = self.cache, 0
        if self.capacity is not None:
            needed = fresh = self.blocks(request.target) - found * self.weight
            if cache is not None and found:
                needed += cache.idle_among(request.chain, found) * self.weight
            if needed + spare > self.free():
                return False
        if cache is not None:
            self.used += cache.take(request.chain, found)
            request.held = request.chain[:found]
        self.take(fresh)
        return True

    def share(self, request: Request, before: int, after: int) -> None:
        """The tokens from `before` to `after` of a prompt are computed: its blocks that are whole now can be shared.
        One that is there already stays this request's own."""
        cache, size = self.cache, self.entry_tokens
        if cache is None:
            return
        for key in request.chain[before // size : after // size]:
            if cache.add(key):
                request.held.append(key)
                if self.capacity is None:
                    self.used += self.weight

    def let_go(self, request: Request, tokens: int) -> None:
        """Give back all blocks of a request that fill so many tokens."""
        held = request.held
        private = 0
        if self.capacity is not None:
            private = self.blocks(tokens) - len(held) * self.weight
        if self.cache is not None:
            self.used -= self.cache.release(held, private)
            request.held = NO_CHAIN
        else:
            self.used -= private
