"""Step models of a model file: pieces, measured, roofline, table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.multipliers import NAMES, Multipliers
from caveat.simulator.posterior import fit
from caveat.simulator.roofline import Roofline, step_time
from caveat.simulator.step_models import MeasuredSteps, Pieces, RooflineSteps, Table, rows_of, text_of
from caveat.simulator.step_time import Piece

REPLICA = Roofline(accelerator="B200", model="llama2-70b", tensor_parallel=1, precision="fp4")


def test_draws_are_written_with_four_digits_and_read_back():
    """To half a unit of the fourth digit."""
    posterior = fit([], np.random.default_rng(1), draws=50)
    rows = rows_of(text_of(posterior), NAMES)
    assert np.array(rows) == pytest.approx(posterior.table(), rel=5e-4)


def test_a_roofline_with_draws_gives_a_step_time_and_an_overhead_for_each():
    """Those of its rows; without draws one, of whose overhead nothing is said."""
    posterior = fit([], np.random.default_rng(1), draws=7)
    steps = RooflineSteps.of(REPLICA, posterior)
    draws = steps.draws_of()
    assert len(draws) == 7
    assert [one.overhead_s for one in draws] == pytest.approx([row[4] for row in posterior.draws], rel=5e-4)
    assert steps.step_time() == step_time(REPLICA.basis(), posterior.multipliers)
    plain = RooflineSteps(replica=REPLICA, multipliers=posterior.multipliers)
    assert [one.overhead_s for one in plain.draws_of()] == [None]


def test_pieces_and_measured_pieces_are_themselves():
    """One draw each where there are none."""
    piece = Piece(step_s=0.01, sequence_s=1e-4)
    assert Pieces(pieces=(piece,)).draws_of()[0].step_time.pieces == (piece,)
    assert MeasuredSteps(piece=piece).draws_of()[0].step_time.pieces == (piece,)


@given(
    step_s=st.floats(1e-4, 0.1),
    sequence_s=st.floats(0, 1e-3),
    context_s=st.floats(0, 1e-6),
    counts=st.lists(st.integers(1, 500), min_size=2, max_size=6, unique=True),
)
def test_a_table_of_an_affine_step_gives_that_step(step_s, sequence_s, context_s, counts):
    """At the measured points and between them, whatever the grid."""

    def seconds(n, context):
        return step_s + sequence_s * n + context_s * context

    cells = tuple((n, n * k, seconds(n, n * k)) for n in counts for k in (10, 100, 1000))
    steps = Table(steps=cells, prompt_token_s=1e-5).step_time()
    for n in (*counts, sum(counts) // len(counts)):
        found = steps.seconds(sequences=n, context_tokens=n * 50)
        assert found == pytest.approx(seconds(n, n * 50), rel=1e-4)


def test_a_table_that_bends_is_followed_from_neighbour_to_neighbour():
    """Level to 8 sequences, then twice as long at 16."""
    cells = ((1, 0, 0.01), (8, 0, 0.01), (16, 0, 0.02))
    steps = Table(steps=cells, prompt_token_s=1e-5).step_time()
    assert [one.from_tokens for one in steps.pieces] == [0, 8]
    assert steps.seconds(sequences=4, context_tokens=0) == pytest.approx(0.01)
    assert steps.seconds(sequences=12, context_tokens=0) == pytest.approx(0.015)
    assert steps.pieces[0].prompt_token_s == 1e-5


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (((1, 0, 0.01),), "found 1 steps, expected from 2"),
        (((1, 0, 0.01), (2, 0, 0.0)), r"steps\[1\]: found 0.0 s"),
        (((1, 0, 0.01), (2, 0, float("nan"))), r"steps\[1\]: found nan s"),
    ],
)
def test_a_table_that_is_none_is_refused(cells, said):
    """With the place."""
    with pytest.raises(InputError, match=said):
        Table(steps=cells, prompt_token_s=0.0)


GOOD = dict.fromkeys(NAMES, "1 2 3")


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        ({"memory": "1"}, "draws: found memory, expected memory, prefill"),
        ({**GOOD, "memory": "1 2"}, "expected as many of each"),
        ({**GOOD, "memory": "1 two 3"}, r"draws\.memory: found text that is no number"),
        ({**GOOD, "memory": "1 -2 3"}, r"draws\.memory: found -2"),
        ({**GOOD, "memory": "1 nan 3"}, r"draws\.memory: found nan"),
        ({**GOOD, "memory": ""}, r"draws\.memory: found 0 numbers"),
        ({**GOOD, "memory": "1 " * 20_000}, r"draws\.memory: found 10001 numbers"),
    ],
)
def test_draws_that_are_none_are_refused(draws, said):
    """The text is named and not repeated."""
    with pytest.raises(InputError, match=said):
        RooflineSteps(
            replica=REPLICA,
            multipliers=Multipliers(memory=1, prefill=1, layer_s=0, sequence_s=0),
            draws=draws,
        )
