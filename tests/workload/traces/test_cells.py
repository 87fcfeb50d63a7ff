"""Boxes that keep what goes together."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.workload.traces.axis import axis_of
from caveat.workload.traces.cells import boxes_of, weights_of

PAIRS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=10, max_size=300)


@given(PAIRS, st.integers(10, 40))
@settings(max_examples=60, deadline=None)
def test_boxes_hold_every_request_and_never_too_few(pairs: list[tuple[int, int]], fewest: int):
    """And each axis' own counts come out of the boxes' weights."""
    columns = np.array(pairs).T
    made = [axis_of(column, 10) for column in columns]
    boxes = np.array(boxes_of([bins for _, bins in made], [axis for axis, _ in made], 10, fewest))
    assert boxes[:, -1].min() >= 10
    assert boxes[:, -1].sum() == len(pairs)
    for place, (axis, bins) in enumerate(made):
        first, last = boxes[:, 2 * place], boxes[:, 2 * place + 1]
        assert first.min() == bins.min()
        assert last.max() == bins.max()
        sums = np.append(0.0, weights_of(axis, first, last, boxes[:, -1]))
        given_counts = np.zeros(len(axis.bins))
        for low, high, count in zip(first, last, boxes[:, -1], strict=True):
            spread = np.diff(sums[low : high + 2])
            given_counts[low : high + 1] += count * spread / spread.sum()
        wanted = np.array([count for *_, count in axis.bins])
        assert np.abs(given_counts - wanted).max() <= max(2.0, 0.1 * wanted.max())
