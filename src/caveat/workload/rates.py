"""Rates that change with time, and the change of time that makes any renewal process follow them.

A curve is an endless row of segments in each of which the rate runs straight from one value to another. A process
of rate one, run through the inverse of the curve's integral, arrives at exactly the curve's rate: with exponential
gaps it is the inhomogeneous Poisson process, with others its gaps stretch and shrink as the rate falls and rises.

Units fall out: (requests per second) x nanoseconds = billionths of an arrival. Segments' lengths and integrals are
whole numbers of these, so sums are exact and a plan does not depend on where chunks end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import (
    MAX_RATE_QPS,
    MAX_SPAN_S,
    MIN_RATE_QPS,
    at_most_listed,
    between,
    increasing,
    refuse,
)
from caveat.workload.exact import Float64, settled
from caveat.workload.loadgen_schedule import MAX_SPAN_NS
from caveat.workload.plan import Int64

_KNOTS_OF_A_SINE = 1440
_MAX_SEGMENT_ARRIVALS = 1e9
_MAX_SEGMENTS_AN_ARRIVAL = 10_000
_ARRIVALS_A_STEP = 1000
_MAX_HELD = 1 << 17


@dataclass(frozen=True, slots=True)
class Segments:
    """Consecutive stretches of a curve: their lengths and the rates (requests per second) at both ends."""

    length_ns: Int64
    start_qps: Float64
    end_qps: Float64

    def integrals(self) -> Int64:
        """Arrivals expected in each stretch, in billionths."""
        return np.rint(0.5 * (self.start_qps + self.end_qps) * self.length_ns).astype(np.int64)


class Points(msgspec.Struct, frozen=True, tag="points", tag_field="kind", forbid_unknown_fields=True):
    """Rates (time_s, rate_qps) joined by straight lines; after the last point the curve begins again.

    Two points of one time make a step.

    points  pairs of time (s) and rate (requests a second), from time 0
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        at_most_listed("points.points", self.points, least=2)
        times = [time_s for time_s, _ in self.points]
        increasing("points.points", times, strictly=False)
        if times[0] != 0.0:
            raise refuse("points.points[0]", times[0], "time 0")
        between("points.points: last time", times[-1], 1e-6, MAX_SPAN_S)
        for place, (_, rate) in enumerate(self.points):
            between(f"points.points[{place}]: rate", rate, 0.0, MAX_RATE_QPS)
        check_segments("points.points", self.one_period())

    def words(self) -> str:
        """The curve for people."""
        rates = [rate for _, rate in self.points]
        period_s = self.points[-1][0]
        return f"{len(rates)} points, {min(rates):g} to {max(rates):g}/s, repeating after {period_s:g} s"

    def one_period(self) -> Segments:
        """The segments of the curve until it repeats."""
        times_ns = np.rint(np.array([time_s for time_s, _ in self.points]) * NS_PER_S).astype(np.int64)
        rates = np.array([rate for _, rate in self.points], np.float64)
        return Segments(np.diff(times_ns), rates[:-1], rates[1:])


class Sine(msgspec.Struct, frozen=True, tag="sine", tag_field="kind", forbid_unknown_fields=True):
    """mean_qps (1 + swing cos(2 pi (t - peak_s) / period_s)), followed in 1,440 straight lines a period.

    The lines stay within 2.4e-6 of the swing; knots are rounded so that every C library gives the same.

    mean_qps  requests a second, in the mean of a period
    swing     from 0, no wave, to 1: the rate falls to nothing
    period_s  a day unless given
    peak_s    where in the period the rate is highest
    """

    mean_qps: float
    swing: float
    period_s: float = 86400.0
    peak_s: float = 0.0

    def __post_init__(self) -> None:
        between("sine.mean_qps", self.mean_qps, MIN_RATE_QPS, MAX_RATE_QPS / 2)
        between("sine.swing", self.swing, 0.0, 1.0)
        between("sine.period_s", self.period_s, 1e-3, MAX_SPAN_S)
        between("sine.peak_s", self.peak_s, 0.0, self.period_s)
        check_segments("sine", self.one_period())

    def words(self) -> str:
        """The curve for people."""
        return f"sine of mean {self.mean_qps:g}/s, swing {self.swing:g}, period {self.period_s:g} s"

    def one_period(self) -> Segments:
        """The segments of one period."""
        turns = [knot / _KNOTS_OF_A_SINE for knot in range(_KNOTS_OF_A_SINE + 1)]
        knots_ns = np.rint(np.array(turns) * self.period_s * NS_PER_S).astype(np.int64)
        rates = np.array([max(0.0, self._rate(turn)) for turn in turns])
        return Segments(np.diff(knots_ns), rates[:-1], rates[1:])

    def _rate(self, turn: float) -> float:
        wave = settled(math.cos(2.0 * math.pi * (turn - self.peak_s / self.period_s)))
        return self.mean_qps * (1.0 + self.swing * wave)


Curve = Points | Sine


def repeated(period: Segments) -> Iterator[Segments]:
    """A curve that begins again after each period."""
    while True:
        yield period


def then_steady(first: Segments) -> Iterator[Segments]:
    """A curve that stays at its last rate; at 0 it ends there, since nothing more can come."""
    yield first
    rest = first.end_qps[-1:]
    if rest[0] > 0.0:
        step_ns = min(max(_ARRIVALS_A_STEP * NS_PER_S / float(rest[0]), 1.0), float(MAX_SPAN_NS))
        yield from repeated(Segments(np.array([round(step_ns)], np.int64), rest, rest))


