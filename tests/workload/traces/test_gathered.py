"""Pieces gathered into one recording: the same columns whether they waited in memory or in a file, and their lines."""

import numpy as np
import pytest

from caveat.workload.traces import gathered as module
from caveat.workload.traces.gathered import RowLines, gathered
from tests.workload.traces.samples import recording, rows


@pytest.mark.parametrize("in_memory", [4 << 20, 8])
def test_parts_follow_each_other(in_memory, monkeypatch):
    """Blocks end where they ended; lengths take 32 bits."""
    monkeypatch.setattr(module, "_IN_MEMORY", in_memory)
    first = recording([0, 5], [40, 50], [1, 2], blocks=[[1, 2], [3]], sessions=[0, 1])
    second = recording([9], [60], [3], blocks=[[1]], sessions=[0])
    whole = gathered(iter([first, second]))
    assert whole is not None
    assert rows(whole) == [(0, 40, 1, 0, 0, [1, 2]), (5, 50, 2, 1, 0, [3]), (9, 60, 3, 0, 0, [1])]
    assert whole.input_tokens.dtype == np.int32
    whole.t_ns[:] += 1


def test_no_parts_are_no_recording():
    """Nothing could be read."""
    assert gathered([]) is None


@pytest.mark.parametrize("which", [(True, False, True), (False, True, False), (False, False, True)])
def test_parts_in_which_nobody_has_a_session_fit_between_others(which):
    """Their requests stand alone."""
    parts = [recording([n, n], sessions=[n, n] if has else None) for n, has in enumerate(which)]
    whole = gathered(parts)
    assert whole is not None
    assert whole.session.tolist() == [n if has else -1 for n, has in enumerate(which) for _ in range(2)]


def test_each_request_knows_its_line():
    """Lines that were left out make a gap."""
    lines = RowLines()
    for some in ([2, 3, 4], [7], [8, 9, 20]):
        lines.add(np.array(some))
    assert lines.of(np.arange(7)).tolist() == [2, 3, 4, 7, 8, 9, 20]
    assert lines.of(np.array([6, 0])).tolist() == [20, 2]
