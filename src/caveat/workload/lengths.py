"""How long prompts and answers are: distributions over whole tokens, drawn by their quantile functions.

A shape turns a uniform number into a length, so that a request's lengths depend on the seed and its place alone, a
longer plan only adds requests, and two lengths are tied together by tying their uniform numbers (a Gaussian copula).
Every length lies between 1 and MAX_TOKENS: what a distribution puts outside is set to the nearer end.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import msgspec
import numpy as np

from caveat.workload.bounds import MAX_TOKENS, at_most_listed, between, increasing, refuse
from caveat.workload.exact import Float64, exp, log, normal_quantile, scalar_log
from caveat.workload.plan import Int64

_Z90 = 1.2815515655446004
_MAX_COUNT = 1 << 40


class Shape(Protocol):
    """A distribution of lengths."""

    def tokens(self, u: Float64) -> Int64:
        """The length below or at which a share u of all lengths lies; u between 0 and 1, one length for each."""
        ...

    def words(self) -> str:
        """The distribution for people."""
        ...


class Fixed(msgspec.Struct, frozen=True, tag="fixed", tag_field="kind", forbid_unknown_fields=True):
    """Always the same.

    value  tokens
    """

    value: int

    def __post_init__(self) -> None:
        between("fixed.value", self.value, 1, MAX_TOKENS)

    def words(self) -> str:
        """The distribution for people."""
        return f"{self.value:,}"

    def tokens(self, u: Float64) -> Int64:
        """The one length."""
        return np.full(len(u), self.value, np.int64)


class Uniform(msgspec.Struct, frozen=True, tag="uniform", tag_field="kind", forbid_unknown_fields=True):
    """Each whole number from low to high, both included, equally often.

    low   fewest tokens
    high  most tokens
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        between("uniform.low", self.low, 1, MAX_TOKENS)
        between("uniform.high", self.high, self.low, MAX_TOKENS)

    def words(self) -> str:
        """The distribution for people."""
        return f"uniform {self.low:,} to {self.high:,}"

    def tokens(self, u: Float64) -> Int64:
        """The quantile."""
        return self.low + np.floor(u * (self.high - self.low + 1)).astype(np.int64)


class Normal(msgspec.Struct, frozen=True, tag="normal", tag_field="kind", forbid_unknown_fields=True):
    """Normal, rounded to whole tokens; what falls below 1 becomes 1.

    mean  tokens
    sd    standard deviation, tokens
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        between("normal.mean", self.mean, 1, MAX_TOKENS)
        between("normal.sd", self.sd, 0, MAX_TOKENS)

    def words(self) -> str:
        """The distribution for people."""
        return f"normal(mean={self.mean:g}, sd={self.sd:g}, at least 1)"

    def tokens(self, u: Float64) -> Int64:
        """The quantile."""
        return whole_tokens(self.mean + self.sd * normal_quantile(u))


class Lognormal(msgspec.Struct, frozen=True, tag="lognormal", tag_field="kind", forbid_unknown_fields=True):
    """Log-normal, rounded to whole tokens; given by mean and cv, or by p50 and p90.

    mean  tokens; with `cv`
    cv    coefficient of variation, 0 to 100
    p50   tokens, the median; with `p90`
    p90   tokens that nine of ten do not exceed
    """

    mean: float | None = None
    cv: float | None = None
    p50: float | None = None
    p90: float | None = None

    def __post_init__(self) -> None:
        given = tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)
        if given not in (("mean", "cv"), ("p50", "p90")):
            raise refuse("lognormal", " and ".join(given) or "no parameters", "mean and cv, or p50 and p90")
        if self.mean is not None and self.cv is not None:
            between("lognormal.mean", self.mean, 1, MAX_TOKENS)
            between("lognormal.cv", self.cv, 0, 100)
        if self.p50 is not None and self.p90 is not None:
            between("lognormal.p50", self.p50, 1, MAX_TOKENS)
            between("lognormal.p90", self.p90, self.p50, MAX_TOKENS)

    def words(self) -> str:
        """The distribution for people."""
        if self.p50 is not None:
            return f"lognormal(p50={self.p50:g}, p90={self.p90:g})"
        return f"lognormal(mean={self.mean:g}, cv={self.cv:g})"

    def tokens(self, u: Float64) -> Int64:
        """The quantile: exp(mu + sigma z)."""
        mu, sigma = self._mu_sigma()
        return whole_tokens(exp(mu + sigma * normal_quantile(u)))

    def _mu_sigma(self) -> tuple[float, float]:
        if self.p50 is not None and self.p90 is not None:
            return scalar_log(self.p50), scalar_log(self.p90 / self.p50) / _Z90
        assert self.mean is not None
        assert self.cv is not None
        variance = scalar_log(1.0 + self.cv * self.cv)
        return scalar_log(self.mean) - 0.5 * variance, math.sqrt(variance)


class Pareto(msgspec.Struct, frozen=True, tag="pareto", tag_field="kind", forbid_unknown_fields=True):
    """Pareto: P(length > x) = (minimum / x)^alpha, the heavy tail of long prompts.

    minimum  fewest tokens
    alpha    0.1 to 100: the smaller, the heavier the tail; the mean is finite above 1
    """

    minimum: float
    alpha: float

    def __post_init__(self) -> None:
        between("pareto.minimum", self.minimum, 1, MAX_TOKENS)
        between("pareto.alpha", self.alpha, 0.1, 100)

    def words(self) -> str:
        """The distribution for people."""
        return f"pareto(minimum={self.minimum:g}, alpha={self.alpha:g})"

    def tokens(self, u: Float64) -> Int64:
        """The quantile: minimum (1 - u)^(-1/alpha)."""
        return whole_tokens(self.minimum * exp(log(1.0 - u) / -self.alpha))


class Geometric(msgspec.Struct, frozen=True, tag="geometric", tag_field="kind", forbid_unknown_fields=True):
    """1, 2, 3, ... each less likely than the one before by the same factor; usual for turns of a conversation.

    mean  tokens, or turns
    """

    mean: float

    def __post_init__(self) -> None:
        between("geometric.mean", self.mean, 1, MAX_TOKENS)

    def words(self) -> str:
        """The distribution for people."""
        return f"geometric(mean={self.mean:g})"

    def tokens(self, u: Float64) -> Int64:
        """The quantile: ln(1 - u) / ln(1 - 1/mean), rounded up."""
        if self.mean == 1:
            return np.ones(len(u), np.int64)
        return whole_tokens(np.ceil(log(1.0 - u) / scalar_log(1.0 - 1.0 / self.mean)))


class Histogram(msgspec.Struct, frozen=True, dict=True, tag="histogram", tag_field="kind", forbid_unknown_fields=True):
    """Counted lengths: counts[i] of them from edges[i] up to but not including edges[i + 1], evenly spread there.

    edges   tokens, rising; one more of them than counts
    counts  how many lengths lie between an edge and the next
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        at_most_listed("histogram.counts", self.counts)
        if len(self.edges) != len(self.counts) + 1:
            raise refuse(
                "histogram.edges", f"{len(self.edges):,} edges", f"{len(self.counts) + 1:,}, one more than counts"
            )
        between("histogram.edges[0]", self.edges[0], 1, MAX_TOKENS)
        between("histogram.edges: last", self.edges[-1], 1, MAX_TOKENS + 1)
        increasing("histogram.edges", self.edges)
        check_counts("histogram.counts", self.counts)

    def words(self) -> str:
        """The distribution for people."""
        return f"histogram of {sum(self.counts):,} in {len(self.counts):,} bins"

    def tokens(self, u: Float64) -> Int64:
        """The quantile; the counts are whole, so which bin is exact."""
        edges, counts, sums = self._arrays
        rank = u * float(sums[-1])
        bin_ = np.searchsorted(sums, rank, side="right")
        share = (rank - (sums - counts)[bin_]) / counts[bin_]
        width = edges[bin_ + 1] - edges[bin_]
        within: Int64 = np.minimum(np.floor(share * width).astype(np.int64), width - 1)
        return np.add(edges[bin_], within)

    @cached_property
    def _arrays(self) -> tuple[Int64, Int64, Int64]:
        counts = np.array(self.counts, np.int64)
        return np.array(self.edges, np.int64), counts, np.cumsum(counts)


