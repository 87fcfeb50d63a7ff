"""Clocks that step, rows that repeat, ids that are no prefixes."""

import numpy as np
import pytest

from caveat.workload import Constant, Poisson
from caveat.workload.traces.audit import audited, on_grid, time_grid_ns
from caveat.workload.traces.findings import Findings
from tests.workload.cases import times
from tests.workload.traces.samples import SECOND, codes, recording


@pytest.mark.parametrize("step_s", [0.5, 1, 3, 60])
def test_a_clock_that_steps_is_found(step_s):
    """Also when some of its ticks are late, or many hold nothing."""
    at_ns = times(Poisson(2.0), 2000.0)
    stepped = (at_ns // round(step_s * SECOND)) * round(step_s * SECOND)
    late = stepped + np.where(np.arange(len(stepped)) % 3 == 0, 1_000_000, 0)
    assert time_grid_ns(stepped - stepped[0]) == step_s * SECOND
    assert time_grid_ns(np.sort(late - late[0])) == step_s * SECOND


@pytest.mark.parametrize("process", [Poisson(2.0), Constant(3.0)], ids=lambda one: one.words())
def test_a_fine_clock_is_no_grid(process):
    """Nor are even gaps: nobody shares a step."""
    at_ns = times(process, 2000.0)
    assert time_grid_ns(at_ns - at_ns[0]) == 0
    milliseconds = at_ns // 1_000_000 * 1_000_000
    assert time_grid_ns(milliseconds - milliseconds[0]) == 0


def test_times_move_to_the_nearest_step():
    """A tick that is late by a millisecond stays in its second."""
    assert on_grid(np.array([0, 2_999_000_000, 6_001_000_000]), 3 * SECOND).tolist() == [0, 3 * SECOND, 6 * SECOND]


def test_what_is_strange_in_the_whole_is_reported():
    """A row that repeats another in every field; a known block after a new one."""
    findings = Findings("test")
    lists = [[1, 2], [1, 2], [3, 2], [1, 5]]
    audited(recording([0, 0, 5, 9], [40, 40, 40, 40], blocks=lists), findings)
    assert codes(findings.problems()) == {"rows-twice": [None], "blocks-not-a-prefix": [None]}


def test_requests_that_all_came_at_once_are_reported():
    """Only their lengths can be used."""
    findings = Findings("test")
    audited(recording([0, 0, 0], [1, 2, 3]), findings)
    assert codes(findings.problems()) == {"time-zero": [None]}


def test_repeats_have_their_lines():
    """The later one of each pair, by its place in the file."""
    findings = Findings("test")
    trace = recording([0, 5, 5, 5, 9, 9], [1, 2, 3, 2, 4, 4])
    audited(trace, findings, lambda places: 100 + places)
    assert codes(findings.problems()) == {"rows-twice": [103, 105]}
