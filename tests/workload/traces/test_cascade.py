"""Arrivals of a profile: every cell holds what it must, and bursts come out at every scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import Arrivals, Constant, Diurnal, Gamma, Mmpp, Poisson, Sine, State
from caveat.workload.streams import Stream
from caveat.workload.traces.cascade import ArrivalProfile, Cascade, arrivals_of
from caveat.workload.traces.counts import counted, dispersion
from tests.workload.cases import times
from tests.workload.traces.samples import SECOND

PROCESSES: dict[str, Arrivals] = {
    "poisson": Poisson(10.0),
    "gamma": Gamma(10.0, cv=3.0),
    "mmpp": Mmpp((State(40.0, 20.0), State(2.0, 40.0))),
    "diurnal": Diurnal(Sine(10.0, swing=0.9, period_s=5000.0)),
}
SPAN_S = 20_000


def drawn(profile: ArrivalProfile, seed: int = 0, scale: float = 1.0, *, spread: bool = False) -> np.ndarray:
    parts = list(Cascade(profile, Stream(seed), scale, spread).times())
    return np.concatenate([np.empty(0, np.int64), *parts])


@pytest.mark.parametrize("name", PROCESSES)
def test_dispersion_comes_out_at_every_scale(name):
    """Within 15 % from a tenth of a second to ten minutes, though the curve is coarser than most of these."""
    at_ns = times(PROCESSES[name], SPAN_S)
    profile = arrivals_of(at_ns, SPAN_S * SECOND, 0, 10)
    assert len(profile.cells) <= 1536
    replayed = drawn(profile)
    for scale_s in (0.1, 1, 5, 10, 60, 600):
        there, here = (dispersion(counted(t, SPAN_S * SECOND, round(scale_s * SECOND))) for t in (at_ns, replayed))
        assert here == pytest.approx(there, rel=0.15), f"at {scale_s} s"


def test_even_arrivals_stay_even():
    """Clumping below zero: counts that vary far less than Poisson's."""
    at_ns = times(Constant(10.0), SPAN_S)
    replayed = drawn(arrivals_of(at_ns, SPAN_S * SECOND, 0, 10))
    found = dispersion(counted(replayed, SPAN_S * SECOND, 2 * SECOND))
    assert found is not None
    assert found < 0.15


@given(st.lists(st.integers(0, 3000), min_size=10, max_size=300), st.sampled_from([0, SECOND, 3 * SECOND]))
@settings(max_examples=60, deadline=None)
def test_every_cell_stands_for_enough_and_is_replayed_whole(ticks: list[int], grid_ns: int):
    """No cell below the threshold; the same number in the same cells, in order, before the end."""
    at_ns = np.sort(np.array(ticks, np.int64)) * (grid_ns or 70_000_000)
    at_ns -= at_ns[0]
    span_ns = int(at_ns[-1]) + (grid_ns or 70_000_000)
    profile = arrivals_of(at_ns, span_ns, grid_ns, 10)
    replayed = drawn(profile)
    assert all(count >= 10 for _, _, count in profile.cells)
    assert sum(count for _, _, count in profile.cells) == len(ticks) == len(replayed)
    assert (np.diff(replayed) >= 0).all()
    assert replayed[0] >= 0
    assert replayed[-1] < span_ns
    for first, windows, count in profile.cells:
        start, end = first * profile.window_ns, (first + windows) * profile.window_ns
        assert np.count_nonzero((replayed >= start) & (replayed < end)) == count
    if grid_ns:
        assert not np.any(replayed % grid_ns)


def test_more_requests_keep_the_bursts():
    """At ten times the rate a Poisson trace stays Poisson, and the surplus of a bursty one grows tenfold."""
    for name, surplus in (("poisson", 0.0), ("mmpp", 10.0)):
        at_ns = times(PROCESSES[name], SPAN_S)
        profile = arrivals_of(at_ns, SPAN_S * SECOND, 0, 10)
        there, here = (dispersion(counted(t, SPAN_S * SECOND, SECOND)) for t in (at_ns, drawn(profile, scale=10.0)))
        assert there is not None
        assert here is not None
        assert here - 1 == pytest.approx(surplus * (there - 1), rel=0.15, abs=0.1)


def test_where_groups_end_changes_nothing(monkeypatch):
    """Cells drawn one by one give the same times as all together."""
    profile = arrivals_of(times(PROCESSES["mmpp"], 2000.0), 2000 * SECOND, 0, 10)
    together = drawn(profile).tolist()
    monkeypatch.setattr("caveat.workload.traces.cascade._REQUESTS_AT_ONCE", 1)
    assert drawn(profile).tolist() == together


def test_a_stepping_clock_can_be_spread():
    """Requests then fill their steps."""
    at_ns = times(Poisson(5.0), 3000.0) // (3 * SECOND) * (3 * SECOND)
    at_ns -= at_ns[0]
    profile = arrivals_of(at_ns, int(at_ns[-1]) + 3 * SECOND, 3 * SECOND, 10)
    spread = drawn(profile, spread=True)
    assert np.std(spread % (3 * SECOND)) == pytest.approx(3 * SECOND / 12**0.5, rel=0.05)


@pytest.mark.parametrize(
    "change",
    [
        {"cells": ()},
        {"cells": ((5, 1, 10), (5, 1, 10))},
        {"cells": ((0, 1, 0),)},
        {"cells": ((0, 1 << 60, 10),)},
        {"clumping": (2.0,)},
        {"clumping": (float("nan"),)},
        {"clumping": (0.0,) * 50},
        {"tick_ns": 0},
        {"span_ns": -1},
    ],
)
def test_a_profile_that_cannot_be_is_refused(change):
    """Whatever stands in a document from outside."""
    fields = {"span_ns": SECOND, "tick_ns": 1000, "grid": False, "clumping": (0.1,), "cells": ((0, 1, 10),)}
    with pytest.raises(InputError):
        ArrivalProfile(**(fields | change))
