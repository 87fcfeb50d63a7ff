"""The prefix cache: chain ids, sharing, and who is given up first, beside a list of blocks written out one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.simulator.kv import KvBlocks
from caveat.simulator.prefix import PrefixCache, block_ratio, chained


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(1, 4))
def test_a_chain_id_stands_for_all_before_it(ids, every):
    """Equal beginnings have equal chains, a changed block changes all after it."""
    chain = chained(ids, every)
    assert len(chain) == len(ids) // every and all(key >= 0 for key in chain)
    assert chained([*ids, 7], every)[: len(chain)] == chain
    if chain:
        other = chained([ids[0] ^ 1, *ids[1:]], every)
        assert not set(other) & set(chain)


def test_ids_of_one_hash_have_chains_of_their_own():
    """Python gives -1 and -2 one hash; and a negative id is none of its positive twin."""
    assert len({chained([number])[0] for number in (-3, -2, -1, 0, 1, 2, 3)}) == 7


def test_idle_blocks_go_as_soon_as_all_is_taken_and_not_before():
    """Five blocks, two of them idle with a name: with three in use all are there, with a fourth an idle one goes."""
    cache = PrefixCache(1)
    kv = KvBlocks(5, 1, cache, 1)
    chain = chained([1, 2])
    kv.used = 2
    for key in chain:
        cache.add(key)
    kv.used -= cache.release(list(chain), 0)
    kv.take(3)
    assert (kv.used, cache.idle, cache.match(chain, 2)) == (3, 2, 2)
    kv.take(1)
    assert (kv.used, cache.idle, cache.match(chain, 2), kv.peak) == (4, 1, 1, 4)


def test_blocks_of_two_sizes_go_together_where_one_divides_the_other():
    """512 and 16: an entry is 32 KV blocks. 16 and 64: four of the plan's are one entry."""
    assert block_ratio(512, 16) == (1, 32)
    assert block_ratio(16, 64) == (4, 1)
    assert block_ratio(0, 16) == (1, 1)
    with pytest.raises(UsageError, match="expected that one divides the other") as raised:
        block_ratio(24, 16)
    assert "24" in raised.value.next


class Line:
    """Idle blocks in a plain list, the first to go in front; None is a block without a name."""

    def __init__(self):
        self.uses = {}
        self.idle = []

    def match(self, chain):
        found = 0
        while found < len(chain) and (chain[found] in self.uses or chain[found] in self.idle):
            found += 1
        return found

    def take(self, keys):
        for key in keys:
            if key in self.idle:
                self.idle.remove(key)
            self.uses[key] = self.uses.get(key, 0) + 1

    def add(self, key):
        if key in self.uses or key in self.idle:
            return False
        self.uses[key] = 1
        return True

    def release(self, held, private):
        self.idle += [None] * private
        for key in reversed(held):
            self.uses[key] -= 1
            if not self.uses[key]:
                del self.uses[key]
                self.idle.append(key)

    def evict(self, blocks):
        del self.idle[:blocks]


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=5), st.integers(0, 4), st.integers(0, 6)), max_size=30))
def test_it_is_a_line_of_idle_blocks(requests):
    """Requests take what they find, add the rest, some are let go, some room is taken: same state at every moment."""
    cache, line, held_by = PrefixCache(1), Line(), []
    for ids, private, room in requests:
        chain = chained(ids)
        found = cache.match(chain, len(chain))
        assert found == line.match(chain)
        assert cache.idle_among(chain, found) == sum(key in line.idle for key in chain[:found])
        cache.take(chain, found)
        line.take(chain[:found])
        held = chain[:found]
        for key in chain[found:]:
            if line.add(key):
                held.append(key)
                assert cache.add(key)
            else:
                assert not cache.add(key)
        held_by.append((held, private))
        if room % 2:
            cache.release(*held_by[0])
            line.release(*held_by.pop(0))
        given_up = min(room, cache.idle)
        cache.evict(given_up)
        line.evict(given_up)
        assert cache.idle == len(line.idle)
        assert len(cache) == len(line.uses) + sum(key is not None for key in line.idle)
    for held, private in held_by:
        cache.release(held, private)
        line.release(held, private)
    assert cache.idle == len(line.idle)


def test_of_one_request_the_deepest_block_goes_first():
    """A parent outlives its children, and what was used last outlives what was used before."""
    cache = PrefixCache(1)
    old, new = chained([1, 2]), chained([3, 4])
    for chain in (old, new):
        for key in chain:
            cache.add(key)
        cache.release(list(chain), 1)
    cache.evict(2)
    assert (cache.match(old, 2), cache.match(new, 2)) == (1, 2)
    cache.evict(3)
    assert (cache.match(old, 2), cache.match(new, 2)) == (0, 1)


def test_changes_tell_what_came_and_went():
    """A router's picture, replayed."""
    cache = PrefixCache(2)
    cache.changes = []
    chain = chained([1, 2])
    cache.add(chain[0])
    cache.add(chain[1])
    cache.release(list(chain), 0)
    cache.evict(1)
    assert cache.changes == [(chain[0], True), (chain[1], True), (chain[1], False)]
    cache.forget()
    assert cache.changes[-1] == (chain[0], False) and cache.idle == 0 == len(cache)
