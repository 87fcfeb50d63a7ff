"""One seed, many streams: uniform, reproducible, and apart from each other."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload.streams import CHUNK, Stream, chunk_sizes
from tests.workload.cases import CRITICAL, SEEDS, kolmogorov


@given(st.lists(st.integers(0, 50), max_size=20))
def test_asking_in_pieces_gives_the_same_numbers(pieces: list[int]):
    """What is asked for at once does not change what comes."""
    stream = Stream(5)
    together = Stream(5).uniforms(sum(pieces))
    assert np.concatenate([np.empty(0), *(stream.uniforms(piece) for piece in pieces)]).tolist() == together.tolist()


def test_numbers_are_uniform():
    """100 seeds against a test of uniformity; chance of a false alarm about 3e-7."""
    for seed in SEEDS:
        u = Stream(seed).uniforms(2000)
        assert kolmogorov(u, u) < CRITICAL


def test_numbers_lie_strictly_between_zero_and_one():
    """Logarithms and quantiles are defined for all of them, even for the ends of what 64 bits can give."""
    stream = Stream(0)
    stream._bits = _Ends()  # type: ignore[assignment]
    assert stream.uniforms(2).tolist() == [2.0**-54, 1 - 2.0**-53]


class _Ends:
    def random_raw(self, count: int):
        return np.array([0, 2**64 - 1], np.uint64)


def test_a_table_is_read_row_by_row():
    """Rows are requests: asking for more rows leaves the first ones as they were."""
    assert Stream(1).table(3, 2).T.ravel().tolist() == Stream(1).uniforms(6).tolist()


def test_children_differ_from_each_other_and_from_their_parent():
    """Four places, four beginnings."""
    stream = Stream(1)
    firsts = {float(s.uniforms(1)[0]) for s in (stream, stream.child(0), stream.child(1), stream.child(0).child(0))}
    assert len(firsts) == 4


def test_a_child_does_not_depend_on_what_its_parent_gave():
    """Children are named by place, not by order of use."""
    used = Stream(1)
    used.uniforms(100)
    assert used.child(3).uniforms(4).tolist() == Stream(1).child(3).uniforms(4).tolist()


@pytest.mark.parametrize("seed", [-1, 2**64, 10**5000], ids=["below", "above", "far above"])
def test_a_seed_that_is_no_seed_is_refused(seed: int):
    """64 bits, as LoadGen's."""
    with pytest.raises(InputError, match="seed: found"):
        Stream(seed)


def test_chunks_grow_to_their_full_size():
    """Small first, then CHUNK for ever."""
    assert list(islice(chunk_sizes(), 10)) == [64, 128, 256, 512, 1024, 2048, 4096, CHUNK, CHUNK, CHUNK]
