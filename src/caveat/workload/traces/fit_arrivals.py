"""Which arrival process a trace could come from: constant, Poisson, gamma, Weibull, MMPP, a curve of the rate.

Every candidate is fitted by moments and then asked for plans of its own. The trace's number of requests, its gaps, the
dispersion and the memory of its counts at each scale and its trend must not lie outside what these plans show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.units import NS_PER_S
from caveat.workload.arrivals import Constant, Gamma, Poisson, Weibull
from caveat.workload.bounds import MAX_CV, MIN_CV
from caveat.workload.exact import Float64
from caveat.workload.gaps import ExponentialGaps, GammaGaps
from caveat.workload.mmpp import Mmpp, State
from caveat.workload.plan import Int64
from caveat.workload.rates import Points
from caveat.workload.streams import Stream
from caveat.workload.traces.counts import autocorrelation, counted, dispersion, gap_cv
from caveat.workload.traces.fit_result import Candidate, FitTest, simulated_test
from caveat.workload.varying import Diurnal

SCALES_S = (1.0, 10.0, 60.0, 600.0)
_FEWEST_BINS = 20
_MEMORY_FROM_S = 10.0
_LAGS = (1, 2, 5)
_PLANS = 99
_MOST_PLANNED = 4_000_000
_MOST_KNOTS = 96
_REQUESTS_A_KNOT = 100

T = TypeVar("T")
Process = Constant | Poisson | Gamma | Weibull | Mmpp | Diurnal


def fitted_arrivals(t_ns: Int64, span_ns: int, coarsest_ns: int) -> list[tuple[Process, Candidate]]:
    """Candidates from the simplest on, up to and with the first that passes; statistics finer than a step are left out.

    Times are in order from 0, at least 10 of them; `coarsest_ns` is the clock's step, 0 for a fine clock.
    """
    observed = _statistics(t_ns, span_ns, coarsest_ns)
    tried = []
    for make in (_constant, _poisson, _gamma, _weibull, _mmpp, _curve_poisson, _curve_gamma):
        process = make(t_ns, span_ns)
        if process is None:
            continue
        tests = tuple(_tests(process, observed, span_ns, coarsest_ns, len(t_ns)))
        tried.append((process, Candidate(kind=str(process.__struct_config__.tag), words=process.words(), tests=tests)))
        if tried[-1][1].passed:
            break
    return tried


def _statistics(t_ns: Int64, span_ns: int, coarsest_ns: int) -> dict[str, float]:
    """Numbers by name; those that the clock or the length of the trace does not allow are missing."""
    found: dict[str, float] = {}
    if len(t_ns) < 3 or t_ns[-1] == t_ns[0]:
        return found
    mean_gap_ns = float(np.diff(t_ns).mean())
    if mean_gap_ns > coarsest_ns:
        gaps = np.sort(np.diff(t_ns)) / mean_gap_ns
        found["cv of the gaps"] = gap_cv(t_ns) or 0.0
        found["median gap / mean gap"] = float(gaps[len(gaps) // 2])
        found["p99 gap / mean gap"] = float(gaps[math.ceil(0.99 * len(gaps)) - 1])
    for scale_s in SCALES_S:
        scale_ns = round(scale_s * NS_PER_S)
        if scale_ns > 2 * coarsest_ns and span_ns // scale_ns >= _FEWEST_BINS:
            counts = counted(t_ns, span_ns, scale_ns)
            found[f"dispersion at {scale_s:g} s"] = dispersion(counts) or 0.0
            found |= _memory(counts, scale_s)
    found["requests"] = float(len(t_ns))
    found["greatest distance from an even rate, x sqrt(n)"] = _distance_from_even(t_ns, span_ns)
    return found


def _memory(counts: Int64, scale_s: float) -> dict[str, float]:
    """Autocorrelation of the counts at a few lags: how long a busy stretch lasts, which dispersion does not say."""
    if scale_s < _MEMORY_FROM_S:
        return {}
    found = {lag: autocorrelation(counts, lag) for lag in _LAGS}
    return {f"autocorrelation at {scale_s:g} s, lag {lag}": one for lag, one in found.items() if one is not None}


def _distance_from_even(t_ns: Int64, span_ns: int) -> float:
    """Kolmogorov's distance of the times from evenly spread ones: large where the rate drifts."""
    ranks = np.arange(1, len(t_ns) + 1) / len(t_ns)
    return float(np.abs(ranks - t_ns / span_ns).max()) * math.sqrt(len(t_ns))


