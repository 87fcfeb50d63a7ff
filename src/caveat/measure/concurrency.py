"""Concurrency: how many requests were in flight, at any moment and on average."""

from __future__ import annotations

import numpy as np

from caveat.measure.columns import Floats, SampleColumns


def accumulated(at_ns: Floats, starts: Floats, ends: Floats, amounts: Floats) -> Floats:
    """How much had come in by each moment, if every amount came evenly between its start and its end.

    With amounts of `ends - starts` it is the time spent in flight. An amount without length comes at once.
    """
    total = np.zeros(len(at_ns))
    lasting = ends > starts
    rates = amounts[lasting] / (ends - starts)[lasting]
    total += _ramps(at_ns, starts[lasting], rates)
    total -= _ramps(at_ns, ends[lasting], rates)
    return total + _steps(at_ns, starts[~lasting], amounts[~lasting])


def _ramps(at_ns: Floats, begins: Floats, slopes: Floats) -> Floats:
    """Sum of slope * (t - begin) over all that began by t."""
    return _steps(at_ns, begins, slopes) * at_ns - _steps(at_ns, begins, slopes * begins)


def _steps(at_ns: Floats, begins: Floats, heights: Floats) -> Floats:
    """Sum of the heights of all that began by t."""
    places = np.searchsorted(at_ns, begins)
    return np.cumsum(np.bincount(places, weights=heights, minlength=len(at_ns) + 1)[: len(at_ns)])


def in_flight(columns: SampleColumns) -> tuple[Floats, Floats]:
    """(sent, end) of every request of the run that was sent and ended, whatever its phase."""
    sent, end = columns.numbers("sent_ns"), columns.numbers("end_ns")
    known = np.isfinite(sent) & (end >= sent)
    return sent[known], end[known]


def mean_in_flight(starts: Floats, ends: Floats, from_ns: float, to_ns: float) -> float:
    """Requests in flight between two moments, each instant weighing the same."""
    return float(over_time(starts, ends, np.array([from_ns, to_ns]))[0])


def over_time(starts: Floats, ends: Floats, edges_ns: Floats) -> Floats:
    """Mean number in flight between consecutive edges: the curve that a plot shows."""
    return np.diff(accumulated(edges_ns, starts, ends, ends - starts)) / np.diff(edges_ns)


def most_in_flight(starts: Floats, ends: Floats) -> int:
    """The greatest number in flight at one moment. Who ends at the moment another is sent has left."""
    if not len(starts):
        return 0
    starts, ends = np.sort(starts), np.sort(ends)
    here = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="right")
    return int(here.max())