def warp(unit_arrivals: Iterable[Int64], curve: Iterator[Segments]) -> Iterator[Int64]:
    """Times in nanoseconds at which a process of rate one, in billionths of an arrival, arrives along the curve.

    Ends where either ends, or before three years.
    """
    knots = _Knots(curve)
    for arrivals in unit_arrivals:
        waiting = arrivals
        while len(waiting):
            more = knots.read_toward(int(waiting[-1]))
            covered = int(np.searchsorted(waiting, knots.reached))
            if covered:
                yield knots.times(waiting[:covered])
            elif not more:
                return
            else:
                knots.skip()
            waiting = waiting[covered:]


def check_segments(field: str, segments: Segments) -> None:
    """Refuse a curve that never gives an arrival, holds too many, or too few for the work of following it."""
    expected = 0.5 * (segments.start_qps + segments.end_qps) * (segments.length_ns / NS_PER_S)
    total = float(expected.sum())
    if not total > 0.0:
        raise refuse(field, "a rate of 0 throughout", "a rate above 0 somewhere")
    if not total <= _MAX_SEGMENT_ARRIVALS:
        raise refuse(field, f"about {total:,.0f} requests", f"at most {_MAX_SEGMENT_ARRIVALS:,.0f}")
    check_effort(field, len(expected) / total)


def check_effort(field: str, segments_an_arrival: float) -> None:
    """Refuse a rate that changes far more often than there are requests to notice it."""
    if segments_an_arrival > _MAX_SEGMENTS_AN_ARRIVAL:
        raise refuse(
            field,
            f"{segments_an_arrival:,.0f} changes of the rate for each request",
            f"at most {_MAX_SEGMENTS_AN_ARRIVAL:,}",
        )


def mean_rate(segments: Segments) -> float:
    """Requests per second over these segments."""
    return int(segments.integrals().sum()) / int(segments.length_ns.sum())


class _Knots:
    """The part of a curve that is being read: at each knot its time and the curve's integral up to there."""

    def __init__(self, curve: Iterator[Segments]) -> None:
        self._curve = curve
        self._segments = _joined([])
        self._time_ns = np.zeros(1, np.int64)
        self._integral = np.zeros(1, np.int64)

    @property
    def reached(self) -> int:
        """The curve's integral up to the last knot."""
        return int(self._integral[-1])

    def read_toward(self, integral: int) -> bool:
        """Take in more of the curve, until it passes `integral` or fills its buffer; False if there was no more."""
        parts = [self._segments]
        reached, time_ns = self.reached, int(self._time_ns[-1])
        segments = len(self._segments.length_ns)
        while reached <= integral and segments < _MAX_HELD and time_ns <= MAX_SPAN_NS:
            part = next(self._curve, None)
            if part is None:
                break
            parts.append(part)
            reached += int(part.integrals().sum())
            time_ns += int(part.length_ns.sum())
            segments += len(part.length_ns)
        self._take(parts[1:])
        return len(parts) > 1

    def _take(self, parts: list[Segments]) -> None:
        new = _joined(parts)
        self._segments = _joined([self._segments, new])
        self._time_ns = _extended(self._time_ns, new.length_ns)
        self._integral = _extended(self._integral, new.integrals())

    def skip(self) -> None:
        """Forget every whole segment: nothing arrives in them."""
        self._forget(len(self._segments.length_ns))

    def times(self, arrivals: Int64) -> Int64:
        """Where the integral reaches each value; drops what lies before the last."""
        segment = np.searchsorted(self._integral, arrivals, side="right") - 1
        past = (arrivals - self._integral[segment]).astype(np.float64)
        within_ns = _solve(self._segments, segment, past)
        times_ns = self._time_ns[segment] + within_ns
        self._forget(int(segment[-1]))
        return times_ns

    def _forget(self, count: int) -> None:
        old = self._segments
        self._segments = Segments(old.length_ns[count:], old.start_qps[count:], old.end_qps[count:])
        self._time_ns, self._integral = self._time_ns[count:], self._integral[count:]


def _solve(segments: Segments, segment: Int64, past: Float64) -> Int64:
    """Time into a segment at which a + b t/2 has integrated to `past`: the root in the form that never cancels."""
    start, end = segments.start_qps[segment], segments.end_qps[segment]
    length = segments.length_ns[segment].astype(np.float64)
    slope = (end - start) / length
    root = start + np.sqrt(np.maximum(start * start + 2.0 * slope * past, 0.0))
    within = np.divide(2.0 * past, root, out=np.zeros_like(past), where=root > 0.0)
    return np.rint(np.minimum(within, length)).astype(np.int64)


def _joined(parts: Sequence[Segments]) -> Segments:
    return Segments(
        np.concatenate([np.zeros(0, np.int64), *(part.length_ns for part in parts)]),
        np.concatenate([np.zeros(0), *(part.start_qps for part in parts)]),
        np.concatenate([np.zeros(0), *(part.end_qps for part in parts)]),
    )


def _extended(sums: Int64, steps: Int64) -> Int64:
    return np.concatenate([sums, sums[-1] + np.cumsum(steps)])