def _tests(
    process: Process, observed: dict[str, float], span_ns: int, coarsest_ns: int, count: int
) -> Iterator[FitTest]:
    plans = max(19, min(_PLANS, _MOST_PLANNED // max(1, count)))
    simulated: dict[str, list[float]] = {name: [] for name in observed}
    for seed in range(plans):
        t_ns = _times(process, span_ns, seed)
        for name, value in _statistics(t_ns, span_ns, coarsest_ns).items():
            if name in simulated:
                simulated[name].append(value)
    for name, value in observed.items():
        if simulated[name]:
            yield simulated_test(name, value, simulated[name])


def _times(process: Process, span_ns: int, seed: int) -> Int64:
    parts = []
    for at_ns in process.times(Stream(seed, (0,))):
        parts.append(at_ns[at_ns < span_ns])
        if len(parts[-1]) < len(at_ns):
            break
    return np.concatenate([np.empty(0, np.int64), *parts])


def _rate_qps(t_ns: Int64, span_ns: int) -> float:
    return len(t_ns) * NS_PER_S / span_ns


def _cv(t_ns: Int64) -> float | None:
    cv = gap_cv(t_ns)
    return min(max(cv, MIN_CV), MAX_CV) if cv else None


def _constant(t_ns: Int64, span_ns: int) -> Process | None:
    return Constant(_rate_qps(t_ns, span_ns))


def _poisson(t_ns: Int64, span_ns: int) -> Process | None:
    return Poisson(_rate_qps(t_ns, span_ns))


def _gamma(t_ns: Int64, span_ns: int) -> Process | None:
    cv = _cv(t_ns)
    return Gamma(_rate_qps(t_ns, span_ns), cv=cv) if cv else None


def _weibull(t_ns: Int64, span_ns: int) -> Process | None:
    cv = _cv(t_ns)
    return Weibull(_rate_qps(t_ns, span_ns), cv=cv) if cv else None


def _mmpp(t_ns: Int64, span_ns: int) -> Process | None:
    """Two states by the mean, variance and skewness of the rate and the time over which it is remembered."""
    rate = _rate_qps(t_ns, span_ns)
    bin_s = max(1.0, 10.0 / rate)
    counts = counted(t_ns, span_ns, round(bin_s * NS_PER_S))
    memory_s = _memory_s(counts, bin_s)
    surplus = float(counts.var() - counts.mean()) if len(counts) >= _FEWEST_BINS else 0.0
    if surplus <= 0 or memory_s is None:
        return None
    variance = surplus / bin_s**2
    # Cumulants of the counts less what Poisson arrivals add to those of the rate.
    third = float(((counts - counts.mean()) ** 3).mean()) - 3.0 * surplus - float(counts.mean())
    skew = third / surplus**1.5
    busy = min(max(0.5 * (1.0 - skew / math.sqrt(skew * skew + 4.0)), 1e-3), 1.0 - 1e-3)
    high = rate + math.sqrt(variance * (1.0 - busy) / busy)
    low = max(0.0, rate - math.sqrt(variance * busy / (1.0 - busy)))
    share = (rate - low) / (high - low)
    states = (State(high, memory_s / (1.0 - share)), State(low, memory_s / share))
    return _if_allowed(lambda: Mmpp(states))


def _memory_s(counts: Int64, bin_s: float) -> float | None:
    """The time in which the correlation of the counts falls by e, from the first two lags; None without memory."""
    first, second = autocorrelation(counts, 1), autocorrelation(counts, 2)
    if first is None or second is None or not 0 < second < first < 1:
        return None
    return min(bin_s / math.log(first / second), len(counts) * bin_s)


def _curve(t_ns: Int64, span_ns: int) -> Points | None:
    """Mean rates of equal windows, joined by straight lines through their middles."""
    windows = min(_MOST_KNOTS, len(t_ns) // _REQUESTS_A_KNOT)
    if windows < 4:
        return None
    span_s = span_ns / NS_PER_S
    width_s = span_s / windows
    counts = np.bincount(np.minimum(t_ns * windows // span_ns, windows - 1), minlength=windows)
    rates = [float(f"{count / width_s:.6g}") for count in counts]
    middles = [float(f"{(place + 0.5) * width_s:.9g}") for place in range(windows)]
    knots = ((0.0, rates[0]), *zip(middles, rates, strict=True), (float(f"{span_s:.9g}"), rates[-1]))
    return _if_allowed(lambda: Points(knots))


def _curve_poisson(t_ns: Int64, span_ns: int) -> Process | None:
    curve = _curve(t_ns, span_ns)
    return Diurnal(curve, gaps=ExponentialGaps()) if curve is not None else None


def _curve_gamma(t_ns: Int64, span_ns: int) -> Process | None:
    curve = _curve(t_ns, span_ns)
    if curve is None:
        return None
    passed = _integral(curve, t_ns / NS_PER_S)
    gaps = np.diff(passed)
    cv = float(gaps.std(ddof=1) / gaps.mean())
    return Diurnal(curve, gaps=GammaGaps(float(f"{min(max(cv, MIN_CV), MAX_CV):.4g}")))


def _integral(curve: Points, time_s: Float64) -> Float64:
    """Requests expected up to each time: the time that the curve's process sees."""
    knots = np.array(curve.points)
    steps = 0.5 * (knots[1:, 1] + knots[:-1, 1]) * np.diff(knots[:, 0])
    sums = np.append(0.0, np.cumsum(steps))
    place = np.clip(np.searchsorted(knots[:, 0], time_s, side="right") - 1, 0, len(knots) - 2)
    into = time_s - knots[place, 0]
    slope = (knots[place + 1, 1] - knots[place, 1]) / np.maximum(knots[place + 1, 0] - knots[place, 0], 1e-12)
    return np.asarray(sums[place] + knots[place, 1] * into + 0.5 * slope * into * into, np.float64)


def _if_allowed(make: Callable[[], T]) -> T | None:
    """A record, or None if its own checks refuse the numbers."""
    try:
        return make()
    except InputError:
        return None


def words_of(test: FitTest) -> str:
    """A test as a sentence."""
    if test.p_value is None and test.expected:
        trace, low, high = (f"{one:,.0f}" for one in (test.observed, test.low, test.high))
        return f"{test.name} is {test.expected:,.0f}, {trace} in the trace ({low} to {high} would do)"
    if test.p_value is None:
        return f"{test.name} is {test.observed:.3g}, at most {test.high:.3g} would do"
    return f"{test.name}: {test.observed:.4g} in the trace, {test.low:.4g} to {test.high:.4g} in plans of it"


def rounded(process: Process) -> Process:
    """The process with its numbers in six digits, as a document shows them."""
    data = msgspec.to_builtins(process)
    return msgspec.convert(_six_digits(data), type(process))


def _six_digits(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _six_digits(one) for key, one in value.items()}
    return [_six_digits(one) for one in value] if isinstance(value, list | tuple) else value
