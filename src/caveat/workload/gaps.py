"""The gaps between arrivals, as families of positive variables with mean 1; a rate or a curve gives them a scale.

Each family yields its gaps without end, and the first one: the wait of somebody who arrives at a random moment, so
that a plan is a window cut from a process long under way and holds rate x time arrivals in the mean, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.workload.bounds import MAX_CV, MIN_CV, between, refuse
from caveat.workload.exact import Float64, exp, log, normal_quantile, scalar_log, settled
from caveat.workload.loadgen_schedule import MAX_SPAN_NS
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream, chunk_sizes

_FIRST, _GAPS = range(2)


class ConstantGaps(msgspec.Struct, frozen=True, tag="constant", tag_field="kind", forbid_unknown_fields=True):
    """All gaps equal; the first arrival is at 0, since nothing is random."""

    @property
    def cv(self) -> float:
        """Coefficient of variation of the gaps."""
        return 0.0

    def words(self) -> str:
        """The family for people."""
        return "constant"

    def draw(self, stream: Stream) -> Iterator[Float64]:
        """Gaps without end."""
        for size in chunk_sizes():
            yield np.ones(size)

    def first(self, stream: Stream) -> float:
        """The gap before the first arrival."""
        return 0.0


class ExponentialGaps(msgspec.Struct, frozen=True, tag="exponential", tag_field="kind", forbid_unknown_fields=True):
    """Gaps of a Poisson process."""

    @property
    def cv(self) -> float:
        """Coefficient of variation of the gaps."""
        return 1.0

    def words(self) -> str:
        """The family for people."""
        return "poisson"

    def draw(self, stream: Stream) -> Iterator[Float64]:
        """Gaps without end: -ln u."""
        for size in chunk_sizes():
            gaps = log(stream.uniforms(size))
            yield np.negative(gaps, out=gaps)

    def first(self, stream: Stream) -> float:
        """The wait from any moment is distributed as a gap."""
        return float(-log(stream.uniforms(1))[0])


class GammaGaps(msgspec.Struct, frozen=True, tag="gamma", tag_field="kind", forbid_unknown_fields=True):
    """Gamma gaps: cv above 1 comes in bursts, below 1 is smoother than Poisson.

    cv  coefficient of variation of the gaps, 0.01 to 100
    """

    cv: float

    def __post_init__(self) -> None:
        _check_cv("gamma", self.cv)

    def words(self) -> str:
        """The family for people."""
        return f"gamma(cv={self.cv:g})"

    def draw(self, stream: Stream) -> Iterator[Float64]:
        """Gaps without end."""
        shape = 1.0 / (self.cv * self.cv)
        for values in gamma_variables(shape, stream):
            yield values / shape

    def first(self, stream: Stream) -> float:
        """A share of a gap drawn in proportion to its length, which is gamma with one more in its shape."""
        shape = 1.0 / (self.cv * self.cv)
        return float(stream.uniforms(1)[0]) * one_gamma(shape + 1.0, stream) / shape


class WeibullGaps(msgspec.Struct, frozen=True, tag="weibull", tag_field="kind", forbid_unknown_fields=True):
    """Weibull gaps with a given cv.

    cv  coefficient of variation of the gaps, 0.01 to 100
    """

    cv: float

    def __post_init__(self) -> None:
        _check_cv("weibull", self.cv)

    def words(self) -> str:
        """The family for people."""
        return f"weibull(cv={self.cv:g})"

    def draw(self, stream: Stream) -> Iterator[Float64]:
        """Gaps without end: E^(1/k) / Gamma(1 + 1/k), E exponential."""
        inverse, mean = self._inverse_shape_and_mean()
        for size in chunk_sizes():
            yield exp(log(-log(stream.uniforms(size))) * inverse) / mean

    def first(self, stream: Stream) -> float:
        """A share of a gap drawn in proportion to its length: there, E is gamma with shape 1 + 1/k."""
        inverse, mean = self._inverse_shape_and_mean()
        share = float(stream.uniforms(1)[0])
        power = exp(np.array([scalar_log(one_gamma(1.0 + inverse, stream)) * inverse]))
        return share * float(power[0]) / mean

    def _inverse_shape_and_mean(self) -> tuple[float, float]:
        inverse = weibull_inverse_shape(self.cv)
        return inverse, settled(math.gamma(1.0 + inverse))


class LognormalGaps(msgspec.Struct, frozen=True, tag="lognormal", tag_field="kind", forbid_unknown_fields=True):
    """Log-normal gaps with a given cv; usual for think times.

    cv  coefficient of variation of the gaps, 0.01 to 100
    """

    cv: float

    def __post_init__(self) -> None:
        _check_cv("lognormal", self.cv)

    def words(self) -> str:
        """The family for people."""
        return f"lognormal(cv={self.cv:g})"

    def draw(self, stream: Stream) -> Iterator[Float64]:
        """Gaps without end."""
        sigma = self._sigma()
        for size in chunk_sizes():
            yield exp(normal_quantile(stream.uniforms(size)) * sigma - 0.5 * sigma * sigma)

    def first(self, stream: Stream) -> float:
        """A share of a gap drawn in proportion to its length: log-normal again, its logarithm sigma^2 higher."""
        sigma = self._sigma()
        share = float(stream.uniforms(1)[0])
        longer = exp(normal_quantile(stream.uniforms(1)) * sigma + 0.5 * sigma * sigma)
        return share * float(longer[0])

    def _sigma(self) -> float:
        return math.sqrt(scalar_log(1.0 + self.cv * self.cv))


Gaps = ConstantGaps | ExponentialGaps | GammaGaps | WeibullGaps | LognormalGaps


def renewal_times(gaps: Gaps, mean_gap: float, stream: Stream) -> Iterator[Int64]:
    """Times of arrivals with these gaps, in the unit of `mean_gap`, cut to whole units gap by gap.

    Ends before three years of nanoseconds, so that times fit in 64 bits. Constant gaps do not drift: each time is
    rounded by itself.
    """
    if isinstance(gaps, ConstantGaps):
        yield from _even_times(mean_gap)
        return
    now = _whole(np.array([gaps.first(stream.child(_FIRST)) * mean_gap]))
    yield now
    for values in gaps.draw(stream.child(_GAPS)):
        values *= mean_gap
        times, ended = _accumulate(int(now[-1]), values)
        if len(times):
            now = times
            yield times
        if ended:
            return


def gamma_variables(shape: float, stream: Stream) -> Iterator[Float64]:
    """Gamma variables of this shape and scale 1, without end, in chunks of about the size drawn.

    Marsaglia and Tsang's rejection (ACM TOMS 26, 2000). Proposals are taken three uniforms at a time and those
    accepted keep their order, so chunks do not matter. A shape below 1 is one more in shape times u^(1/shape).
    """
    raised = shape + 1.0 if shape < 1.0 else shape
    d = raised - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for size in chunk_sizes():
        for_normal, for_accept, for_power = stream.table(size, 3)
        z = normal_quantile(for_normal)
        v = 1.0 + c * z
        v = np.maximum(v * v * v, 0.0)
        accepted = v > 0.0
        bound = 0.5 * z * z + d - d * v + d * log(np.where(accepted, v, 1.0))
        accepted &= log(for_accept) < bound
        values = d * v[accepted]
        if shape < 1.0:
            values *= exp(log(for_power[accepted]) / shape)
        yield values


def one_gamma(shape: float, stream: Stream) -> float:
    """One gamma variable of this shape, above 0."""
    for values in gamma_variables(shape, stream):
        if len(values):
            return max(float(values[0]), 1e-300)
    raise AssertionError("gamma_variables has no end")


def weibull_cv(inverse_shape: float) -> float:
    """Coefficient of variation of a Weibull variable, from 1 / its shape."""
    return math.sqrt(math.expm1(math.lgamma(1.0 + 2.0 * inverse_shape) - 2.0 * math.lgamma(1.0 + inverse_shape)))


def weibull_inverse_shape(cv: float) -> float:
    """1 / shape of the Weibull variable with this coefficient of variation, by bisection, in 12 digits."""
    low, high = 1e-3, 20.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if weibull_cv(middle) < cv else (low, middle)
    return settled(low)


def _even_times(gap: float) -> Iterator[Int64]:
    """0, gap, 2 gap, ..., each rounded to the nearest whole; exact at the start of each chunk."""
    numerator, denominator = gap.as_integer_ratio()
    done = 0
    for size in chunk_sizes():
        start = (2 * done * numerator + denominator) // (2 * denominator)
        if start > MAX_SPAN_NS:
            return
        left_over = (done * numerator - start * denominator) / denominator
        steps = np.arange(size, dtype=np.float64) * gap + left_over
        yield start + _whole(steps[steps <= MAX_SPAN_NS])
        done += size


def _accumulate(now: int, gaps: Float64) -> tuple[Int64, bool]:
    """Times after each gap, and whether they were cut because the next lies beyond three years."""
    whole = _whole(gaps)
    if now + float(whole.sum(dtype=np.float64)) <= MAX_SPAN_NS:
        whole[:1] += now
        return np.cumsum(whole, out=whole), False
    inside = np.cumsum(whole, dtype=np.float64) + now <= MAX_SPAN_NS
    return now + np.cumsum(whole[: int(np.argmin(inside))]), True


def _whole(values: Float64) -> Int64:
    return np.rint(np.minimum(values, float(MAX_SPAN_NS))).astype(np.int64)


def _check_cv(kind: str, cv: float) -> None:
    if cv == 0:
        raise refuse(f"{kind}.cv", cv, "a number above 0", 'for equal gaps, use kind = "constant"')
    between(f"{kind}.cv", cv, MIN_CV, MAX_CV)
