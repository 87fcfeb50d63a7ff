"""Markov-modulated Poisson arrivals: the rate jumps at random between a few states, and arrivals are Poisson in each.

The usual small model of bursts: with an idle and a busy state it is an on/off source. The path of states is one
random curve, and the arrivals follow it as they follow any other.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_RATE_QPS, between, refuse
from caveat.workload.exact import log
from caveat.workload.gaps import ExponentialGaps, renewal_times
from caveat.workload.plan import Int64
from caveat.workload.rates import Segments, check_effort, warp
from caveat.workload.streams import Stream, chunk_sizes

_PATH, _ARRIVALS, _START = range(3)
_MAX_STATES = 64


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate, and how long it lasts in the mean (exponentially distributed).

    rate_qps  requests a second while it lasts; 0 is silence
    mean_s    how long it lasts in the mean
    """

    rate_qps: float
    mean_s: float

    def __post_init__(self) -> None:
        between("mmpp.states: rate_qps", self.rate_qps, 0.0, MAX_RATE_QPS)
        between("mmpp.states: mean_s", self.mean_s, 1e-6, 1e6)


class Mmpp(msgspec.Struct, frozen=True, tag="mmpp", tag_field="kind", forbid_unknown_fields=True):
    """Two or more states; each is followed by any of the others with equal chance.

    The plan begins in a state drawn by the share of time spent in it, so the mean rate holds from the first second.

    states  2 to 64 of them
    """

    states: tuple[State, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.states) <= _MAX_STATES:
            raise refuse("mmpp.states", f"{len(self.states)} states", f"2 to {_MAX_STATES}")
        if not any(state.rate_qps > 0 for state in self.states):
            raise refuse("mmpp.states", "a rate of 0 in each", "a rate above 0 in one state at least")
        mean_hold_s = sum(state.mean_s for state in self.states) / len(self.states)
        check_effort("mmpp.states", 1.0 / (mean_hold_s * self.mean_qps()))
        between("mmpp.states: requests in one stay", mean_hold_s * self.mean_qps(), 0.0, 1e7)

    def mean_qps(self) -> float:
        """Rates weighted by the time spent at them."""
        time_s = sum(state.mean_s for state in self.states)
        return sum(state.rate_qps * state.mean_s for state in self.states) / time_s

    def words(self) -> str:
        """The process for people."""
        states = ", ".join(f"{state.rate_qps:g}/s for {state.mean_s:g} s" for state in self.states)
        return f"mmpp({states})"

    def rate(self) -> float:
        """The mean rate, in requests per second."""
        return self.mean_qps()

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return self.mean_qps() * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        unit = renewal_times(ExponentialGaps(), float(NS_PER_S), stream.child(_ARRIVALS))
        return warp(unit, self._path(stream))

    def _path(self, stream: Stream) -> Iterator[Segments]:
        """The rate as it jumps: stays are exponential, the next state any other."""
        rates = np.array([state.rate_qps for state in self.states])
        means_ns = np.array([state.mean_s for state in self.states]) * NS_PER_S
        count = len(self.states)
        state = self._first_state(stream.child(_START))
        path = stream.child(_PATH)
        for size in chunk_sizes():
            for_stay, for_step = path.table(size, 2)
            steps = 1 + np.floor(for_step * (count - 1)).astype(np.int64)
            states = (state + np.concatenate([[0], np.cumsum(steps)])) % count
            state = int(states[-1])
            stays = np.rint(-log(for_stay) * means_ns[states[:-1]]).astype(np.int64)
            yield Segments(np.maximum(stays, 1), rates[states[:-1]], rates[states[:-1]])

    def _first_state(self, stream: Stream) -> int:
        shares = np.cumsum([state.mean_s for state in self.states])
        return int(np.searchsorted(shares, stream.uniforms(1)[0] * shares[-1], side="right"))
