"""Arrivals whose rate varies by a plan of its own: a curve that repeats, a ramp, and windows as they were fitted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_RATE_QPS, MAX_SPAN_S, at_most_listed, between, increasing, refuse
from caveat.workload.gaps import ExponentialGaps, Gaps, renewal_times
from caveat.workload.plan import Int64
from caveat.workload.rates import Curve, Segments, check_segments, mean_rate, repeated, then_steady, warp
from caveat.workload.streams import Stream


class Diurnal(msgspec.Struct, frozen=True, tag="diurnal", tag_field="kind", forbid_unknown_fields=True):
    """Any gaps, stretched along a curve of the rate that repeats.

    curve  of the rate
    gaps   family of the gaps, before they are stretched
    """

    curve: Curve
    gaps: Gaps = ExponentialGaps()

    def words(self) -> str:
        """The process for people."""
        return f"diurnal({self.curve.words()}; {self.gaps.words()} gaps)"

    def rate(self) -> None:
        """No one rate was asked for."""
        return

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration, at the mean rate of a whole period."""
        return mean_rate(self.curve.one_period()) * duration_s

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        unit = renewal_times(self.gaps, float(NS_PER_S), stream)
        return warp(unit, repeated(self.curve.one_period()))


class Ramp(msgspec.Struct, frozen=True, tag="ramp", tag_field="kind", forbid_unknown_fields=True):
    """The rate runs straight from one value to another in `over_s`, and stays there.

    from_qps  requests a second at the start
    to_qps    requests a second from `over_s` on
    over_s    how long it takes from one to the other
    gaps      family of the gaps, before they are stretched
    """

    from_qps: float
    to_qps: float
    over_s: float
    gaps: Gaps = ExponentialGaps()

    def __post_init__(self) -> None:
        between("ramp.from_qps", self.from_qps, 0.0, MAX_RATE_QPS)
        between("ramp.to_qps", self.to_qps, 0.0, MAX_RATE_QPS)
        between("ramp.over_s", self.over_s, 1e-3, MAX_SPAN_S)
        check_segments("ramp", self._rise())

    def words(self) -> str:
        """The process for people."""
        return f"ramp({self.from_qps:g} to {self.to_qps:g}/s over {self.over_s:g} s; {self.gaps.words()} gaps)"

    def rate(self) -> None:
        """No one rate was asked for."""
        return

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        rising_s = min(duration_s, self.over_s)
        reached = self.from_qps + (self.to_qps - self.from_qps) * rising_s / self.over_s
        return 0.5 * (self.from_qps + reached) * rising_s + self.to_qps * max(0.0, duration_s - self.over_s)

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds."""
        unit = renewal_times(self.gaps, float(NS_PER_S), stream)
        return warp(unit, then_steady(self._rise()))

    def _rise(self) -> Segments:
        length_ns = np.array([round(self.over_s * NS_PER_S)], np.int64)
        return Segments(length_ns, np.array([self.from_qps]), np.array([self.to_qps]))


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of time with one rate and one family of gaps; rate 0 is silence.

    start_s   where it begins; it ends where the next begins
    rate_qps  requests a second
    gaps      family of the gaps
    """

    start_s: float
    rate_qps: float
    gaps: Gaps = ExponentialGaps()

    def __post_init__(self) -> None:
        between("windows: start_s", self.start_s, 0.0, MAX_SPAN_S)
        between("windows: rate_qps", self.rate_qps, 0.0, MAX_RATE_QPS)


class Windows(msgspec.Struct, frozen=True, tag="windows", tag_field="kind", forbid_unknown_fields=True):
    """Rates and burstiness as they were fitted window by window; silent before the first and from `end_s` on.

    Each window begins as if its process had long been under way, so each has its own rate in the mean; what ties
    the gaps on both sides of a border together is lost.

    windows  in order of time
    end_s    where the last one ends
    """

    windows: tuple[Window, ...]
    end_s: float

    def __post_init__(self) -> None:
        at_most_listed("windows.windows", self.windows)
        increasing("windows.windows: start_s", [window.start_s for window in self.windows])
        between("windows.end_s", self.end_s, self.windows[-1].start_s, MAX_SPAN_S)
        if not 0 < self.expected(self.end_s) <= MAX_RATE_QPS:
            raise refuse(
                "windows", f"{self.expected(self.end_s):,.0f} requests", f"some, and at most {MAX_RATE_QPS:,.0f}"
            )

    def words(self) -> str:
        """The process for people."""
        return f"windows({len(self.windows):,} over {self.end_s - self.windows[0].start_s:g} s)"

    def rate(self) -> None:
        """No one rate was asked for."""
        return

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        ends = [*(window.start_s for window in self.windows[1:]), self.end_s]
        lengths_s = (
            max(0.0, min(end_s, duration_s) - window.start_s) for window, end_s in zip(self.windows, ends, strict=True)
        )
        return sum(window.rate_qps * length_s for window, length_s in zip(self.windows, lengths_s, strict=True))

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds, window by window."""
        ends = [*(window.start_s for window in self.windows[1:]), self.end_s]
        for place, (window, end_s) in enumerate(zip(self.windows, ends, strict=True)):
            if window.rate_qps > 0:
                yield from _times_in(window, round(end_s * NS_PER_S), stream.child(place))


def _times_in(window: Window, end_ns: int, stream: Stream) -> Iterator[Int64]:
    start_ns = round(window.start_s * NS_PER_S)
    for times in renewal_times(window.gaps, NS_PER_S / window.rate_qps, stream):
        at_ns = times + start_ns
        inside = at_ns[: int(np.searchsorted(at_ns, end_ns))]
        if len(inside):
            yield inside
        if len(inside) < len(at_ns):
            return
