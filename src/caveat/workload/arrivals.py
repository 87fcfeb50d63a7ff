"""When requests arrive: one record a process, each a pure function of its fields and a stream of randomness.

To add a process: a record with `times`, `expected`, `words` and `rate`, a line in `Process`, and a property test.
Times are nanoseconds from the start of the plan, never going back. `expected` is the mean number of arrivals in a
duration, to the accuracy that a bound on size needs. `rate` is the one rate that was asked for, if there is one.
Processes without times of their own stand in untimed.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_RATE_QPS, MIN_RATE_QPS, at_most_listed, between, increasing
from caveat.workload.gaps import ConstantGaps, ExponentialGaps, GammaGaps, WeibullGaps, renewal_times
from caveat.workload.loadgen_schedule import MAX_SPAN_NS, ScheduleSettings, loadgen_schedule
from caveat.workload.mmpp import Mmpp
from caveat.workload.plan import Int64
from caveat.workload.streams import CHUNK, Stream
from caveat.workload.varying import Diurnal, Ramp, Windows


class Constant(msgspec.Struct, frozen=True, tag="constant", tag_field="kind", forbid_unknown_fields=True):
    """Evenly spaced, the first at 0.

    rate_qps  requests a second
    """

    rate_qps: float

    def __post_init__(self) -> None:
        _check_rate("constant.rate_qps", self.rate_qps)

    def words(self) -> str:
        """The process for people."""
        return "constant"

    def rate(self) -> float:
        """Requests per second asked for."""
        return self.rate_qps

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return self.rate_qps * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        return renewal_times(ConstantGaps(), NS_PER_S / self.rate_qps, stream)


class Poisson(msgspec.Struct, frozen=True, tag="poisson", tag_field="kind", forbid_unknown_fields=True):
    """Independent users: exponential gaps.

    rate_qps  requests a second, in the mean
    """

    rate_qps: float

    def __post_init__(self) -> None:
        _check_rate("poisson.rate_qps", self.rate_qps)

    def words(self) -> str:
        """The process for people."""
        return "poisson"

    def rate(self) -> float:
        """Requests per second asked for."""
        return self.rate_qps

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return self.rate_qps * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        return renewal_times(ExponentialGaps(), NS_PER_S / self.rate_qps, stream)


class Gamma(msgspec.Struct, frozen=True, tag="gamma", tag_field="kind", forbid_unknown_fields=True):
    """Gamma gaps: above cv 1 burstier than Poisson, below smoother.

    rate_qps  requests a second, in the mean
    cv        coefficient of variation of the gaps, 0.01 to 100; 1 is Poisson
    """

    rate_qps: float
    cv: float

    def __post_init__(self) -> None:
        _check_rate("gamma.rate_qps", self.rate_qps)
        GammaGaps(self.cv)

    def words(self) -> str:
        """The process for people."""
        return GammaGaps(self.cv).words()

    def rate(self) -> float:
        """Requests per second asked for."""
        return self.rate_qps

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return self.rate_qps * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        return renewal_times(GammaGaps(self.cv), NS_PER_S / self.rate_qps, stream)


class Weibull(msgspec.Struct, frozen=True, tag="weibull", tag_field="kind", forbid_unknown_fields=True):
    """Weibull gaps: above cv 1 burstier than Poisson, with a longer tail of gaps than gamma's.

    rate_qps  requests a second, in the mean
    cv        coefficient of variation of the gaps, 0.01 to 100; 1 is Poisson
    """

    rate_qps: float
    cv: float

    def __post_init__(self) -> None:
        _check_rate("weibull.rate_qps", self.rate_qps)
        WeibullGaps(self.cv)

    def words(self) -> str:
        """The process for people."""
        return WeibullGaps(self.cv).words()

    def rate(self) -> float:
        """Requests per second asked for."""
        return self.rate_qps

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return self.rate_qps * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        return renewal_times(WeibullGaps(self.cv), NS_PER_S / self.rate_qps, stream)


class Trace(msgspec.Struct, frozen=True, dict=True, tag="trace", tag_field="kind", forbid_unknown_fields=True):
    """Recorded times; `speed` 2 plays them in half the time.

    times_ns  nanoseconds from the start, never going back
    speed     times divided by this
    """

    times_ns: tuple[int, ...]
    speed: float = 1.0

    def __post_init__(self) -> None:
        at_most_listed("trace.times_ns", self.times_ns)
        between("trace.times_ns[0]", self.times_ns[0], 0, MAX_SPAN_NS)
        between("trace.times_ns: last", self.times_ns[-1], 0, MAX_SPAN_NS)
        increasing("trace.times_ns", self.times_ns, strictly=False)
        between("trace.speed", self.speed, 1e-3, 1e6)
        between("trace: last time / speed", self.times_ns[-1] / self.speed, 0, MAX_SPAN_NS)

    def words(self) -> str:
        """The process for people."""
        speed = "" if self.speed == 1 else f", {self.speed:g} times as fast"
        return f"trace of {len(self.times_ns):,} arrivals{speed}"

    def rate(self) -> None:
        """No one rate was asked for."""
        return

    def expected(self, duration_s: float) -> float:
        """Arrivals in a duration."""
        return float(np.searchsorted(self._at_ns, duration_s * NS_PER_S))

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        for start in range(0, len(self._at_ns), CHUNK):
            yield self._at_ns[start : start + CHUNK]

    @cached_property
    def _at_ns(self) -> Int64:
        recorded = np.array(self.times_ns, np.int64)
        return recorded if self.speed == 1 else np.rint(recorded / self.speed).astype(np.int64)


class Loadgen(msgspec.Struct, frozen=True, dict=True, tag="loadgen", tag_field="kind", forbid_unknown_fields=True):
    """MLPerf LoadGen's Server schedule, bit for bit, from LoadGen's own seed and settings (see ScheduleSettings).

    The workload's seed does not touch it. Held whole: 8 bytes a query.

    seed                 LoadGen's schedule_rng_seed
    target_qps           queries a second
    min_duration_ns      the schedule lasts so long at least
    min_queries          and has so many queries at least
    equal_issue_samples  rounded up to whole passes over a set of this size; 0 does not round
    max_queries          and so many at most; 0 is no limit
    """

    seed: int
    target_qps: float
    min_duration_ns: int = 600 * NS_PER_S
    min_queries: int = 100
    equal_issue_samples: int = 0
    max_queries: int = 0

    def __post_init__(self) -> None:
        self.settings()

    def settings(self) -> ScheduleSettings:
        """The settings as the schedule takes them."""
        return ScheduleSettings(
            seed=self.seed,
            target_qps=self.target_qps,
            min_duration_ns=self.min_duration_ns,
            min_queries=self.min_queries,
            equal_issue_samples=self.equal_issue_samples,
            max_queries=self.max_queries,
        )

    def words(self) -> str:
        """The process for people."""
        return "poisson"

    def rate(self) -> float:
        """Requests per second asked for."""
        return self.target_qps

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration, if the schedule lasts that long."""
        return self.target_qps * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        at_ns = loadgen_schedule(self.settings())
        for start in range(0, len(at_ns), CHUNK):
            yield at_ns[start : start + CHUNK]


Open = Constant | Poisson | Gamma | Weibull | Mmpp | Diurnal | Ramp | Windows | Trace
"""Processes that can be superposed."""


def _check_rate(field: str, rate_qps: float) -> None:
    between(field, rate_qps, MIN_RATE_QPS, MAX_RATE_QPS)