Simple = Fixed | Uniform | Normal | Lognormal | Pareto | Geometric | Histogram


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One component of a mixture and its share; shares need not add up to 1.

    weight  its share, beside those of the other parts
    shape   any but a mixture
    """

    weight: float
    shape: Simple

    def __post_init__(self) -> None:
        between("mixture.parts: weight", self.weight, 1e-9, 1e9)


class Mixture(msgspec.Struct, frozen=True, tag="mixture", tag_field="kind", forbid_unknown_fields=True):
    """Several shapes, each with its share: a body and a Pareto tail, or short chat among long documents.

    A request's uniform number chooses the part and then the length in it; list parts from short to long, and a
    correlation with the other length keeps its sense.

    parts  1 to 100 of them
    """

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= 100:
            raise refuse("mixture.parts", f"{len(self.parts)} parts", "1 to 100")

    def words(self) -> str:
        """The distribution for people."""
        total = sum(part.weight for part in self.parts)
        return " + ".join(f"{part.weight / total:.3g} of {part.shape.words()}" for part in self.parts)

    def tokens(self, u: Float64) -> Int64:
        """The length in the part that u falls into. Not a quantile of the whole unless the parts are in order."""
        sums = np.cumsum([part.weight for part in self.parts])
        rank = u * sums[-1]
        chosen = np.minimum(np.searchsorted(sums, rank, side="right"), len(self.parts) - 1)
        lengths = np.empty(len(u), np.int64)
        for place, part in enumerate(self.parts):
            mine = np.flatnonzero(chosen == place)
            within = (rank[mine] - (sums[place] - part.weight)) / part.weight
            lengths[mine] = part.shape.tokens(np.clip(within, 2.0**-54, 1.0 - 2.0**-53))
        return lengths


AnyShape = Simple | Mixture


def whole_tokens(x: Float64) -> Int64:
    """Rounded to the nearest whole, and cut to 1 .. MAX_TOKENS."""
    return np.rint(np.clip(x, 1.0, float(MAX_TOKENS))).astype(np.int64)


def check_counts(field: str, counts: tuple[int, ...]) -> None:
    """Refuse negative counts, none at all, or too many to add up."""
    for place, count in enumerate(counts):
        if not 0 <= count <= _MAX_COUNT:
            raise refuse(f"{field}[{place}]", count, f"a count from 0 to {_MAX_COUNT:,}")
    if not 0 < sum(counts) <= 1 << 52:
        raise refuse(field, f"a total of {sum(counts):,}", f"a total from 1 to {1 << 52:,}")
