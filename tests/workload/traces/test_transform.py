"""Changes to a trace that say what they did."""

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import (
    first_seconds,
    plan_of_recording,
    read_trace,
    scaled_lengths,
    sped_up,
    spread_within_steps,
    thinned,
)
from tests.workload.traces.samples import AZURE, SECOND, needs_traces, recording, rows


def trace(**more):
    return recording([0, SECOND, 2 * SECOND, 3 * SECOND], [100, 200, 40, 33], [10, 0, 30, 4], **more)


def test_every_kth_request_is_kept():
    """With its time."""
    assert [row[:3] for row in rows(thinned(trace(), 2, start=1))] == [(SECOND, 200, 0), (3 * SECOND, 33, 4)]


def test_lengths_are_scaled_and_blocks_with_them():
    """Never below one token, zero stays zero, and shared ids stay shared."""
    made = scaled_lengths(trace(blocks=[[1, 2, 3], [1, 2, 3, 4], [1, 5], [1]], block_tokens=32), input=0.5, output=0.01)
    assert [row[1:3] for row in rows(made)] == [(50, 1), (100, 0), (20, 1), (16, 1)]
    assert made.block_tokens == 16
    assert [row[5] for row in rows(made)] == [[1, 2, 3], [1, 2, 3, 4], [1, 5], [1]]


def test_times_are_divided():
    """Twice as fast is half the time; the step of the clock shrinks too."""
    made = sped_up(trace(grid_ns=SECOND), 2.0)
    assert made.t_ns.tolist() == [0, SECOND // 2, SECOND, 3 * SECOND // 2]
    assert made.source.grid_ns == SECOND // 2


def test_requests_spread_within_their_steps():
    """Each stays within its step; a fine clock is left alone."""
    made = spread_within_steps(recording([0] * 50 + [3 * SECOND] * 50, grid_ns=3 * SECOND))
    assert (made.t_ns // (3 * SECOND)).tolist() == [0] * 50 + [1] * 50
    assert len(set(made.t_ns.tolist())) == 100
    assert spread_within_steps(trace()).source.transformations == ()


def test_every_change_is_recorded_in_order():
    """And stands in the conditions of the plan."""
    made = sped_up(scaled_lengths(thinned(first_seconds(trace(), 3.0), 2), input=0.5), 2.0)
    assert made.source.transformations == (
        "first 3 s",
        "every 2nd request",
        "input x 0.5, output x 1",
        "2 times as fast",
    )
    said = plan_of_recording(made).describe()["dataset"]
    assert said == "trace test (test); first 3 s; every 2nd request; input x 0.5, output x 1; 2 times as fast"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: thinned(t, 0),
        lambda t: thinned(t, 2, start=2),
        lambda t: scaled_lengths(t, input=0.0),
        lambda t: scaled_lengths(t, output=float("nan")),
        lambda t: sped_up(t, -1.0),
        lambda t: first_seconds(t, 0.0),
    ],
)
def test_changes_that_make_no_sense_are_refused(change):
    """Naming the number and its bounds."""
    with pytest.raises(InputError):
        change(trace())


@needs_traces
def test_ten_minutes_of_a_public_trace_become_a_small_plan():
    """The first 600 s, every 10th request, about 100 tokens in and 32 out."""
    made = thinned(first_seconds(read_trace(AZURE).recording, 600.0), 10)
    made = scaled_lengths(made, input=100 / made.input_tokens.mean(), output=32 / made.output_tokens.mean())
    plan = plan_of_recording(made)
    blocks = list(plan.blocks())
    assert sum(map(len, blocks)) == 287
    assert np.mean(blocks[0].input_tokens) == pytest.approx(100, rel=0.02)
    assert np.mean(blocks[0].output_tokens) == pytest.approx(32, rel=0.02)
    assert "every 10th request" in str(plan.describe()["dataset"])
